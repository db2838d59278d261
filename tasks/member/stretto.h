/* stretto.h — libstretto: sends the fields of a running simulation to the training ranks of its ensemble.
 *
 * A simulation that is an ensemble member opens a stream, declares its fields, sends them as its time goes on, and
 * closes the stream. The properties of the stream (ranks, key, declared fields) come from the environment that the
 * runner has set (docs/run-directory.md), so the program itself has no options for it. A program that is not run under
 * stretto still works: the stream is then idle, nothing is sent and every correct call succeeds, and one message on
 * stderr says so.
 *
 * A training may go on with other ranks while members run. The calls that wait for ranks then find the new ones, and
 * send them what the former have not acknowledged; the program need not know of it.
 *
 * One thread uses a stream at a time. In an MPI program only rank 0 opens one. The library starts no process, installs
 * no signal handler and never exits; every call returns 0, or -1 with the reason in stretto_error(). This also holds if
 * memory is short, except inside ZeroMQ, which this library uses: ZeroMQ ends the process if it cannot get memory for
 * itself. */
#ifndef STRETTO_H
#define STRETTO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct stretto;

enum stretto_dtype {
    STRETTO_FLOAT32 = 1,
    STRETTO_FLOAT64 = 2,
    STRETTO_INT32 = 3,
    STRETTO_INT64 = 4,
    STRETTO_UINT8 = 5,
};

#define STRETTO_NDIM_MAX 4
#define STRETTO_AGAIN (-2) /* only from streams of stretto_open_patiently() */

/* Opens the stream. Waits for the ranks' endpoints until the member's deadline (STRETTO_DEADLINE), or forever if there
 * is none. On success *out is the stream, to be ended by stretto_close(). On failure *out is still a handle, valid only
 * for stretto_error() and stretto_close(). It is NULL, which these accept, if there is no memory for a handle. */
int stretto_open(struct stretto **out);

/* Opens a stream like stretto_open(), for callers that must do something else while they wait, such as an interpreter
 * that handles signals. Calls on the stream that may wait then wait for at most `patience_ms`: this one,
 * stretto_send(), stretto_send_lent(), stretto_checkpointed(), stretto_finish() and stretto_close(). After that time
 * such a call returns STRETTO_AGAIN and has done nothing. Call it again with the same arguments. *out is NULL at the
 * first call. */
int stretto_open_patiently(struct stretto **out, int patience_ms);

/* Returns 1 if the stream leads to a training, 0 if it is idle. */
int stretto_active(const struct stretto *s);

/* Declares a field by the name it has in the spec's training.fields, with the type and the shape (C order, `ndim`
 * extents) of the data for stretto_send(). Returns its number (>= 0), or -1 if the spec has no such field or another
 * shape. The element type may differ from the spec's: float64 is narrowed to float32 on the way; no other conversion is
 * made. A first extent of -1 stands for one that varies, which the spec must have, too: see stretto_send_extent(). */
int stretto_field(struct stretto *s, const char *name, enum stretto_dtype dtype, int ndim, const int64_t *shape);

/* Describes a field of the spec. Returns:
 *
 * - 1 with its type, the number of its extents, and the extents (1 beyond them, -1 for a first one that varies)
 * - 0 if the stream is idle and nothing is known
 * - -1 if the spec has no such field */
int stretto_describe(struct stretto *s, const char *name, enum stretto_dtype *dtype, int *ndim,
                     int64_t shape[STRETTO_NDIM_MAX]);

/* Sends one field of one time step; `data` holds the declared number of elements, contiguous, and may be reused at
 * once. `step` >= 0; a step sent twice counts once. Blocks while the rank's buffers are full (back-pressure). */
int stretto_send(struct stretto *s, int field, int64_t step, const void *data);

/* Does the same for a field whose first extent varies. This time it is `extent`, from 0 to the spec's "max", and `data`
 * holds `extent` times the other extents. `data` is not read if `extent` is 0. */
int stretto_send_extent(struct stretto *s, int field, int64_t step, int64_t extent, const void *data);

/* Lends the field's next send buffer, to write the field into it. *data then has room for the declared number of
 * elements of the declared type, aligned to 64 bytes, with undefined contents. If that type is the spec's, the memory
 * is sent as it is, and nothing is copied; otherwise stretto_send_lent() narrows it. An idle stream lends memory, too,
 * so that a program needs no second way. The memory is the program's until stretto_send_lent(), a new stretto_field()
 * of that field, or the stream's end. Repeated calls before that return the same memory. Does not block. */
int stretto_lend(struct stretto *s, int field, void **data);

/* Does the same for a field whose first extent varies, with room for `extent`, which is the extent that
 * stretto_send_lent() then sends. A repeated call with another extent returns other memory, and what was written is
 * lost. */
int stretto_lend_extent(struct stretto *s, int field, int64_t extent, void **data);

/* Sends the content of the lent memory as that field of that step; otherwise like stretto_send(). After it, the memory
 * must not be touched any more: ask for the next. */
int stretto_send_lent(struct stretto *s, int field, int64_t step);

/* Seconds until the member's walltime ends; a huge value if there is no limit. */
double stretto_time_left(const struct stretto *s);

/* Returns 1 if it is time to leave a checkpoint and stop, and otherwise 0. It is time if less time is left than either
 * of these: `seconds`, which the program needs for its next step and a checkpoint after it, or the spec's
 * checkpoint.before. Without a limit it never is. */
int stretto_checkpoint_due(const struct stretto *s, double seconds);

/* Records a checkpoint: the file `path`, in the directory STRETTO_CHECKPOINT_DIR, is complete for step `step` (>= 0),
 * closed, and will not be written to again. The call flushes it to the disk, reads it once, and records its size and
 * digest. From then on another attempt may go on from it, with its path in STRETTO_RESUME. Older ones may be removed
 * then (the spec's checkpoint.keep). If the program is no ensemble member, nothing is done, and one message on stderr
 * says so.
 *
 * On an active stream, send the steps that the checkpoint covers before this call. It waits until the ranks hold
 * everything that was sent, since the next attempt would not send it again. It fails if the member's walltime ends
 * first: the next attempt then goes on from an older checkpoint, or begins at the start. */
int stretto_checkpointed(struct stretto *s, const char *path, int64_t step);

/* Waits until the ranks hold everything that was sent, tells them that this member has finished, and frees the stream.
 * Returns 0 only if everything has been acknowledged, and the ranks hold as many steps of this member as the spec's
 * training.steps says, if given. Otherwise the member must not report success. A program that was told that a
 * checkpoint is due, and whose last act was to record one, stops for now. The ranks are then not told that it has
 * finished, and steps may be missing. It must not report success either (the spec's success.file). The stream is freed
 * in any case, with a message on stderr on failure. NULL is allowed. */
int stretto_close(struct stretto *s);

/* Does the same as stretto_close(), but neither frees the stream nor prints anything, so that stretto_error() can
 * return the reason of a failure. In either case, stretto_abort() then frees it. */
int stretto_finish(struct stretto *s);

/* Ends the stream without finishing: nothing more is sent, and the ranks do not regard the member as finished. */
void stretto_abort(struct stretto *s);

/* Reports a value of a metric, such as a loss, at a step of the training or the simulation. NaN and infinities are
 * values, too. It needs no stream: a member without a training reports as well, from any thread. A step that is not
 * above the last one of this name replaces what was reported from that step on. A name has 1 to 100 bytes of UTF-8,
 * without control characters. Returns 0, also if the program is no ensemble member and nothing is done, or -1 with
 * errno. */
int stretto_metric(const char *name, int64_t step, double value);

/* Reports how far the member is: so much is done of the total. It needs no stream, and returns the same as
 * stretto_metric(). */
int stretto_progress(double done, double total);

/* Returns the reason of the last failure on this stream, as one sentence; "" if there was none. */
const char *stretto_error(const struct stretto *s);

#ifdef __cplusplus
}
#endif
#endif
