#include "scheduler-adapters/words.h"

#include "common/shell_word.h"
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void words_add(struct words *words, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (words->n + 1 >= words->size) {
        words->size = words->size == 0 ? 32 : 2 * words->size;
        words->word = xrealloc(words->word, words->size, sizeof *words->word);
    }
    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    words->word[words->n] = xcalloc((size_t)n + 1, 1);
    va_start(ap, fmt);
    vsnprintf(words->word[words->n], (size_t)n + 1, fmt, ap);
    va_end(ap);
    words->word[++words->n] = NULL;
}

void words_add_all(struct words *words, const json_t *strings)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)strings, i, item)
        words_add(words, "%s", json_string_value(item));
}

bool words_mention(const json_t *strings, const char *what)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)strings, i, item)
        if (strstr(json_string_value(item), what) != NULL)
            return true;
    return false;
}

void words_fini(struct words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->word[i]);
    free(words->word);
    *words = (struct words){0};
}

char *words_quote(const char *text)
{
    return shell_word(text);
}

char *words_exports(char *const *variables, char end)
{
    char *exports = xstrdup("");

    for (; *variables != NULL; variables++) {
        int n = (int)strcspn(*variables, "=");
        char *value = words_quote(*variables + n + 1), *longer;

        longer = xasprintf("%sexport %.*s=%s%c", exports, n, *variables, value, end);
        free(exports);
        free(value);
        exports = longer;
    }
    return exports;
}
