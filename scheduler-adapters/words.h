/* The words of a command line. */
#ifndef SCHEDULER_ADAPTERS_WORDS_H
#define SCHEDULER_ADAPTERS_WORDS_H
#include <jansson.h>
#include <stdbool.h>

struct words {
    char **word; /* ended by NULL once there is one */
    size_t n, size;
};

void words_add(struct words *words, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void words_add_all(struct words *words, const json_t *strings); /* adds these strings; NULL: adds none */
/* whether one of the strings contains `what`; NULL: there are none */
bool words_mention(const json_t *strings, const char *what);
void words_fini(struct words *words);

/* Quotes the text as one word of sh; the caller frees the result. */
char *words_quote(const char *text);
/* Returns "export NAME='VALUE'" for each variable (NAME=VALUE, ended by NULL), each followed by `end`; the caller frees
 * the result. */
char *words_exports(char *const *variables, char end);
#endif
