/* The configuration of a rank: its environment and training.json (docs/run-directory.md). */
#ifndef TASKS_TRAIN_CONFIG_H
#define TASKS_TRAIN_CONFIG_H
#include "common/error.h"
#include "tasks/proto/dealing.h"
#include "tasks/proto/fields.h"
#include "tasks/train/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct train_config {
    char *dir; /* STRETTO_TRAINING_DIR */
    int rank, ranks;
    struct dealing *dealing; /* of steps to the ranks */
    json_t *json;            /* training.json, which owns the strings below */
    uint64_t ensemble;
    uint32_t generation;
    int restart;    /* how often the runner has restarted the processes of this generation */
    uint64_t count; /* members of the ensemble */
    uint64_t steps; /* steps that each of them sends; 0: not known */
    const char *job;
    const char *control; /* path of the control socket, or NULL */
    const char *stream;
    bool network;          /* members may run on other hosts */
    const char *interface; /* the interface to which these members stream; NULL: any */
    uint64_t key;
    struct field_set fields;
    uint64_t sample_bytes; /* of all fields; the maximum, if some vary */
    bool varies;           /* some fields vary */
    int parameters;
    const char **parameter;
    struct buffer_config buffer;
    struct {
        const char *dir;             /* of all checkpoints of this training; NULL: the spec asks for none */
        int64_t every_ms, before_ms; /* 0: not given */
        int64_t keep;
        int64_t retain;     /* drawn samples to be kept in memory until a checkpoint has them; -1: the usual number */
        const char *resume; /* the name of the one to go on from, or NULL */
        int64_t resume_step;
        char *newest; /* owns `resume` after a restart */
        struct {
            const char *dir,
                *name; /* where another ensemble's checkpoint lies that the training starts from; NULL: it does not */
        } from;
    } checkpoint;
};

/* Reads the configuration. On failure nothing is to be freed. A program that was not started by stretto gets the code
 * "not_under_stretto". */
int train_config_read(struct train_config *config, struct error *err);
void train_config_fini(struct train_config *config);
#endif
