/* The list of a training's whole checkpoints, checkpoints.json, and the parts of which each consists: rankR.json for
 * each rank, written after all other files of that rank (docs/run-directory.md). Rank 0 alone writes the list. */
#ifndef TASKS_TRAIN_SAVED_H
#define TASKS_TRAIN_SAVED_H
#include "tasks/train/config.h"
#include "tasks/train/state.h"

#include <stdbool.h>
#include <stdint.h>

/* One rank's part of a checkpoint. */
struct saved_part {
    int ranks;
    int64_t step;
    uint64_t batches, drawn, whole;
    double time; /* Unix time at which its samples were noted */
    bool last;   /* the rank ended with it, and handed over what it held (handover.h) */
    bool state;  /* this rank has saved something */
    int64_t size;
    char digest[STATE_DIGEST_SIZE];
};

/* Returns the path of the checkpoint's directory, or of a file in it; to be freed, NULL if there is no memory. */
char *saved_path(const struct train_config *config, const char *name, const char *file);

int saved_part_write(const struct train_config *config, const char *name, const struct saved_part *part,
                     struct error *err);
/* errno is ENOENT if that rank has written none. */
int saved_part_read(const struct train_config *config, const char *name, int rank, struct saved_part *part,
                    struct error *err);

/* Returns whether the parts of all ranks are there. */
bool saved_is_written(const struct train_config *config, const char *name);

/* Adds the checkpoint to the list, if the parts of all ranks are there, and removes those that fall out of it, with
 * what earlier generations left unfinished. Returns 1; 0 if parts are missing; -1. */
int saved_add(const struct train_config *config, const char *name, struct error *err);

/* Returns the name of the newest in the list that is of this generation, and sets its step; "" if there is none,
 * NULL with err. To be freed. */
char *saved_newest(const struct train_config *config, int64_t *step, struct error *err);

/* Returns whether the list has it. */
bool saved_is_whole(const struct train_config *config, const char *name);

/* Returns whether a name is that of a checkpoint that is older: of an earlier generation, an earlier process of the
 * same rank in it, or of an earlier step. */
bool saved_is_older(const char *name, const char *than);

/* Takes a damaged checkpoint out of the list. Its files stay. */
int saved_drop(const struct train_config *config, const char *name, struct error *err);
#endif
