/* The object: a training in memory. Its life is in training_life.c. */
#include "daemon/engine/memory/training.h"

#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training_event.h"

#include <stdlib.h>

static void training_forget_hosts(struct training *training)
{
    free(training->hosts.of);
    training->hosts = (struct rank_hosts){0};
}

void training_note_host(struct training *training, int64_t rank, const char *host)
{
    struct rank_hosts *hosts = &training->hosts;

    if (hosts->generation != training->row.generation) {
        training_forget_hosts(training);
        hosts->generation = training->row.generation;
        hosts->n = training->row.ranks;
        hosts->of = xcalloc((size_t)hosts->n, sizeof *hosts->of);
    }
    stretto_assert(hosts->generation == training->row.generation);
    if (rank < hosts->n && host != NULL)
        text_copy(hosts->of[rank].name, sizeof hosts->of[rank].name, host);
}

void training_free(struct engine *engine, struct training *training)
{
    if (training == NULL)
        return;
    alarm_set(engine, &training->look, INT64_MAX);
    alarm_set(engine, &training->reception_retry, INT64_MAX);
    alarm_set(engine, &training->reclaim, INT64_MAX);
    training_forget_hosts(training);
    free(training);
}

struct message {
    struct ticket *ticket;
    int64_t generation;
};

struct message *message_new(struct engine *engine, const struct live_ensemble *ens)
{
    struct message *message = xcalloc(1, sizeof *message);

    stretto_assert(ens->training != NULL);
    message->ticket = ticket_new(engine, ens->row.id);
    message->generation = ens->training->row.generation;
    return message;
}

struct live_ensemble *message_redeem(struct message *message, struct engine **engine)
{
    int64_t id, generation = message->generation;
    struct live_ensemble *ens;

    *engine = ticket_redeem(message->ticket, &id);
    free(message);
    ens = *engine ? engine_find_ensemble(*engine, id) : NULL;
    return ens != NULL && ens->training->row.generation == generation ? ens : NULL;
}

void training_read_later(struct engine *engine, struct live_ensemble *ens)
{
    training_event(ens->training, LIFE_READ);
    alarm_set(engine, &ens->training->look, engine_now(engine) + FILE_RETRY_MS);
}

int64_t engine_training_retries_left(struct engine *engine, int64_t id)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);
    int64_t left;

    if (ens == NULL || ens->training == NULL || training_is_over(&ens->training->row))
        return -1;
    left = ens->spec->training_retries - ens->training->row.failures;
    return left > 0 ? left : 0;
}

int engine_each_training(const struct engine *engine, int (*each)(void *arg, const struct training_row *row), void *arg)
{
    int rc = 0;

    for (const struct live_ensemble *ens = engine->ensembles; ens != NULL && rc == 0; ens = ens->hh.next)
        if (ens->training != NULL && training_is_under_way(&ens->training->row))
            rc = each(arg, &ens->training->row);
    return rc;
}
