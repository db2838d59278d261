/* Checkpoints of trainings that are whole and that their ranks keep, and those that a rank found damaged. They count
 * once their row is stored. The files are described in docs/run-directory.md. */
#ifndef DAEMON_STORE_TRAINING_CHECKPOINT_H
#define DAEMON_STORE_TRAINING_CHECKPOINT_H
#include "daemon/store/store.h"

struct training_checkpoint_row {
    int64_t training, number; /* later checkpoints have higher numbers */
    int64_t ensemble;         /* of the training; set by reading */
    char name[64];            /* of its directory */
    int64_t generation, step, batches, drawn, ranks, size;
    char digest[17];
    int64_t time_ms;
    bool last;       /* its ranks ended with it, and it has all that they held */
    int64_t members; /* the number of members that are whole in it */
    bool damaged;    /* a rank found it damaged: nothing goes on from it */
};

/* Stores a checkpoint as the newest one, and sets its number. `ends` has for each member of which no sample is
 * missing the attempt that told its end (tasks/proto/ends.h). */
int store_training_checkpoint_add(struct store *store, struct training_checkpoint_row *row, const unsigned char *ends,
                                  size_t size, struct error *err);
int store_training_checkpoint_drop(struct store *store, int64_t training, int64_t number, struct error *err);
/* Notes that a rank found it damaged. */
int store_training_checkpoint_damaged(struct store *store, int64_t training, int64_t number, struct error *err);
/* Reads the newest checkpoint that is not damaged. Returns 1 if there is one, 0 if not, -1 on error. */
int store_training_checkpoint_newest(struct store *store, int64_t training, struct training_checkpoint_row *row,
                                     struct error *err);
/* Drops all checkpoints with a higher number; 0 drops all. */
int store_training_checkpoint_drop_after(struct store *store, int64_t training, int64_t number, struct error *err);
/* Reads at most `limit` checkpoints by training and number, from those on, of one training (0 for all). */
int store_training_checkpoint_each(struct store *store, int64_t training, int64_t from_training, int64_t from_number,
                                   int limit, int (*each)(void *arg, const struct training_checkpoint_row *row),
                                   void *arg, struct error *err);
/* Reads into ended[n] which attempts had told their end, of members from `from` on, for the training of an ensemble; 0
 * for a member of which something is missing. Returns 1, 0 if there is no such checkpoint, or -1. */
int store_training_checkpoint_ended(struct store *store, int64_t ensemble, int64_t number, int64_t from,
                                    uint32_t *ended, size_t n, struct error *err);
#endif
