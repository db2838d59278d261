/* Prints a run as MLPerf's log lines (":::MLLOG {…}"), which its compliance checker reads. */
#ifndef CLI_MLLOG_H
#define CLI_MLLOG_H
#include "cli/args.h"
#include "cli/cli.h"
#include "common/error.h"

#include <jansson.h>
#include <stdio.h>

struct mllog_query {
    struct ref run;     /* a member */
    const char *metric; /* of evaluations */
    bool higher;        /* higher values of it are better */
    double target;      /* the run stops where it is reached; NAN for none */
    json_t *said; /* an object: values of keys that stretto does not know, of which "{lr}" stands for a parameter */
};

/* Reads "KEY=VALUE" into an object. A value that is JSON is taken as such, and any other one as text. Returns -1 if
 * the text has no key. */
int mllog_say(json_t *said, const char *text);

/* Each point of the metric is an evaluation, which ends a block of one epoch. Returns -1 with err if the run has not
 * ended, or has no such metric. */
int mllog_print(struct cli *cli, const struct mllog_query *query, FILE *to, struct error *err);
#endif
