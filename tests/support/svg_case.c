/* SPDX-License-Identifier: Apache-2.0 */
/* A checker of markup that knows just what our charts use: tags, attributes in double quotes, entities. */
#include "tests/support/svg_case.h"

#include <string.h>

/* Every tag closes in order, attributes are quoted, no bare & or <; what SVG readers stop at. */
const char *svg_case_malformed(const char *p)
{
    const char *open[64];
    int depth = 0;

    for (; *p != '\0'; p++) {
        if (*p == '&' && strspn(p + 1, "#abcdefghijklmnopqrstuvwxyz0123456789") == strcspn(p + 1, ";"))
            continue;
        if (*p == '&')
            return p;
        if (*p != '<')
            continue;
        const char *end = strchr(p, '>');
        int quotes = 0;

        if (end == NULL)
            return p;
        for (const char *q = p; q < end; q++)
            quotes += *q == '"';
        if (quotes % 2 != 0)
            return p;
        if (p[1] == '/') {
            const size_t n = (size_t)(end - p - 2);

            if (depth == 0 || strncmp(open[depth - 1] + 1, p + 2, n) != 0 ||
                strchr(" >", open[depth - 1][n + 1]) == NULL)
                return p;
            depth--;
        } else if (end[-1] != '/') {
            if (depth == 64)
                return p;
            open[depth++] = p;
        }
        p = end;
    }
    return depth == 0 ? NULL : "an open tag at the end";
}

int svg_case_count(const char *text, const char *piece)
{
    int n = 0;

    for (const char *p = strstr(text, piece); p != NULL; p = strstr(p + 1, piece))
        n++;
    return n;
}

void svg_case_sound(const gnti_svg *svg)
{
    const char *bad = svg_case_malformed(svg->text);

    if (bad != NULL)
        fail_msg("malformed at: %.80s", bad);
    assert_int_equal(svg_case_count(svg->text, "nan"), 0);
    assert_int_equal(svg_case_count(svg->text, "inf"), 0);
    assert_true(svg->width > 0 && svg->height > 0);
}
