/* The records of the checkpoints in a member's checkpoint directory: one for each checkpoint that was complete once, in
 * a file of the directory itself (`.stretto/NUMBER.json`). So runner, library and daemon read the same records, even if
 * one of them has died meanwhile.
 *
 * A record is written after its checkpoint and never changed. It has the file's size and digest: a file that no longer
 * fits is not used, and the one before it is. Numbers grow; the record with the highest number is the newest.
 *
 * A record of an attempt that streams also reports how much had been sent when it was made. It counts once the ranks
 * hold that (tasks/proto/held.h): an attempt that went on from it earlier would leave steps out. */
#ifndef TASKS_PROTO_CKPTDIR_H
#define TASKS_PROTO_CKPTDIR_H
#include "common/error.h"
#include "tasks/proto/held.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define CKPT_DIGEST_SIZE 17 /* XXH3-64 as 16 hex digits */

struct ckpt {
    int64_t number;
    char *path;   /* relative to the directory; from malloc */
    int64_t step; /* -1: not known */
    /* the program reported it, through the library; otherwise it was found, and its step is the number in its name */
    bool reported;
    int64_t size;
    char digest[CKPT_DIGEST_SIZE];
    double time;               /* Unix seconds when it was recorded */
    int64_t ensemble, attempt; /* the attempt that made it */
    int64_t mtime_ns, inode;   /* of the file then: while they are the same, nobody need read it again */
    json_t *sent;              /* how much its attempt's streams had sent by then (held_sent()); NULL: it had none */
};

struct ckpt_list {
    struct ckpt *items; /* the oldest first */
    size_t n;
    struct held_list streams; /* of all attempts */
};

/* Selects the checkpoints that count for a member.
 *
 * - `since` is 0: all of them.
 * - The member was told to start afresh: those of that ensemble's attempts from `since` on, and of later ensembles,
 *   which follow it and have higher numbers.
 *
 * A checkpoint that was made while samples were sent counts only if ranks hold the samples: those of that generation,
 * or of a later one to which the stream went on. Generation 0: ranks of any. */
struct ckpt_chain {
    int64_t ensemble, since, generation;
};
bool ckpt_counts(const struct ckpt_chain *chain, int64_t ensemble, int64_t attempt);

void ckpt_fini(struct ckpt *ckpt);
void ckptdir_free(struct ckpt_list *list);

/* The directory of the records: its path, to be freed, and a function that makes it. */
char *ckptdir_records(const char *dir);
int ckptdir_make(const char *dir, struct error *err);

/* Reads every record that can be read; none if there is no directory. */
int ckptdir_read(const char *dir, struct ckpt_list *list, struct error *err);

/* From now on, no large file is read to its end by this thread once `stopped` returns true: that fails with ECANCELED.
 * NULL: all are. */
void ckptdir_heed(bool (*stopped)(const void *arg), const void *arg);

/* Reads the file, and sets its size, digest, mtime and inode. errno ENOENT if there is none; EBUSY if it changed
 * meanwhile, or is no regular file. */
int ckpt_measure(const char *dir, struct ckpt *ckpt, struct error *err);

/* Records the checkpoint; fills in its number, time and `sent`, and makes the directory `.stretto`. Fails if a
 * stream of its attempt is open on another host: it cannot be told from here how much that has sent. */
int ckptdir_add(const char *dir, struct ckpt *ckpt, struct error *err);

int64_t ckpt_mtime_ns(const struct stat *st);

/* Returns the newest of the chain whose content fits and whose samples are held, NULL if there is none; borrowed
 * from the list. */
const struct ckpt *ckptdir_newest(const char *dir, const struct ckpt_list *list, const struct ckpt_chain *chain);

/* Removes files and records except the `keep` newest that fit and whose samples are held, and those that are newer than
 * these. It removes only files that are still as they were recorded; the record of one that is not stays, so that it is
 * never taken for a new one. The list is not changed. */
void ckptdir_retain(const char *dir, const struct ckpt_list *list, int64_t keep, const struct ckpt_chain *chain);

/* Returns the form of records and replies: number, path, step (or null), reported, size, digest, time, ensemble,
 * attempt. A new reference. */
json_t *ckpt_json(const struct ckpt *ckpt);
/* Reads such an object; false if it is not valid. Its path is copied. */
bool ckpt_parse(const json_t *json, struct ckpt *ckpt);

/* Returns an array of the chain's checkpoints that fit and whose samples are held, the newest first. */
json_t *ckptdir_json(const char *dir, const struct ckpt_chain *chain, struct error *err);

#endif
