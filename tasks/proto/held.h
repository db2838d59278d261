/* How far the samples of a member's stream are held by the ranks: a small file for each stream in `.stretto` of the member's
 * checkpoint directory (docs/run-directory.md). The library keeps it up to date in mapped memory, so that what it says survives
 * the process, however that ends. A checkpoint is offered only if the samples that were sent before it are held
 * (tasks/proto/ckptdir.h). */
#ifndef TASKS_PROTO_HELD_H
#define TASKS_PROTO_HELD_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_file;

/* Make the file of a stream that is being opened, in the directory of the records, which exists. NULL on failure. */
struct held_file *held_create(const char *records, int64_t ensemble, int64_t attempt, uint64_t session, int64_t generation,
                              struct error *err);

/* The frames of samples are numbered from 1 in the order in which they are sent. `begun` of them have been sent or are about to
 * be; all up to `held` are acknowledged, and belong to samples of which every field is. */
void held_note(struct held_file *file, uint64_t begun, uint64_t held);
void held_flush(const struct held_file *file);

/* The stream is closed: what was noted last is final. NULL is taken. */
void held_destroy(struct held_file *file);

/* That attempt has found steps missing. */
void held_begin_afresh(const char *records, int64_t ensemble, int64_t attempt);

/* One such file, as it was read. */
struct held_stream {
    int64_t ensemble, attempt, generation;
    uint64_t session, begun, held;
    bool certain; /* `begun` is as high as it was when the file was read: it was written on this host, or is final */
};

/* The latest attempt that found steps missing when it ended: nothing that it and earlier ones left is gone on from. attempt 0: none. */
struct held_afresh {
    int64_t ensemble, attempt;
};

struct held_list {
    struct held_stream *items;
    size_t n;
    struct held_afresh afresh;
};

/* Where that is the name of such a file, and it says something, it goes into the list. -1 where there is no memory. */
int held_read(const char *records, const char *name, struct held_list *list, struct error *err);
void held_free(struct held_list *list);
void held_remove(const char *records, const struct held_stream *stream);

/* How much the streams of an attempt had sent, for the record of a checkpoint: an object of `begun` by session, or NULL where it
 * has no stream. False where one is not certain, or there is no memory. */
bool held_sent(const struct held_list *list, int64_t ensemble, int64_t attempt, json_t **sent);

/* May a checkpoint of that attempt be offered, if its streams had sent so much when it was recorded? What was sent before it
 * must be held, and so must the first sample behind it, if there is one: a program may leave a checkpoint shortly before it
 * sends the step that the checkpoint covers. generation 0: of any ranks; otherwise by these ranks. */
bool held_covers(const struct held_list *list, int64_t ensemble, int64_t attempt, const json_t *sent, int64_t generation);
#endif
