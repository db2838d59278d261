/* The points of a member's metric, read over HTTP page by page. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H
#include "cli/cli.h"

/* Calls `take` with each point, in order, until it returns false. Returns 0, or -1 if a page could not be read. */
int member_points_read(struct cli *cli, int64_t ensemble, int64_t index, const char *metric,
                       bool (*take)(void *arg, const json_t *point), void *arg, struct error *err);
#endif
