/* Reads the arguments that commands take. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H
#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* An argument such as "7", "7.123" or "7.training". */
struct ref {
    int64_t ensemble;
    int64_t index; /* -1 if there is none */
    bool training;
};

/* Returns 0, or -1 if the text is none of these forms. */
int ref_parse(const char *text, struct ref *ref);

/* Reads a whole number of at least min. If arg is none, it does not return (usage, exit status 2). `what` names the
 * argument in the message, for example "--attempt". */
int64_t arg_number(const struct argp_state *state, const char *arg, const char *what, int64_t min);

/* Reads an ensemble's id alone. If arg is none, it does not return. */
int64_t arg_ensemble(const struct argp_state *state, const char *arg);
/* An argp parser for commands that take one ensemble's id and nothing else. Its input is an int64_t, which must be
 * 0. */
error_t arg_one_ensemble(int key, char *arg, struct argp_state *state);
#endif
