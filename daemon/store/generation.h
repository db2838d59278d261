/* The generations of a training's ranks: when each began, and how and why it ended. Triggers of the schema write
 * them. */
#ifndef DAEMON_STORE_GENERATION_H
#define DAEMON_STORE_GENERATION_H
#include "daemon/store/training.h"

struct generation_row {
    int64_t number, ranks;
    int64_t started_ms; /* when all of its ranks could be reached; 0 if they never could */
    int64_t ended_ms;   /* 0 while it is the current one and the training is not over */
    char end[16];       /* "done", "failed", "lost", "cancelled", "resized" or "out_of_time"; "" if it has not ended */
    char reason[512];
    char resumed[64]; /* the checkpoint that it went on from; "" if it began at the start */
    int64_t resumed_step;
    int64_t samples_lost;  /* of those that the one before had acknowledged */
    int64_t members_again; /* members that have run again because of that */
};

/* Notes that a generation that is not the current one any more was ended from outside. */
int store_generation_was_lost(struct store *store, int64_t training, int64_t number, struct error *err);

/* Notes how many samples were lost when the one before this one ended. */
int store_generation_lost(struct store *store, int64_t training, int64_t number, int64_t samples, struct error *err);

/* The ranks of a generation have begun again in their job. */
struct restart_row {
    int64_t generation, number; /* number: from 1 on in each generation */
    int64_t time_ms, rank;
    char host[64], reason[512];
    bool cost; /* it cost a retry */
};

/* Adds one. Adding it twice changes nothing. */
int store_restart_add(struct store *store, int64_t training, const struct restart_row *row, struct error *err);

/* Reads at most `limit` of a generation, the newest first. */
int store_restart_each(struct store *store, int64_t training, int64_t generation, int limit,
                       int (*each)(void *arg, const struct restart_row *row), void *arg, struct error *err);

/* Counts a member of that ensemble, whose attempt of that number begins, if the attempt before was in a job below
 * `job`: it was begun for an earlier generation. */
int store_generation_again(struct store *store, const struct training_row *training, int64_t member, int64_t attempt,
                           int64_t job, struct error *err);

/* Reads at most `limit` generations below number `before` (0 for all), the newest first. */
int store_generation_each(struct store *store, int64_t training, int64_t before, int limit,
                          int (*each)(void *arg, const struct generation_row *row), void *arg, struct error *err);
#endif
