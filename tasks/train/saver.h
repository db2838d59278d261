/* The checkpoints that a rank saves. The program writes its state; a thread of this
 * module then flushes it, writes the stream's part beside it, and, on rank 0, names the checkpoint in checkpoints.json
 * once the parts of all ranks are there (docs/run-directory.md). Until then it does not count. */
#ifndef TASKS_TRAIN_SAVER_H
#define TASKS_TRAIN_SAVER_H
#include "tasks/train/config.h"
#include "tasks/train/cut.h"

#include <stdbool.h>
#include <stdint.h>

struct saver;

/* Starts to watch the time. The configuration outlives it. NULL with err; or with err->code "" where the spec asks for
 * no checkpoints. */
struct saver *saver_create(const struct train_config *config, struct error *err);

/* Finishes what is being written. NULL is allowed. */
void saver_destroy(struct saver *c);

enum saver_due { SAVER_NOT_DUE, SAVER_DUE, SAVER_LAST };

/* Tells whether a checkpoint is due: LAST where the rank's time is nearly over, it was warned by the signal, or saver_warn() was called. */
enum saver_due saver_due(struct saver *c);

/* From now on the last one is due: the daemon wants this generation to end. Callable from any thread. */
void saver_warn(struct saver *c);

/* Begins a checkpoint, of a step above that of the one before, or once more of the same: waits until this rank's part of the one before is written, makes the directory, and returns the
 * path for the program's state, which nothing has; NULL with err. The path is valid until saver_end(). */
const char *saver_begin(struct saver *c, int64_t step, struct error *err);

/* Returns the path of another file of this rank in the checkpoint that was begun, KIND-rankR.ENDING; to be freed, NULL
 * where there is no memory. */
char *saver_path(const struct saver *c, const char *kind, const char *ending);

/* The program has written its state, or has nothing to save. Takes over the cut; the rest is done by the thread. */
void saver_end(struct saver *c, struct cut *cut);

/* The program could not write its state: removes what there is of it. */
void saver_abandon(struct saver *c);

/* Waits until all checkpoints that were ended are written, and on rank 0 until they are whole. Returns -1 with err where
 * the last one could not be written. */
int saver_wait(struct saver *c, struct error *err);
#endif
