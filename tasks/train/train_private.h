/* A rank's part of the stream, which train.c (from opening to closing it, and batches) and train_checkpoint.c share. No
 * other file includes this. */
#ifndef TASKS_TRAIN_TRAIN_PRIVATE_H
#define TASKS_TRAIN_TRAIN_PRIVATE_H
#include "tasks/train/config.h"
#include "tasks/train/drawn.h"
#include "tasks/train/kept.h"
#include "tasks/train/pool.h"
#include "tasks/train/receiver.h"
#include "tasks/train/report.h"
#include "tasks/train/resume.h"
#include "tasks/train/saver.h"

#include <stdbool.h>

struct stretto_train {
    struct error err;
    struct train_config config;
    struct kept *kept; /* NULL if samples end with the process */
    struct sample_store *store;
    struct pool *pool;
    struct copies *copies;
    struct receiver *receiver;
    struct reception *reception;
    struct report *report;
    struct saver *saver; /* this and `drawn` are NULL if no checkpoints are saved */
    struct drawn *drawn;
    struct resume resume; /* what it goes on from */
    bool learning;        /* the program has got a batch, and more may come */
    bool unfinished;      /* the last checkpoint before the end of the time is saved */
    bool early;           /* it is done, and needs no more samples, although more may come */
};

#endif
