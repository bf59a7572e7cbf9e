/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libFuzzer: runs a fuzz target over every file of the folders (or files) named on the command
 * line, so that what fuzzing once found stays a plain test. An input that crashes ends the program; a folder
 * without inputs fails, and so do inputs of which the reader accepts none: then it is not reached.
 */
#include "tests/fuzz/fuzz_target.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat info;
    uint8_t *data = NULL;
    int ok = 0;

    if (f == NULL || fstat(fileno(f), &info) != 0)
        goto done;
    data = malloc((size_t)info.st_size + 1);
    if (data == NULL || fread(data, 1, (size_t)info.st_size, f) != (size_t)info.st_size)
        goto done;
    printf("%s (%lld bytes)\n", path, (long long)info.st_size);
    fflush(stdout); /* a crash shows which file it was */
    LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
    ok = 1;
done:
    if (!ok)
        fprintf(stderr, "cannot read '%s'\n", path);
    free(data);
    if (f != NULL)
        fclose(f);
    return ok;
}

/* Files replayed below path, -1 when one could not be read. */
static int replay(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    char child[4096];
    int count = 0;

    if (folder == NULL)
        return replay_file(path) ? 1 : -1;
    while (count >= 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        count = replay_file(child) ? count + 1 : -1;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        const int count = replay(argv[i]);

        if (count <= 0) {
            fprintf(stderr, "no input in '%s'\n", argv[i]);
            return 1;
        }
        total += count;
    }
    printf("%d inputs, %d calls accepted theirs\n", total, fuzz_accepted());
    if (fuzz_accepted() == 0)
        fprintf(stderr, "the reader accepted no input: a corpus has at least one that it must\n");
    return total > 0 && fuzz_accepted() > 0 ? 0 : 1;
}
