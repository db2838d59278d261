/* An account of how far the ranks hold the samples of a member's stream: a small file for each stream in `.stretto` of
 * the member's checkpoint directory (docs/run-directory.md). The library keeps it up to date in mapped memory, so that
 * it survives the process, however that ends. A checkpoint is offered only if the samples that were sent before it are
 * held (tasks/proto/ckptdir.h). */
#ifndef TASKS_PROTO_HELD_H
#define TASKS_PROTO_HELD_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_file;

/* Makes the file of a stream that is being opened, in the directory of the records, which exists. NULL on failure. */
struct held_file *held_create(const char *records, int64_t ensemble, int64_t attempt, uint64_t session,
                              int64_t generation, struct error *err);

/* Notes how far the stream has come. The frames of samples are numbered from 1 in the order in which they are sent.
 * Those up to `begun` have been sent or are about to be. Those up to `held` are acknowledged, and belong to samples
 * whose fields are all acknowledged. */
void held_note(struct held_file *file, uint64_t begun, uint64_t held);
void held_flush(const struct held_file *file);

/* Notes that the stream goes on to the ranks of another generation, which keep what is held so far. */
void held_move(struct held_file *file, int64_t generation);

/* Closes the file: the last note is final. NULL is allowed. */
void held_destroy(struct held_file *file);

/* Records that this attempt has found steps missing. */
void held_begin_afresh(const char *records, int64_t ensemble, int64_t attempt);

/* The content of one such file. */
struct held_stream {
    int64_t ensemble, attempt, generation;
    uint64_t session, begun, held;
    /* `begun` is as high as it was when the file was read: the file was written on this host, or is final */
    bool certain;
};

/* The latest attempt that found steps missing when it ended: no attempt goes on from its checkpoints, or from earlier
 * ones. attempt 0: none. */
struct held_afresh {
    int64_t ensemble, attempt;
};

struct held_list {
    struct held_stream *items;
    size_t n;
    struct held_afresh afresh;
};

/* Adds the file of this name to the list, if it is an account and can be read. -1 if there is no memory. */
int held_read(const char *records, const char *name, struct held_list *list, struct error *err);
void held_free(struct held_list *list);
void held_remove(const char *records, const struct held_stream *stream);

/* Sets *sent to how much the streams of an attempt had sent, for the record of a checkpoint. It is an object of `begun`
 * by session, or NULL if there is no stream. Returns false if one of them is not certain, or there is no memory. */
bool held_sent(const struct held_list *list, int64_t ensemble, int64_t attempt, json_t **sent);

/* Returns whether a checkpoint of that attempt may be offered, if its streams had sent so much when it was recorded.
 * The frames that were sent before it must be held, and so must the first sample after it, if there is one. A program
 * may leave a checkpoint shortly before it sends the step that the checkpoint covers. With generation 0, any ranks may
 * hold them; otherwise those of that generation or a later one. */
bool held_covers(const struct held_list *list, int64_t ensemble, int64_t attempt, const json_t *sent,
                 int64_t generation);
#endif
