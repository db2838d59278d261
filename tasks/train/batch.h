/* A batch's samples in the memory of the program. */
#ifndef TASKS_TRAIN_BATCH_H
#define TASKS_TRAIN_BATCH_H
#include "tasks/train/config.h"
#include "tasks/train/copies.h"
#include "tasks/train/sample.h"

/* The arrays to which a batch is written, as in stretto_train_batch_ragged(), which also says which of them may be
 * NULL. */
struct batch_target {
    void *const *fields;
    int64_t *const *offsets;
    double *params;
    int64_t *member, *step;
};

void batch_copy(const struct train_config *config, struct copies *copies, struct sample **batch, int count,
                const struct batch_target *to);

#endif
