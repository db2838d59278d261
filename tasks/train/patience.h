/* Decides how long the reception of a full rank waits for a checkpoint (kept.h): as long as one may still come. Members
 * that wait for this rank starve the other ranks, too. The checkpoint, or a collective call of this rank's program, may
 * be waiting for these. So the reports of all ranks are read. No checkpoint comes any more in either of these cases:
 *
 * - none of the ranks saves, and one of them waits for samples, has ended, or has not saved its part
 * - the program draws on and on, and saves nothing */
#ifndef TASKS_TRAIN_PATIENCE_H
#define TASKS_TRAIN_PATIENCE_H
#include "common/error.h"
#include "tasks/train/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This rank, at a look. */
struct patience_own {
    bool saving;  /* its part of a checkpoint is being written, or it will find one whole at its next look */
    bool pending; /* its part is written, and that of another rank may be missing */
    bool written; /* all parts are, and rank 0 has yet to add it to the list: its report counts from then on */
    bool starved; /* its program waits for samples */
    uint64_t batches;
    uint64_t saves; /* checkpoints that its program has begun: one may come and be whole between two looks */
};

/* Another rank, as it last reported. */
struct patience_other {
    double time; /* at which it did; 0: never */
    bool saving, starved, done;
};

struct patience;

/* For the ranks of that configuration, which outlives it. NULL if there is no memory. */
struct patience *patience_create(const struct train_config *config);
void patience_destroy(struct patience *p); /* NULL is allowed */

/* Reception does not wait. */
void patience_rest(struct patience *p);

/* Called from time to time while it waits, with `others`, one for each rank, of which the own one is not read; NULL
 * if nothing new is known of them. Returns why it is to give up waiting, as a clause; NULL if it is not. */
const char *patience_look(struct patience *p, const struct patience_own *own, const struct patience_other *others);

/* Reads what the other ranks have reported last (status-rankR.json). */
void patience_read(const struct train_config *config, struct patience_other *others);
#endif
