/* SPDX-License-Identifier: Apache-2.0 */
/* A library to be preloaded (LD_PRELOAD) that counts every request for memory of the whole process, whoever
 * makes it: malloc and its relatives, mmap. It forwards to the C library's own entry points, so it needs no
 * dlsym, which would itself allocate.
 *
 * gnt_spy_count() answers the number of requests so far; with GNT_SPY_OUT=FILE that number is written there
 * at exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPY_API __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

SPY_API int64_t gnt_spy_count(void);
SPY_API void gnt_spy_trap(int on);

static atomic_llong g_count;
static atomic_int g_trap;

int64_t gnt_spy_count(void)
{
    return atomic_load(&g_count);
}

/* While on, the next request ends the process by a trap, so that a debugger shows who made it. */
void gnt_spy_trap(int on)
{
    atomic_store(&g_trap, on);
}

static void note(void)
{
    atomic_fetch_add(&g_count, 1);
    if (atomic_load(&g_trap))
        __builtin_trap();
}

SPY_API void *malloc(size_t bytes)
{
    note();
    return __libc_malloc(bytes);
}

SPY_API void *calloc(size_t count, size_t bytes)
{
    note();
    return __libc_calloc(count, bytes);
}

SPY_API void *realloc(void *block, size_t bytes)
{
    note();
    return __libc_realloc(block, bytes);
}

SPY_API void *memalign(size_t alignment, size_t bytes)
{
    note();
    return __libc_memalign(alignment, bytes);
}

SPY_API void *aligned_alloc(size_t alignment, size_t bytes)
{
    note();
    return __libc_memalign(alignment, bytes);
}

SPY_API int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block;

    note();
    block = __libc_memalign(alignment, bytes);
    if (block == NULL)
        return ENOMEM;
    *out = block;
    return 0;
}

SPY_API void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    note();
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

SPY_API void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    note();
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static __attribute__((destructor)) void write_count(void)
{
    const char *path = getenv("GNT_SPY_OUT");
    char text[32];
    int fd, n;

    if (path == NULL)
        return;
    n = snprintf(text, sizeof text, "%lld\n", (long long)gnt_spy_count());
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, (size_t)n) != n)
        fprintf(stderr, "alloc_spy: cannot write '%s': %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}
