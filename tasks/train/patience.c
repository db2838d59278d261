#include "tasks/train/patience.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <unistd.h>

/* So often the program is seen to wait for samples, so that it was asked to save a checkpoint, if it can be. */
#define STARVED_LOOKS 3
/* A program that saves when a checkpoint is due has begun to after so many batches and two full buffers. */
#define BATCHES 100

struct patience {
    const struct train_config *config;
    bool waiting;            /* the following were set, since nobody saves */
    uint64_t batches, saves; /* by then */
    bool written;
    int starved;   /* looks in a row */
    double time[]; /* of each rank's report by then; -1: none was read yet */
};

struct patience *patience_create(const struct train_config *config)
{
    struct patience *p = calloc(1, sizeof *p + (size_t)config->ranks * sizeof *p->time);

    if (p != NULL)
        p->config = config;
    return p;
}

void patience_destroy(struct patience *p)
{
    free(p);
}

void patience_rest(struct patience *p)
{
    p->waiting = false;
}

static void begin_waiting(struct patience *p, const struct patience_own *own)
{
    p->waiting = true;
    p->batches = own->batches;
    p->saves = own->saves;
    p->written = own->written;
    p->starved = 0;
    for (int rank = 0; rank < p->config->ranks; rank++)
        p->time[rank] = -1;
}

/* The summary of the other ranks' reports. A report counts only if it was written since nobody saves. */
enum others { OTHERS_SAVE, OTHERS_UNKNOWN, OTHERS_GO_ON, OTHERS_STARVE };

static enum others judge_others(struct patience *p, const struct patience_other *others)
{
    enum others all = OTHERS_GO_ON;
    bool unknown = false;

    for (int rank = 0; rank < p->config->ranks; rank++) {
        const struct patience_other *other = &others[rank];

        if (rank == p->config->rank)
            continue;
        if (other->done) {
            all = OTHERS_STARVE;
            continue;
        }
        if (other->saving)
            return OTHERS_SAVE;
        if (p->time[rank] < 0)
            p->time[rank] = other->time;
        if (other->time <= p->time[rank])
            unknown = true;
        else if (other->starved)
            all = OTHERS_STARVE;
    }
    return unknown ? OTHERS_UNKNOWN : all;
}

const char *patience_look(struct patience *p, const struct patience_own *own, const struct patience_other *others)
{
    const struct buffer_config *buffer = &p->config->buffer;
    bool alone = p->config->ranks == 1;
    enum others rest;

    if (own->saving)
        p->waiting = false;
    else if (!p->waiting || own->saves != p->saves || own->written != p->written)
        begin_waiting(p, own);
    if (!p->waiting)
        return NULL;
    p->starved = own->starved ? p->starved + 1 : 0;
    if (!alone && others == NULL)
        return NULL;
    rest = alone ? OTHERS_GO_ON : judge_others(p, others);
    if (rest == OTHERS_SAVE) {
        p->waiting = false;
        return NULL;
    }
    if (own->batches - p->batches > BATCHES + 2 * buffer->capacity / buffer->batch)
        return "the program learns on and saves no checkpoint";
    if (rest == OTHERS_UNKNOWN)
        return NULL;
    if (p->starved >= STARVED_LOOKS)
        return "the program waits for samples and saves no checkpoint";
    if (rest == OTHERS_STARVE)
        return "another rank has ended, or waits for samples and saves no checkpoint";
    return !alone && own->pending ? "another rank does not save its part of the last checkpoint" : NULL;
}

static void read_other_rank(const struct train_config *config, int rank, struct patience_other *other)
{
    char *status = alloc_printf("%s/status-rank%d.json", config->dir, rank);
    char *done = alloc_printf("%s/done-rank%d.json", config->dir, rank);
    struct error ignored;
    json_t *json = status != NULL ? file_read_json(status, &ignored) : NULL;

    *other = (struct patience_other){
        .time = json_number_value(json_object_get(json, "time")),
        .saving = json_is_true(json_object_get(json, "saving")),
        .starved = json_is_true(json_object_get(json, "starved")),
        .done = done != NULL && access(done, F_OK) == 0,
    };
    json_decref(json);
    free(status);
    free(done);
}

void patience_read(const struct train_config *config, struct patience_other *others)
{
    for (int rank = 0; rank < config->ranks; rank++)
        if (rank != config->rank)
            read_other_rank(config, rank, &others[rank]);
}
