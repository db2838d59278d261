/* What the commands take as arguments. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H
#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* "7", "7.123" or "7.training". */
struct ref {
    int64_t ensemble;
    int64_t index; /* -1: none said */
    bool training;
};

/* 0, or -1 where the text is none of them. */
int ref_parse(const char *text, struct ref *ref);

/* A whole number of at least min; does not return (usage, exit status 2) where arg is none. `what` is for the message,
 * e.g. "--attempt". */
int64_t arg_number(const struct argp_state *state, const char *arg, const char *what, int64_t min);

/* An ensemble's id alone, likewise. */
int64_t arg_ensemble(const struct argp_state *state, const char *arg);
/* An argp parser for commands that take one ensemble's id and nothing else; its input is an int64_t, 0 before. */
error_t arg_one_ensemble(int key, char *arg, struct argp_state *state);
#endif
