/* The samples that the ranks of one generation hand over to the next when they end as planned, in buffer-rankR.bin
 * (docs/run-directory.md):
 *
 * - samples that were acknowledged and never drawn
 * - the parts of samples that still lack fields
 * - drawn samples that a Reservoir would have drawn again
 *
 * So nobody has to send them again, although the memory of the old ranks is gone. */
#ifndef TASKS_TRAIN_HANDOVER_H
#define TASKS_TRAIN_HANDOVER_H
#include "common/error.h"
#include "tasks/train/sample.h"

#include <stdint.h>

/* A sample, or a part of one that the stream `session` of that attempt was sending; session and attempt are 0 for a
 * whole sample. */
struct handover_item {
    struct sample *sample;
    uint64_t session;
    uint32_t attempt;
    bool drawn; /* a whole sample that was drawn, and may be drawn again */
};

struct handover;

/* Begins to write the file, in place of one that is there. NULL with err. */
struct handover *handover_create(const char *path, const struct field_set *fields, struct error *err);

/* Adds an item; the sample stays the caller's. A failure is reported by handover_finish(). */
void handover_add(struct handover *h, const struct handover_item *item);

/* Flushes and closes the file. Returns how many items it has; -1 with err. Frees the handover. */
int64_t handover_finish(struct handover *h, struct error *err);

/* Opens the file for reading, in a thread that also closes it, since threads may have descriptors of their own; `store`
 * makes the samples. NULL with err; errno ENOENT if there is none. */
struct handover *handover_open(const char *path, const struct field_set *fields, struct sample_store *store,
                               struct error *err);

/* Reads the next item, whose sample has one reference, the caller's. Returns 1; 0 at the end; -1 with err if the
 * file is damaged, or there is no memory. */
int handover_next(struct handover *h, struct handover_item *item, struct error *err);

void handover_close(struct handover *h); /* one that was opened for reading; NULL is allowed */
#endif
