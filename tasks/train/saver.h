/* The checkpoints that a rank saves. The program writes its state, at once or behind its training. A thread of this
 * module then flushes it and writes the stream's part beside it. On rank 0 it names the checkpoint in checkpoints.json
 * once the parts of all ranks are there (docs/run-directory.md). Until then the checkpoint does not count. */
#ifndef TASKS_TRAIN_SAVER_H
#define TASKS_TRAIN_SAVER_H
#include "tasks/train/config.h"
#include "tasks/train/cut.h"
#include "tasks/train/kept.h"

#include <stdbool.h>
#include <stdint.h>

struct saver;

/* Starts to watch the time. The configuration outlives it, and `kept`, which is told of checkpoints that are whole, or
 * NULL. NULL with err; or with err->code "" if the spec asks for
 * no checkpoints. */
struct saver *saver_create(const struct train_config *config, struct kept *kept, struct error *err);

/* Finishes what is being written. NULL is allowed. */
void saver_destroy(struct saver *c);

enum saver_due { SAVER_NOT_DUE, SAVER_DUE, SAVER_LAST };

/* Returns whether the last checkpoint may include what the training could do without. That is so if the rank was not
 * warned by the signal, and more than half of the time before the deadline in which checkpoints are due is left. */
bool saver_has_time(const struct saver *c);

/* Returns whether a checkpoint is due: LAST if the rank's time is nearly over, it was warned by the signal, or
 * saver_warn() was called. None but the last is due while this rank's part of the one before is being written. */
enum saver_due saver_due(struct saver *c);

/* Returns whether this rank is saving a checkpoint: one was begun of which this rank's part is not written yet, or this
 * rank adds one to the list of which all parts are written. */
bool saver_is_saving(struct saver *c);
uint64_t saver_saves(struct saver *c); /* how many were begun */
/* Returns whether this rank's part of a checkpoint is written, while it is not known whether those of all other ranks
 * are. */
bool saver_is_pending(struct saver *c);
/* Returns whether all ranks have written their parts of a checkpoint that is pending; reads files. */
bool saver_is_written(struct saver *c);
/* Returns whether this rank will find, at its next look, that a checkpoint is whole: rank 0 since all parts are
 * written, others since it is on the list. Reads files. */
bool saver_is_settling(struct saver *c);

/* From now on the last one is due: the daemon wants this generation to end. Callable from any thread. */
void saver_warn(struct saver *c);

/* Begins a checkpoint, of a step above that of the one before, or once more of the same. Any other step is replaced by
 * the next one, with a warning. Waits until this rank's part of the one before is written or was dropped, and makes the
 * directory. Returns the path for the program's state, at which nothing exists; NULL with err. The path is valid until
 * the next checkpoint is begun. */
const char *saver_begin(struct saver *c, int64_t step, struct error *err);

/* Returns the path of another file of this rank in the checkpoint that was begun, KIND-rankR.ENDING; to be freed, NULL
 * if there is no memory. */
char *saver_path(const struct saver *c, const char *kind, const char *ending);

/* Takes over the cut of the checkpoint that was begun. From now on the program may train, while it writes its state. */
void saver_cut(struct saver *c, struct cut *cut);

/* Returns whether saver_cut() was called for the checkpoint that was begun. */
bool saver_has_cut(struct saver *c);

/* The program has written its state, or has nothing to save; saver_cut() was called. The rest is done by the thread.
 * Callable from any thread. */
void saver_end(struct saver *c);

/* The program could not write its state: removes what there is of it. Callable from any thread. */
void saver_abandon(struct saver *c);

/* Waits until all checkpoints that were ended are written, and on rank 0 until they are whole. Returns -1 with err
 * if the last one could not be written. */
int saver_wait(struct saver *c, struct error *err);
#endif
