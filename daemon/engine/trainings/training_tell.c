#include "daemon/engine/trainings/training_tell.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"

static void reception_written(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_ensemble *ens = message_redeem(arg, &engine);

    if (ens == NULL)
        return;
    training_event(ens->training, failed == NULL ? LIFE_TOLD : LIFE_NOT_TOLD);
    if (failed == NULL)
        return;
    log_warn_of(LOG_ENSEMBLE(ens->row.id), "ensemble %lld: the end of reception cannot be told yet: %s",
                (long long)ens->row.id, failed->text);
    alarm_set(engine, &ens->training->reception_retry, engine_now(engine) + FILE_RETRY_MS);
}

/* Tells the ranks that no more samples come, once that is committed, because it cannot be taken back later. */
static void members_over_committed(void *arg, const struct error *failed)
{
    int64_t id, tally[MEMBER_STATE_COUNT];
    struct engine *engine;
    struct live_ensemble *ens = message_redeem(arg, &engine);
    struct rundir_file *file;
    struct error err;

    if (ens == NULL || failed != NULL)
        return;
    id = ens->row.id;
    if (store_tally_get(engine->store, id, tally, &err) < 0) {
        reception_written(message_new(engine, ens), &err);
        return;
    }
    file = xcalloc(1, sizeof *file);
    file->path = xasprintf("%s/e%lld/training/g%lld/reception.json", engine->ports.run_dir, (long long)id,
                           (long long)ens->training->row.generation);
    file->json = xasprintf(
        "{\"version\":1,\"over\":true%s,\"succeeded\":%lld,\"other\":%lld}\n",
        ens->training->state.need == NEED_NONE && !ensemble_all_final(&ens->row, tally) ? ",\"early\":true" : "",
        (long long)tally[MEMBER_SUCCEEDED], (long long)(ens->row.count - tally[MEMBER_SUCCEEDED]));
    file->mode = 0600;
    engine->ports.rundir_ops->write(engine->ports.rundir, NULL, 0, file, 1, reception_written,
                                    message_new(engine, ens));
}

/* Tells the ranks that no more samples will come: all members are final, or one of the ranks needs no more. It is done
 * again after a restart, which is harmless. */
void training_members_over(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;

    if (!training_is_to_be_told(training))
        return;
    alarm_set(engine, &training->reception_retry, INT64_MAX);
    training_event(training, LIFE_TELLING);
    turn_after_commit(engine->turn, members_over_committed, message_new(engine, ens));
}

static void training_end_asked(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_ensemble *ens = message_redeem(arg, &engine);

    if (ens == NULL)
        return;
    training_event(ens->training,
                   failed == NULL ? LIFE_ASKED : LIFE_NOT_ASKED); /* it is tried again with the next look */
    if (failed != NULL)
        log_warn_of(LOG_ENSEMBLE(ens->row.id), "ensemble %lld: its ranks cannot be asked to end yet: %s",
                    (long long)ens->row.id, failed->text);
}

void training_ask_to_end(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    struct rundir_file *file;

    if (!training_is_to_be_asked(training))
        return;
    training_event(training, LIFE_ASKING);
    file = xcalloc(1, sizeof *file);
    file->path = xasprintf("%s/e%lld/training/g%lld/last.json", engine->ports.run_dir, (long long)ens->row.id,
                           (long long)training->row.generation);
    file->json = xasprintf("{\"version\":1,\"ranks\":%lld}\n", (long long)training->row.wanted);
    file->mode = 0600;
    engine->ports.rundir_ops->write(engine->ports.rundir, NULL, 0, file, 1, training_end_asked,
                                    message_new(engine, ens));
}
