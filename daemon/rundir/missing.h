/* Finds the members' steps that are missing from a training, by the reports of its ranks. Each rank has a part of every
 * member's steps (docs/run-directory.md, held-rankR.bin). */
#ifndef DAEMON_RUNDIR_MISSING_H
#define DAEMON_RUNDIR_MISSING_H
#include "common/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* The question: which steps are missing of members 0 to count - 1, each of which should send `steps` steps? `others`
 * are left out: a list of indices in ascending order, from malloc. `unneeded` is a list of the same kind. */
struct missing_question {
    int64_t count, steps;
    int64_t *others, *unneeded;
    size_t n_others, n_unneeded;
};

/* An object: "steps" that are missing, of how many "members", and the "first" of these, a list of objects with "member"
 * and "steps". If members were not needed, "unneeded" is the number of their steps that are not held. A file that is
 * not there counts as a rank that holds nothing; NULL if one cannot be read. */
json_t *missing_count(char *const *paths, size_t n_paths, const struct missing_question *question, struct error *err);
#endif
