#include "tasks/runner/pattern.h"

#include "common/text.h"
#include "common/xalloc.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

bool pattern_is(const char *text)
{
    return strpbrk(text, "*?[\\") != NULL;
}

char *pattern_below(const char *dir, const char *pattern)
{
    struct text whole = {0};

    for (const char *c = dir; *c != '\0'; c++) {
        if (strchr("*?[\\", *c) != NULL)
            text_put(&whole, "\\", 1);
        text_put(&whole, c, 1);
    }
    text_put(&whole, "/", 1);
    text_string(&whole, pattern);
    return whole.data;
}

char *pattern_last(const char *pattern)
{
    glob_t found = {0};
    char *last;

    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return NULL;
    last = found.gl_pathv[0];
    for (size_t i = 1; i < found.gl_pathc; i++)
        if (strverscmp(found.gl_pathv[i], last) > 0)
            last = found.gl_pathv[i];
    last = xstrdup(last);
    globfree(&found);
    return last;
}

bool pattern_matches(const char *dir, const char *pattern)
{
    char *whole = pattern_below(dir, pattern), *found = pattern_last(whole);
    bool any = found != NULL;

    free(found);
    free(whole);
    return any;
}
