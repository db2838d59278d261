/* stretto-train.h — libstretto-train: receives the samples that the members of an ensemble send, keeps them in the
 * training's buffer, and gives batches to a training process (a rank).
 *
 * The library finds everything through the environment that the runner has set (docs/run-directory.md). Reception runs
 * on a thread of its own from stretto_train_open() to stretto_train_close(), whatever the training does meanwhile.
 * Batches are drawn by one thread at a time; all other calls may come from any thread. Calls return 0, or -1 with the
 * reason in stretto_train_error(). If memory is short, samples stay with the members that send them until there is
 * memory, and nothing is lost. ZeroMQ, however, which this library uses, ends the process if it cannot get memory for
 * itself. */
#ifndef STRETTO_TRAIN_H
#define STRETTO_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct stretto_train;

enum stretto_train_state {
    STRETTO_TRAIN_WAITING,
    STRETTO_TRAIN_RECEIVING,
    STRETTO_TRAIN_DRAINING,
    STRETTO_TRAIN_DONE,
    STRETTO_TRAIN_UNFINISHED,
};

#define STRETTO_TRAIN_DRAWS 8
#define STRETTO_TRAIN_FAULTS_MAX 32

struct stretto_train_stats {
    uint64_t received; /* samples taken in whole, duplicates included */
    uint64_t unique;   /* received - duplicates */
    uint64_t duplicates;
    uint64_t rejected; /* frames that were refused */
    uint64_t drawn;    /* unique samples that went into a batch at least once */
    uint64_t repeats;  /* all further draws */
    uint64_t batches;
    uint64_t population;   /* samples in the buffer */
    uint64_t unseen;       /* samples in the buffer that were never drawn */
    uint64_t finalized;    /* members that announced their end */
    uint64_t bytes;        /* of the fields of received samples */
    uint64_t memory_bytes; /* of fields that were read in memory which members on this host share */
    uint64_t skipped;      /* samples that members which run again did not send, since they were held here */
    /* unique samples that were drawn once, twice, 3-4 times, 5-8, ... 33-64, oftener */
    uint64_t draws[STRETTO_TRAIN_DRAWS];
    uint64_t rejected_by[STRETTO_TRAIN_FAULTS_MAX]; /* rejected, by reason: stretto_train_fault_name() */
    double samples_per_second;
    double room_wait_seconds;   /* time for which reception has waited for room in the buffer, not for a checkpoint */
    double sample_wait_seconds; /* time for which the training has waited for samples */
    int32_t state;              /* enum stretto_train_state */
    int32_t doing;              /* bits: STRETTO_TRAIN_STARVED, STRETTO_TRAIN_SAVING */
};

/* The training waits for samples; a checkpoint is being saved. */
enum { STRETTO_TRAIN_STARVED = 1, STRETTO_TRAIN_SAVING = 2 };

/* Starts receiving. On failure *out is still a handle, valid only for stretto_train_error(), stretto_train_error_code()
 * and stretto_train_close(). It is NULL, which these accept, if there is no memory for a handle.
 *
 * The call makes the process's malloc keep up to 64 MiB of freed memory (mallopt(3): M_TRIM_THRESHOLD, and
 * M_MMAP_THRESHOLD of 32 MiB), since messages come and go all the time. It leaves malloc as it is if GLIBC_TUNABLES,
 * MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or MALLOC_TOP_PAD_ is set.
 *
 * The connections of members are served by threads that have descriptors of their own (unshare(2)), so that they cannot
 * use up the program's; /proc/PID/fd does not show them. If the system refuses that, as some containers do, the library
 * logs a warning, and the connections use the program's descriptors. The process's soft limit on open files is raised
 * to 16,384, or to the hard limit if that is less. */
int stretto_train_open(struct stretto_train **out);

/* Stops receiving and frees everything. It does not report success: stretto_train_done() does that. NULL is allowed. */
void stretto_train_close(struct stretto_train *t);

/* Returns the reason of the last failure; "" if there was none. stretto_train_error_code() returns a word that
 * programs can compare, "not_under_stretto" if the environment is not that of a rank. */
const char *stretto_train_error(const struct stretto_train *t);
const char *stretto_train_error_code(const struct stretto_train *t);

int stretto_train_rank(const struct stretto_train *t);
int stretto_train_ranks(const struct stretto_train *t);
int64_t stretto_train_ensemble(const struct stretto_train *t);
int64_t stretto_train_generation(const struct stretto_train *t);
int64_t stretto_train_count(const struct stretto_train *t); /* members of the ensemble */
int64_t stretto_train_batch_size(const struct stretto_train *t);

/* The fields, in the bytewise order of their names; element types are enum stretto_dtype of stretto.h. */
int stretto_train_fields(const struct stretto_train *t);
const char *stretto_train_field_name(const struct stretto_train *t, int field);
int stretto_train_field_dtype(const struct stretto_train *t, int field);
int stretto_train_field_ndim(const struct stretto_train *t, int field);
/* -1 for a first extent that varies; its largest value then, else 0. */
int64_t stretto_train_field_extent(const struct stretto_train *t, int field, int dim);
int64_t stretto_train_field_max(const struct stretto_train *t, int field);

/* The numeric parameters, in the spec's order. */
int stretto_train_parameters(const struct stretto_train *t);
const char *stretto_train_parameter_name(const struct stretto_train *t, int parameter);

enum { STRETTO_TRAIN_END = 0, STRETTO_TRAIN_AGAIN = -2, STRETTO_TRAIN_INTERRUPTED = -3 };

/* Draws a batch and writes it into the caller's memory:
 *
 * - fields[f]: batch size × the field's elements, contiguous; NULL: this field is not wanted
 * - params: batch size × parameters, as float64
 * - member and step: batch size elements
 *
 * params, member and step may be NULL. The call waits until a batch can be drawn, at most timeout_ms, or for ever if
 * that is negative. Up to three threads of the library help to copy batches of more than 4 MiB, if there are processors
 * for them. Returns:
 *
 * - the number of samples, less than the batch size only at the very end
 * - STRETTO_TRAIN_END when reception is over and everything has been drawn
 * - STRETTO_TRAIN_AGAIN on a timeout
 * - STRETTO_TRAIN_INTERRUPTED after stretto_train_interrupt() */
int stretto_train_batch(struct stretto_train *t, void *const *fields, double *params, int64_t *member, int64_t *step,
                        int timeout_ms);

/* Does the same if the first extent of some fields varies. fields[f] of such a field gets the samples' elements, one
 * sample behind the other: at most batch size × max × the other extents. offsets[f] gets batch size + 1 numbers: sample
 * i lies from offsets[f][i] to offsets[f][i + 1], counted along the first extent. offsets[f] of other fields is not
 * read. stretto_train_batch() returns -1 if such a field is wanted, since the caller could not separate the samples. */
int stretto_train_batch_ragged(struct stretto_train *t, void *const *fields, int64_t *const *offsets, double *params,
                               int64_t *member, int64_t *step, int timeout_ms);

/* Ends a wait in stretto_train_batch(), and reception with it: members that still send get no answer, and wait until
 * the daemon, which learns how the training ended, ends them. Only stretto_train_done() and stretto_train_close() are
 * useful after it. */
void stretto_train_interrupt(struct stretto_train *t);

/* Adds a point to a metric series; the daemon gets it within a second. A name is 1 to 200 bytes of UTF-8. */
int stretto_train_metric(struct stretto_train *t, const char *name, int64_t step, double value);

/* Reports a value for each of `count` members, such as the loss of the samples that stretto_train_batch() has given.
 * The daemon gets the mean of each member's values within a second, as a point of the member's metric "statistic".
 * Lists of members are sorted by it, and generators choose from it. */
int stretto_train_report(struct stretto_train *t, int count, const int64_t *member, const double *value);

void stretto_train_stats(struct stretto_train *t, struct stretto_train_stats *stats);

/* Checkpoints, if the spec's training has "checkpoint". Each is one cut of all ranks: the state that the program saves,
 * and which samples were drawn before it. A training that goes on from it never needs these samples again, and gets all
 * others. So call these functions between two batches, when the program has learnt from all that it was given, or
 * report what it has learnt by stretto_train_learnt(). With several ranks, every rank saves the checkpoint of the same
 * steps: one decides by stretto_train_checkpoint_due(), and informs the others.
 *     int due = stretto_train_checkpoint_due(t);
 *     if (due != 0) {
 *         const char *path = stretto_train_checkpoint_begin(t, step);
 *         if (path == NULL || stretto_train_checkpoint_end(t, save(path) == 0 ? due : 0) < 0)
 *             ...stretto_train_error(t)
 *     }
 *
 * A program that can copy its state in memory faster than it can write it goes on training meanwhile. After _begin() it
 * copies the state (stretto_train_copy()) and calls stretto_train_checkpoint_cut(). Another thread of the program
 * writes the copy to the path and calls stretto_train_checkpoint_end(). */
/* Reports that the model has learnt from all batches that were given. Without this call, that is understood when a
 * checkpoint is begun. From the first call on, only what was given before the last call counts as learnt. A program
 * that does not learn from each batch at once, as with accumulated gradients, calls it at its beginning, and after each
 * step of its optimiser. Samples that were given since then come again in a training that goes on from a checkpoint.
 * stretto_train_unlearnt() returns the number of these samples. Without "checkpoint" in the spec nothing is counted. */
int stretto_train_learnt(struct stretto_train *t);
int64_t stretto_train_unlearnt(const struct stretto_train *t);

enum { STRETTO_TRAIN_CHECKPOINT_DUE = 1, STRETTO_TRAIN_CHECKPOINT_LAST = 2 };

/* Returns:
 *
 * - STRETTO_TRAIN_CHECKPOINT_DUE once "every" is over since the last one was begun, and this rank has written its part
 *   of that. A checkpoint that becomes due before is put off until then.
 * - STRETTO_TRAIN_CHECKPOINT_LAST `before` the end of the rank's time, once the runner has warned it by the spec's
 *   signal, or once the daemon wants another number of ranks.
 * - 0 otherwise.
 *
 * The library handles that signal only if the program has not set what it does. */
int stretto_train_checkpoint_due(struct stretto_train *t);

/* Returns "every" of the spec in milliseconds; 0 if a checkpoint is never due before the end of the time. */
int64_t stretto_train_checkpoint_every_ms(const struct stretto_train *t);

/* Begins a checkpoint. `step` is the program's own count, and above that of the checkpoint before; or it is the same,
 * once, if nothing was learnt in between. The checkpoint gets the next number instead of another step, and a warning
 * says so. Returns the path that the program is to write its state to, as a file or a
 * directory, valid until the next checkpoint is begun; NULL on failure. Ranks other than 0 may write nothing. Waits
 * while the one before is still being written, by the program or the library. */
const char *stretto_train_checkpoint_begin(struct stretto_train *t, int64_t step);

/* Takes the stream's part of the checkpoint that was begun: the samples that were drawn by now. The program has a copy
 * of its state as of now, goes on training, and writes the copy; stretto_train_checkpoint_end() then has to be called,
 * from any thread, before stretto_train_close(). Until then the checkpoint does not count, and stretto_train_done() and
 * stretto_train_checkpoint_begin() wait. `due` as for stretto_train_checkpoint_end(). On failure the checkpoint is
 * dropped. */
int stretto_train_checkpoint_cut(struct stretto_train *t, int due);

/* Copies memory past the processor's caches, which takes little more than half the time of memcpy() if a large state
 * is copied. */
void stretto_train_copy(void *to, const void *from, size_t size);

/* Ends a checkpoint. `due` says that its state is written: it is what stretto_train_checkpoint_due() returned, or
 * STRETTO_TRAIN_CHECKPOINT_DUE. With 0 the state could not be written, and the checkpoint is dropped. Records the
 * stream's part, unless stretto_train_checkpoint_cut() has.
 *
 * The rest is done in the background: flushing, and writing the stream's part. A failure there is logged, and the
 * training goes on. After STRETTO_TRAIN_CHECKPOINT_LAST the call waits until that is done, and fails if it could not
 * be. Then stretto_train_batch() returns STRETTO_TRAIN_END, and stretto_train_done() reports that the training is to go
 * on in another job. */
int stretto_train_checkpoint_end(struct stretto_train *t, int due);

/* Returns the path and the step of the state that this training goes on from. It is in a checkpoint of its own, or in
 * one of another ensemble that the spec has it start from. It is the state of this rank, or of the first rank that had
 * saved one. NULL and -1 if the training begins at the start, with nothing. */
const char *stretto_train_resume(const struct stretto_train *t);
int64_t stretto_train_resume_step(const struct stretto_train *t);
/* Returns how many ranks saved it, or 0. If that is not stretto_train_ranks(), a batch of all ranks together has
 * another size now, and the program may want another learning rate. */
int stretto_train_resume_ranks(const struct stretto_train *t);

/* Returns 1 once the last checkpoint of this generation of ranks is saved, else 0. */
int stretto_train_unfinished(const struct stretto_train *t);

/* Returns a word for each index of rejected_by; NULL if there is none. */
const char *stretto_train_fault_name(int fault);

/* Reports that the training has finished with success: writes the final counters, which the daemon reads. Waits until
 * checkpoints that were ended are written. If stretto_train_unfinished(), it reports that instead.
 *
 * If stretto_train_batch() has not returned STRETTO_TRAIN_END, the training says with this call that it has learnt
 * enough. It takes no more samples. Once all ranks are done and have ended, the daemon ends the members that still run
 * and starts no others. The ensemble is then complete, and says what was not needed. Other ranks get STRETTO_TRAIN_END
 * when they have drawn what they hold. */
int stretto_train_done(struct stretto_train *t);

#ifdef __cplusplus
}
#endif
#endif
