#include "common/shell_word.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <string.h>

char *shell_word(const char *text)
{
    char *out = xcalloc(4 * strlen(text) + 3, 1), *at = out;

    *at++ = '\'';
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            at += sprintf(at, "'\\''");
        else
            *at++ = *text;
    }
    *at = '\'';
    return out;
}
