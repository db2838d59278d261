/* The words of a command. */
#ifndef SCHEDULER_ADAPTERS_WORDS_H
#define SCHEDULER_ADAPTERS_WORDS_H
#include <jansson.h>
#include <stdbool.h>

struct words {
    char **word; /* ended by NULL once there is one */
    size_t n, size;
};

void words_add(struct words *words, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void words_add_all(struct words *words, const json_t *strings); /* NULL: none */
bool words_mention(const json_t *strings, const char *what); /* a part of one of them; NULL: none */
void words_fini(struct words *words);

/* The text as one word of sh; to be freed. */
char *words_quote(const char *text);
/* "export NAME='VALUE'" for each of them (NAME=VALUE, ended by NULL), with `end` after it; to be freed. */
char *words_exports(char *const *variables, char end);
#endif
