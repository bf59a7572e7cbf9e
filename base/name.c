/* SPDX-License-Identifier: Apache-2.0 */
/* Distance of names: optimal string alignment (Levenshtein with swaps of neighbours), three rolling rows.
 * d[i][j] = min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a_i != b_j), d[i-2][j-2] + 1 when a swap fits).
 */
#include "base/name.h"

#include <string.h>

enum { MAX_LENGTH = 63 };

static char at(const char *name, size_t i)
{
    return name[i] == '_' ? '-' : name[i];
}

static size_t length_of(const char *name)
{
    const size_t n = strlen(name);

    return n < MAX_LENGTH ? n : MAX_LENGTH;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

int gnti_name_distance(const char *a, const char *b)
{
    const size_t la = length_of(a), lb = length_of(b);
    int rows[3][MAX_LENGTH + 1];
    int *before = rows[0], *last = rows[1], *now = rows[2];

    for (size_t j = 0; j <= lb; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= la; i++) {
        now[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            const int replace = last[j - 1] + (at(a, i - 1) != at(b, j - 1));

            now[j] = min_int(replace, min_int(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && at(a, i - 1) == at(b, j - 2) && at(a, i - 2) == at(b, j - 1))
                now[j] = min_int(now[j], before[j - 2] + 1);
        }
        int *const spare = before;

        before = last;
        last = now;
        now = spare;
    }
    return last[lb];
}

bool gnti_name_is_near(const char *a, const char *b)
{
    const size_t la = length_of(a), lb = length_of(b);
    const size_t longer = la > lb ? la : lb, shorter = la > lb ? lb : la;

    if (shorter >= 3 && strncmp(a, b, shorter) == 0)
        return true;
    return gnti_name_distance(a, b) <= (int)((longer + 2) / 3);
}

const char *gnti_name_nearest(const char *const *names, size_t num_names, const char *name)
{
    const char *best = NULL;
    int best_distance = 0;

    for (size_t i = 0; i < num_names; i++) {
        const int distance = gnti_name_distance(names[i], name);

        if (gnti_name_is_near(names[i], name) && (best == NULL || distance < best_distance)) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
