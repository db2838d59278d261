/* The stream's part of a checkpoint, of one rank: which samples it had drawn, and its counters. A training that goes on
 * from the checkpoint has learnt from these samples, and from no other; it needs all others. */
#ifndef TASKS_TRAIN_CUT_H
#define TASKS_TRAIN_CUT_H
#include "common/error.h"
#include "tasks/train/pool.h"
#include "tasks/proto/stepset.h"

struct cut {
    uint64_t members; /* of the ensemble */
    uint64_t drawn, batches, repeats, draws[POOL_DRAWS];
    size_t n_runs;
    struct stepset_run *runs; /* the samples that were drawn */
    /* for each member the attempt that told its end, if everything was drawn, or handed over, that the member had sent
     * to this rank; else 0 */
    uint32_t *ended;
    bool last;       /* the rank ends with it, and hands over what was not drawn; not in the files */
    uint32_t number; /* drawn_cut(); not in the files */
    double time;     /* Unix time at which it was taken; not in the files */
};

/* Writes stream-rankR.bin and whole-rankR.bin into the checkpoint's directory, and flushes them. */
int cut_write(const struct cut *cut, const char *dir, int rank, struct error *err);

/* Reads them. Fails if they are damaged, or of an ensemble with another number of members. */
int cut_read(struct cut *cut, const char *dir, int rank, uint64_t members, struct error *err);

void cut_fini(struct cut *cut);

bool cut_is_whole(const struct cut *cut, uint64_t member);
#endif
