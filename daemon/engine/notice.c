/* The reason why an ensemble is not going on: one sentence, which the dashboard, `status`, `wait` and
 * /v1/ensembles/{id} all show. It is the first cause that holds. Their order, in which stretto(1) and openapi.yaml list
 * them, too:
 *
 *   1. nothing can go on, whatever else holds: state_not_written, held, paused,
 *      waits_for_ensemble, waits_for_follow_up, waits_for_paused, waits_for_held, ending, adapter_not_here,
 *      not_readable;
 *   2. what it needs is missing: adapter_not_set_up, adapter_silent, no_room;
 *   3. its training does not run: retry, no_slot, not_submitted, queued, training_starts;
 *   4. none of its members runs: not_submitted, queued, waits_for_suggestions, no_slot, retry;
 *   5. all run, and something is slow: training_silent, ranks_uneven, waits_for_room,
 *      waits_for_samples.
 *
 * Somebody has to do something about the causes of 1 and 2; those of 3 and 4 pass, in general. */
#include "daemon/engine/engine.h"

#include "common/timefmt.h"
#include "daemon/engine/ensembles/after.h"
#include "daemon/engine/ensembles/schedule.h"
#include "daemon/engine/ensembles/takers.h"
#include "daemon/engine/jobs/waiting.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/training.h"

#include <stdarg.h>
#include <stdio.h>

#define QUEUED_MS 5000            /* after which a waiting job is reported although nobody says why it waits */
#define TRAINING_SILENT_MIN 15000 /* ranks report every few seconds: a shorter silence of theirs means nothing */

static bool notice_tell(struct engine_notice *out, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool notice_tell(struct engine_notice *out, const char *code, const char *fmt, ...)
{
    va_list args;

    out->code = code;
    va_start(args, fmt);
    vsnprintf(out->text, sizeof out->text, fmt, args);
    va_end(args);
    return true;
}

static bool tell_rest(const struct engine *engine, struct engine_notice *out)
{
    char when[TIMEFMT_SIZE];

    if (!engine->resting)
        return false;
    return notice_tell(out, "state_not_written", "the daemon cannot write its state (%.300s), and tries again at %s",
                       store_last_failure(engine->store), timefmt_iso(when, engine->rest.at + engine->rest.ms));
}

static bool tell_room(struct engine *engine, struct engine_notice *out)
{
    struct error err;

    return store_check_room(engine->store, &err) < 0 && notice_tell(out, "no_room", "%s", err.text);
}

static bool has_trouble(struct engine *engine, struct known_adapter *adapter)
{
    enum engine_adapter_state state = adapter_state(engine, adapter);

    return state == ENGINE_ADAPTER_NOT_SET_UP || state == ENGINE_ADAPTER_SILENT;
}

static bool tell_trouble(struct engine *engine, struct known_adapter *adapter, const char *before,
                         struct engine_notice *out)
{
    char sentence[400];

    if (!has_trouble(engine, adapter))
        return false;
    adapter_describe(engine, adapter, sentence, sizeof sentence);
    return notice_tell(
        out, adapter_state(engine, adapter) == ENGINE_ADAPTER_NOT_SET_UP ? "adapter_not_set_up" : "adapter_silent",
        "%s%s", before, sentence);
}

/* Reports on jobs that may still run although their ensemble is over. */
static bool tell_remains(struct engine *engine, const struct live_ensemble *ens, struct engine_notice *out)
{
    char before[200];

    for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        snprintf(before, sizeof before,
                 "it is not known whether job %s was submitted, and so whether it is over: ", job->row.name);
        if (job->row.state == JOB_INTENT && job->state.sent != SENT_NEVER &&
            tell_trouble(engine, job->adapter, before, out))
            return true;
        snprintf(before, sizeof before, "job %s is still to be cancelled: ", job->row.name);
        if (tell_trouble(engine, job->adapter, before, out))
            return true;
    }
    return false;
}

static bool tell_slots(struct engine *engine, const struct known_adapter *adapter, const char *who,
                       struct engine_notice *out)
{
    int64_t slots = adapter->ops->slots(adapter->adapter);
    char takers[200];

    if (adapter->max_jobs > 0 && adapter->slots.jobs >= adapter->max_jobs &&
        takers_tell(engine, adapter, NULL, TAKERS_OF_JOBS, takers, sizeof takers))
        return notice_tell(out, "no_slot", "%s for one of the %lld jobs that max_jobs lets %s have: %s", who,
                           (long long)adapter->max_jobs, adapter->ops->name, takers);
    if (slots > 0 && takers_tell(engine, adapter, NULL, TAKERS_OF_SLOTS, takers, sizeof takers))
        return notice_tell(out, "no_slot", "%s for free slots on %s, which has %lld: %s", who, adapter->ops->name,
                           (long long)slots, takers);
    return notice_tell(out, "no_slot", "%s for free slots on %s", who, adapter->ops->name);
}

/* Its training is to be submitted, and may not be. */
static bool tell_turn(struct engine *engine, const struct live_ensemble *ens, struct engine_notice *out)
{
    const struct known_adapter *adapter = ens->training->adapter;
    const struct live_ensemble *next = schedule_next_to_train(adapter);
    char takers[200];

    if (next != NULL && next != ens)
        return notice_tell(out, "no_slot",
                           "its training waits for its turn on %s, where that of ensemble %lld is the next",
                           adapter->ops->name, (long long)next->row.id);
    if (ens->adapter != adapter && adapter->slots.cpus == 0 &&
        takers_tell(engine, ens->adapter, NULL, TAKERS_OF_TRAININGS, takers, sizeof takers))
        return notice_tell(out, "no_slot",
                           "its training waits until its members have room on %s beside other trainings: %s",
                           ens->adapter->ops->name, takers);
    return tell_slots(engine, adapter, "its training waits", out);
}

static bool tell_training(struct engine *engine, const struct live_ensemble *ens, struct engine_notice *out)
{
    const struct training *training = ens->training;
    const struct live_job *job = training != NULL ? training->job : NULL;
    const char *words = job != NULL ? job_words(job) : "";
    char when[TIMEFMT_SIZE];

    if (training == NULL || training->row.state >= TRAINING_RUNNING)
        return false;
    if (training->row.state == TRAINING_PENDING && training->row.not_before_ms > engine_now(engine))
        return notice_tell(out, "retry", "its training begins anew at %s: %s",
                           timefmt_iso(when, training->row.not_before_ms), training->row.reason);
    if (training->row.state == TRAINING_PENDING && heap_holds(&ens->slots.to_train))
        return tell_turn(engine, ens, out);
    if (words[0] != '\0' && job->row.state == JOB_INTENT)
        return notice_tell(out, "not_submitted", "its training is not submitted yet: %s", words);
    if (words[0] != '\0')
        return notice_tell(out, "queued", "its training waits in the queue of %s: %s", training->row.adapter, words);
    return training->row.state == TRAINING_SUBMITTED && !ens->spec->members_first &&
           notice_tell(out, "training_starts", "its members wait until its training has started");
}

/* A job that waits in the queue of a batch system which does not say why. */
static bool tell_queue(struct engine *engine, struct live_ensemble *ens, const struct live_job *job,
                       struct engine_notice *out)
{
    char when[TIMEFMT_SIZE], takers[200];

    timefmt_iso(when, job->row.submitted_ms);
    if (ens->adapter->ops->slots(ens->adapter->adapter) > 0 &&
        takers_tell(engine, ens->adapter, ens, TAKERS_OF_SLOTS, takers, sizeof takers))
        return notice_tell(out, "queued", "its jobs wait in the queue of %s since %s: %s", ens->row.adapter, when,
                           takers);
    return notice_tell(out, "queued", "its jobs wait in the queue of %s since %s", ens->row.adapter, when);
}

static bool tell_members(struct engine *engine, struct live_ensemble *ens, struct engine_notice *out)
{
    const struct live_job *job = waiting_job(ens);
    int64_t now = engine_now(engine);
    char text[200];

    if (job != NULL && job->row.state == JOB_INTENT)
        return notice_tell(out, "not_submitted", "its jobs are not submitted yet: %s", job_words(job));
    if (job != NULL && job_words(job)[0] != '\0')
        return notice_tell(out, "queued", "its jobs wait in the queue of %s: %s", ens->row.adapter, job_words(job));
    if (job != NULL && job->row.submitted_ms > 0 && now - job->row.submitted_ms >= QUEUED_MS)
        return tell_queue(engine, ens, job, out);
    if (ens->in_flight > 0)
        return false;
    if (ensemble_takes_suggestions(&ens->row) && ens->due == INT64_MAX)
        return notice_tell(out, "waits_for_suggestions",
                           "it waits for suggestions: %s; when no more are to come, `stretto close %lld` lets it end",
                           ens->row.count > 0 ? "every member that was suggested has ended" : "it has no member yet",
                           (long long)ens->row.id);
    if (heap_holds(&ens->slots.hungry))
        return tell_slots(engine, ens->adapter, "its members wait", out);
    if (ens->allocation == NULL && ensemble_wants(ens, now) && !schedule_fits_beside_trainings(ens) &&
        takers_tell(engine, ens->adapter, NULL, TAKERS_OF_TRAININGS, text, sizeof text))
        return notice_tell(out, "no_slot", "its members wait for room on %s beside the trainings there: %s",
                           ens->row.adapter, text);
    if (heap_holds(&ens->due_alarm.node) && ens->row.next_index >= ens->row.count)
        return notice_tell(out, "retry", "the next attempt of a member that failed is made at %s",
                           timefmt_iso(text, ens->due_alarm.node.key));
    return false;
}

/* Two ranks differ by more samples than the buffer can bridge, and not only for a moment. */
static bool tell_uneven(const struct engine *engine, const struct training *training, struct engine_notice *out)
{
    const struct waits_uneven *uneven = &training->uneven;

    return uneven->since_ms > 0 && engine_now(engine) - uneven->since_ms >= (int64_t)(WAITS_SPAN_S * 1000) &&
           notice_tell(
               out, "ranks_uneven",
               "its rank %d waits for samples while the buffer of rank %d is full: ranks that learn in step wait for "
               "each other in vain; give the training's buffer a larger \"capacity\"",
               uneven->starving, uneven->full);
}

/* Members run, and so does the training: who waits for whom? */
static bool tell_waits(struct engine *engine, const struct live_ensemble *ens, struct engine_notice *out)
{
    const struct training *training = ens->training;
    const struct waits *waits = &training->waits;
    char since[TIMEFMT_SIZE], elastic[300] = "";

    if (training->job != NULL && training->job->row.state == JOB_RUNNING && training->heard_ms > 0 &&
        engine_now(engine) - training->heard_ms >=
            (ens->spec->failure_after_ms > TRAINING_SILENT_MIN ? ens->spec->failure_after_ms : TRAINING_SILENT_MIN))
        return notice_tell(
            out, "training_silent",
            "its training has told nothing since %s: its ranks are stopped or hang, or what they write does not arrive",
            timefmt_iso(since, training->heard_ms));
    if (ens->in_flight == 0) /* none of its members sends anything */
        return false;
    if (ens->elastic != NULL && ens->elastic->state.row.reason[0] != '\0')
        snprintf(elastic, sizeof elastic, "; by \"elastic\", %s", ens->elastic->state.row.reason);
    if (tell_uneven(engine, training, out))
        return true;
    if (waits->known && waits->tell_room)
        return notice_tell(
            out, "waits_for_room",
            "its members wait for room in the buffer %.0f %% of the time: its training takes fewer samples than they "
            "make%s",
            100 * waits->for_room, elastic);
    return waits->known && waits->tell_samples &&
           notice_tell(
               out, "waits_for_samples",
               "its training waits for samples %.0f %% of the time: its members make fewer than it could take%s",
               100 * waits->for_samples, elastic);
}

static bool tell_paused(const struct ensemble_row *row, struct engine_notice *out)
{
    char when[TIMEFMT_SIZE];

    return notice_tell(out, "paused", "it was paused%s%s%s%s: `stretto resume %lld` lets it go on",
                       row->paused_by[0] ? " " : "", row->paused_by, row->paused_ms ? " at " : "",
                       row->paused_ms ? timefmt_iso(when, row->paused_ms) : "", (long long)row->id);
}

static bool tell_after(struct engine *engine, const struct ensemble_row *row, struct engine_notice *out)
{
    char text[900];
    const char *code = after_explain(engine, row, text, sizeof text);

    return notice_tell(out, code, "%s", text);
}

/* It was left alone when the daemon started, as the log says, too. */
static bool tell_left_alone(struct engine *engine, const struct ensemble_row *row, struct engine_notice *out)
{
    struct error err;

    if (engine_check_adapter(engine, row, &err) < 0)
        return notice_tell(out, "adapter_not_here", "%s", err.text);
    for (const struct left_alone *left = engine->left_alone; left != NULL; left = left->next)
        if (left->ensemble == row->id)
            return notice_tell(out, "not_readable", "ensemble %lld is left alone until the daemon is started again: %s",
                               (long long)row->id, left->why);
    return false;
}

/* The first two kinds; -1: none of them, and it may be another. */
static int tell_urgent(struct engine *engine, const struct ensemble_row *row, struct live_ensemble *ens,
                       struct engine_notice *out)
{
    if (!ensemble_is_over(row) && tell_rest(engine, out))
        return true;
    if (row->state == ENSEMBLE_PAUSED && row->reason[0] != '\0')
        return notice_tell(out, "held", "%s", row->reason);
    if (row->state == ENSEMBLE_PAUSED)
        return tell_paused(row, out);
    if (row->after != 0 && !ensemble_is_over(row))
        return tell_after(engine, row, out);
    if (ens != NULL && ensemble_ends_early(ens))
        return notice_tell(out, "ending", "%s; members that still run are being ended", row->reason);
    if (ensemble_is_ending(row))
        return notice_tell(out, "ending", "%s; those that run go on to their end", row->reason);
    if (ens == NULL)
        return !ensemble_is_over(row) && tell_left_alone(engine, row, out);
    if (ensemble_is_over(row))
        return tell_remains(engine, ens, out);
    if (tell_trouble(engine, ens->adapter, "", out))
        return true;
    if (ens->training != NULL && !training_is_over(&ens->training->row) &&
        tell_trouble(engine, ens->training->adapter, "", out))
        return true;
    return tell_room(engine, out) ? true : -1;
}

bool engine_notice(struct engine *engine, const struct ensemble_row *row, struct engine_notice *out)
{
    struct live_ensemble *ens = engine_find_ensemble(engine, row->id);
    int urgent = tell_urgent(engine, row, ens, out);

    if (urgent >= 0)
        return urgent;
    return tell_training(engine, ens, out) || tell_members(engine, ens, out) ||
           (ens->training != NULL && ens->training->row.state == TRAINING_RUNNING && tell_waits(engine, ens, out));
}
