#include "daemon/engine/trainings/training_end.h"

#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/trainings/early.h"
#include "daemon/engine/trainings/renew.h"
#include "daemon/store/generation.h"
#include "daemon/store/member.h"
#include "daemon/store/training_checkpoint.h"
#include "tasks/proto/attempt_end.h"

#include <stdio.h>
#include <string.h>

void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *out)
{
    struct training *training = job->ensemble->training;
    bool killed = out->how == ATTEMPT_KILLED;

    log_change(LOG_LEVEL_INFO, LOG_TRAINING(training->row.ensemble, training->row.id),
               "training %lld rank %lld (job %s) %s%s%s", (long long)training->row.id, (long long)slot->index,
               job->row.name, attempt_outcome_name(out->outcome), out->reason[0] ? ": " : "", out->reason);
    if (out->outcome == ATTEMPT_SUCCEEDED)
        return;
    /* the others of a rank that was killed fail for want of it, maybe in the same moment */
    if (training->failed_as == ATTEMPT_OPEN || (killed && !training->killed) ||
        (killed == training->killed && out->ended_ms < training->failed_ms)) {
        training->failed_ms = out->ended_ms;
        training->failed_as = out->outcome;
        training->killed = killed;
        training->ran = out->started_ms != 0 && out->how != ATTEMPT_UNSTARTED;
        snprintf(training->failure, sizeof training->failure, "rank %lld %s: %.400s", (long long)slot->index,
                 attempt_outcome_name(out->outcome), out->reason);
    }
}

/* Returns whether the generation has left a checkpoint that is further than `from`. */
static bool got_further(const struct training_row *row, const struct training_checkpoint_row *newest,
                        const struct learnt *from)
{
    struct learnt now = {newest->step, newest->batches, newest->drawn};

    return newest->generation == row->generation && learnt_more(&now, from);
}

/* Returns how the generation ended. */
static enum generation_end judge_generation(const struct training *training, enum rank_state ranks,
                                            const struct training_checkpoint_row *newest)
{
    bool time_was_over = ranks == RANK_UNFINISHED || training->failed_as == ATTEMPT_TIMEOUT;
    struct learnt from = training_began_with(&training->row);

    if (training->failed_as == ATTEMPT_OPEN && ranks == RANK_DONE)
        return GENERATION_DONE;
    if (!time_was_over)
        return training->killed || training->failed_as == ATTEMPT_LOST || training->failed_as == ATTEMPT_CANCELLED
                   ? GENERATION_LOST
                   : GENERATION_FAILED;
    if (training->failed_as == ATTEMPT_OPEN &&
        training->row.wanted > 0) /* it was asked to end, however far it had got */
        return GENERATION_OUT_OF_TIME;
    return got_further(&training->row, newest, &from) ? GENERATION_OUT_OF_TIME : GENERATION_STUCK;
}

/* Writes why the training is not done; "" if it is. `may_end`: its members have ended, or it says that it needs no more
 * of them. */
static void explain_training_end(const struct live_ensemble *ens, enum generation_end end, bool may_end, char *out,
                                 size_t size)
{
    const struct training *training = ens->training;
    const char *from = training->row.resumed.name;
    size_t len;

    if (end == GENERATION_DONE) {
        snprintf(out, size, "%s", may_end ? "" : "it ended before its members had");
        return;
    }
    if (training->failed_as != ATTEMPT_OPEN)
        snprintf(out, size, "%s", training->failure);
    else if (end == GENERATION_FAILED)
        snprintf(out, size, "%s", "a rank exited without saying that it was done: no done record");
    else
        snprintf(out, size, "its ranks ended because %s%s",
                 training->row.wanted > 0 ? "another number of them was asked for " : "their time was nearly over",
                 training->row.wanted > 0 ? training->row.wanted_by : "");
    len = strlen(out);
    if (end == GENERATION_STUCK && ens->spec->training_checkpoint.any)
        snprintf(out + len, size - len, "; it had left no checkpoint%s%s",
                 from[0] != '\0' ? " that is further than " : "", from);
}

static int read_newest_checkpoint(struct engine *engine, const struct training_row *row,
                                  struct training_checkpoint_row *newest, struct error *err)
{
    *newest = (struct training_checkpoint_row){.number = 0};
    return store_training_checkpoint_newest(engine->store, row->id, newest, err) < 0 ? -1 : 0;
}

void training_conclude(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    struct training_checkpoint_row newest;
    int64_t tally[MEMBER_STATE_COUNT];
    enum generation_end end;
    char reason[700] = "";
    struct rank_row sum;
    struct error err;

    if (training_is_over(&training->row))
        return;
    if (store_rank_sum(engine->store, &training->row, &sum, &err) < 0 ||
        store_tally_get(engine->store, ens->row.id, tally, &err) < 0 ||
        read_newest_checkpoint(engine, &training->row, &newest, &err) < 0) {
        store_doom(engine->store, &err); /* since nothing else would make the engine conclude the training again */
        return;
    }
    end = judge_generation(training, sum.state, &newest);
    explain_training_end(ens, end, training->state.need == NEED_NONE || ensemble_all_final(&ens->row, tally), reason,
                         sizeof reason);
    if (renew_count_end(ens, end, sum.state >= RANK_READY, got_further(&training->row, &newest, &training->began))) {
        renew_training(engine, ens, end, &newest, sum.unique, reason);
        return;
    }
    if (end == GENERATION_LOST && training->row.losses > 0)
        snprintf(reason + strlen(reason), sizeof reason - strlen(reason),
                 "; its ranks were ended from outside %lld times in a row without a newer checkpoint",
                 (long long)training->row.losses);
    training_event(training, reason[0] == '\0'                ? LIFE_DONE
                             : ensemble_is_stopped(&ens->row) ? LIFE_CANCELLED
                                                              : LIFE_FAILED);
    training->row.failures +=
        training->row.state == TRAINING_FAILED && end != GENERATION_FAILED && end != GENERATION_LOST;
    training->row.ended_ms = engine_now(engine);
    if (reason[0] != '\0') /* missing steps are to be expected in a training that has failed */
        training->row.missing[0] = '\0';
    snprintf(training->row.reason, sizeof training->row.reason, "%.500s", reason);
    training->row.early = false;
    if (training->row.state == TRAINING_DONE && early_is_end(ens, tally, &sum))
        early_end(engine, ens, ensemble_all_final(&ens->row, tally));
    store_training_update(engine->store, &training->row, &err);
    engine_event(engine, "training.ended", ens->row.id, -1,
                 json_pack("{s:s, s:s, s:b}", "state", training_state_name(training->row.state), "reason", reason,
                           "early", (int)training->row.early));
    if (training->row.state == TRAINING_FAILED) {
        char whole[700];

        snprintf(whole, sizeof whole, "the training failed: %.600s", reason);
        fact_to_stop(engine, ens->row.id, whole);
    }
    engine_touch(engine, ens);
}

void training_job_ended(struct engine *engine, struct live_ensemble *ens)
{
    stretto_assert(ens->training->state.stage == STAGE_ALL_READ);
    ens->training->job = NULL;
    training_conclude(engine, ens);
    engine_touch_all(engine, ens->training->adapter);
}
