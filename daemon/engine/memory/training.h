/* A training in memory. */
#ifndef DAEMON_ENGINE_MEMORY_TRAINING_H
#define DAEMON_ENGINE_MEMORY_TRAINING_H
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/memory/waits.h"
#include "daemon/store/attempt.h"

#include <stdbool.h>
#include <stdint.h>

#define TRAINING_POLL_MS 1000 /* between looks at the ranks' files if no message says there is news */

/* On which hosts the ranks of a generation can be reached; "" if a rank has not said it yet. */
struct rank_hosts {
    int64_t generation, n;
    struct {
        char name[256];
    } * of;
};

struct training {
    struct training_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter; /* NULL if the training is over and its adapter is not here */
    struct live_job *job;          /* NULL if none is under way */
    /* jobs of members above this id send to the current generation, or to one whose samples it keeps; INT64_MAX if
     * there is none yet */
    int64_t made_for_it;
    struct training_states state;   /* changed by training_event() alone, and so is row.state */
    enum attempt_outcome failed_as; /* the outcome of the rank that failed first; ATTEMPT_OPEN if none has */
    bool killed;                    /* that one was killed from outside */
    bool ran;                       /* and it had started */
    char failure[512];              /* its reason */
    int64_t failed_ms;              /* when it failed; ranks that were ended because of it come after it */
    struct alarm look;
    struct learnt began; /* how far the ranks were when they last began, in this generation's job */
    struct rank_hosts hosts;
    struct waits waits;
    struct waits_uneven uneven;
    double status_time; /* the sum of the times at which the ranks last reported their status */
    int64_t heard_ms;   /* when that sum last changed; 0 if the ranks have not reported yet */
    struct alarm reception_retry;
    struct alarm reclaim; /* looks whether the generation waits for places that its members hold (reclaim.h) */
};

/* Notes where a rank says that it can be reached; NULL: it does not say it yet. */
void training_note_host(struct training *training, int64_t rank, const char *host);
void training_free(struct engine *engine, struct training *training);
/* A message to one generation of the ranks, while its file is being written. */
struct message *message_new(struct engine *engine, const struct live_ensemble *ens);
/* Frees the message. Returns its ensemble, or NULL if that generation of the ranks is gone. */
struct live_ensemble *message_redeem(struct message *message, struct engine **engine);
/* Ends the reading of the ranks' files after a failure, and begins it again later. */
void training_read_later(struct engine *engine, struct live_ensemble *ens);

#endif
