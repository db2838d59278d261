/* Options that neither a spec nor a setting may give to the command that submits jobs, since the adapter or the daemon
 * relies on them. They would send a job elsewhere, give it another name or command, or change the command's output. */
#ifndef SCHEDULER_ADAPTERS_OPTIONS_H
#define SCHEDULER_ADAPTERS_OPTIONS_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

struct option_rule {
    char letter;         /* '\0': it has none */
    const char *name;    /* of the long form; NULL: it has none */
    const char *value;   /* the option is refused only with a value that contains this; NULL: always */
    const char *instead; /* a clause: how the same is done by stretto, or why it cannot be */
};

/* The syntax of a command's options. If a word can be read in two ways, it is refused. */
struct option_syntax {
    const char *program;            /* its name */
    const char *valued;             /* the letters that take a value, in the same word or the next one */
    const char *const *doubles;     /* options of two letters that take a value, such as "cc", ended by NULL; or NULL */
    bool has_long;                  /* there are long options, which may be abbreviated */
    bool has_operands;              /* the command itself refuses words that are no options */
    const struct option_rule *rule; /* ended by one with neither letter nor name */
};

/* Checks these options. -1 with the place of the first one that is refused, below `at`, e.g. "/extra/0". */
int options_check(const struct option_syntax *syntax, const json_t *extra, const char *at, const char *code,
                  struct error *err);
#endif
