/* Facts: news that a file learns, and from which others further up draw conclusions. The file posts a fact, and
 * engine_settle() hands that to its one owner (settle.c) in the same turn, before the next job takes a step. A fact
 * carries copies, so that it stays true until then. */
#ifndef DAEMON_ENGINE_MEMORY_FACTS_H
#define DAEMON_ENGINE_MEMORY_FACTS_H
#include "tasks/proto/attempt_end.h"
#include "daemon/engine/memory/waits.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"

#include <stddef.h>
#include <stdint.h>

struct engine;
struct live_job;
struct slot;

enum fact_kind {
    FACT_ATTEMPT_ENDED, /* of a slot of a job: its member, or its training, has to go on from there */
    FACT_POINT,         /* of the metric by which members are stopped early, of a slot of a job; it is stored */
    FACT_MEMBER_ENDED,  /* an attempt of the member has ended, and the member's new state is stored */
    FACT_JOB_OVER,      /* the job of a training, which is held until all is read that its ranks wrote */
    FACT_JOB_ENDED,     /* it is not held any more, and its row has ended */
    FACT_LIST_TAKEN,    /* the checkpoints of a training that its ranks list are stored */
    FACT_STEPS_COUNTED, /* the missing steps of a training */
    FACT_RANKS_WAITED,  /* the ranks of a training have reported how long they waited */
    FACT_TO_STOP        /* an ensemble is to end, and has failed for the reason */
};

struct fact {
    enum fact_kind kind;
    int64_t ensemble, job; /* ids */
    size_t slot;           /* of that job */
    union {
        struct attempt_end attempt;
        struct {
            struct series_point point;
            double best; /* the best value of the series up to this point */
        } metric;
        struct {
            struct member_row row;
            enum attempt_outcome outcome;
            char reason[512];
        } member;
        struct {
            struct waits_sum sum;
            struct rank_draws draws;
        } waited;
        char reason[700];
    } of;
    struct fact *prev, *next;
};

/* Returns a new fact, which is posted: the caller fills in the fields of its kind. */
struct fact *fact_post(struct engine *engine, enum fact_kind kind, int64_t ensemble, int64_t job);
void fact_attempt_ended(struct engine *engine, const struct live_job *job, const struct slot *slot,
                        const struct attempt_end *end);
void fact_to_stop(struct engine *engine, int64_t ensemble, const char *reason);
/* Takes the oldest fact from the queue; NULL if there is none. */
struct fact *fact_take(struct engine *engine);
void fact_free(struct fact *fact);

#endif
