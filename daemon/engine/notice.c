/* Why an ensemble is not going on: one sentence, which the dashboard, `status`, `wait` and /v1/ensembles/{id} all show. The first
 * cause that holds is told, those first that somebody has to do something about. */
#include "daemon/engine/internal.h"

#include "common/timefmt.h"

#include <stdarg.h>
#include <stdio.h>

static bool tell(struct engine_notice *out, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static bool tell(struct engine_notice *out, const char *code, const char *fmt, ...)
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
    return tell(out, "state_not_written", "the daemon cannot write its state (%.300s), and tries again at %s",
                store_last_failure(engine->store), timefmt_iso(when, engine->rested_at + engine->rest_ms));
}

static bool tell_room(struct engine *engine, struct engine_notice *out)
{
    struct error err;

    return store_check_room(engine->store, &err) < 0 && tell(out, "no_room", "%s", err.text);
}

static bool has_trouble(struct engine *engine, struct known_adapter *adapter)
{
    enum engine_adapter_state state = adapter_state(engine, adapter);

    return state == ENGINE_ADAPTER_NOT_SET_UP || state == ENGINE_ADAPTER_SILENT;
}

static bool tell_trouble(struct engine *engine, struct known_adapter *adapter, const char *before, struct engine_notice *out)
{
    char sentence[400];

    if (!has_trouble(engine, adapter))
        return false;
    adapter_describe(engine, adapter, sentence, sizeof sentence);
    return tell(out, adapter_state(engine, adapter) == ENGINE_ADAPTER_NOT_SET_UP ? "adapter_not_set_up" : "adapter_silent", "%s%s", before,
                sentence);
}

/* Tells about jobs that may still run although their ensemble is over. */
static bool tell_remains(struct engine *engine, const struct live_ensemble *ens, struct engine_notice *out)
{
    char before[200];

    for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        snprintf(before, sizeof before, "it is not known whether job %s was submitted, and so whether it is over: ", job->row.name);
        if (job->row.state == JOB_INTENT && job->maybe_submitted && tell_trouble(engine, job->adapter, before, out))
            return true;
        snprintf(before, sizeof before, "job %s is still to be cancelled: ", job->row.name);
        if (tell_trouble(engine, job->adapter, before, out))
            return true;
    }
    return false;
}

static bool tell_training(struct engine *engine, const struct live_ensemble *ens, struct engine_notice *out)
{
    const struct training *training = ens->training;
    const char *words = training != NULL && training->job != NULL ? job_words(training->job) : "";

    if (training == NULL || training->row.state >= TRAINING_RUNNING)
        return false;
    if (training->row.state == TRAINING_PENDING && heap_holds(&ens->to_train))
        return tell(out, "no_slot", "its training waits for free slots on %s", training->row.adapter);
    if (words[0] != '\0' && training->job->row.state == JOB_INTENT)
        return tell(out, "not_submitted", "its training is not submitted yet: %s", words);
    if (words[0] != '\0')
        return tell(out, "queued", "its training waits in the queue of %s: %s", training->row.adapter, words);
    return training->row.state == TRAINING_SUBMITTED && !ens->spec->members_first &&
           tell(out, "training_starts", "its members wait until its training has started");
}

static bool tell_members(struct engine *engine, struct live_ensemble *ens, struct engine_notice *out)
{
    const struct live_job *job = waiting_job(ens);
    char when[TIMEFMT_SIZE];

    if (job != NULL && job->row.state == JOB_INTENT)
        return tell(out, "not_submitted", "its jobs are not submitted yet: %s", job_words(job));
    if (job != NULL)
        return tell(out, "queued", "its jobs wait in the queue of %s: %s", ens->row.adapter, job_words(job));
    if (ens->in_flight > 0)
        return false;
    if (heap_holds(&ens->hungry))
        return tell(out, "no_slot", "its members wait for free slots on %s", ens->row.adapter);
    if (heap_holds(&ens->due_alarm.node) && ens->row.next_index >= ens->row.count)
        return tell(out, "retry", "the next attempt of a member that failed is made at %s", timefmt_iso(when, ens->due_alarm.node.key));
    return false;
}

bool engine_notice(struct engine *engine, const struct ensemble_row *row, struct engine_notice *out)
{
    struct live_ensemble *ens = engine_find_ensemble(engine, row->id);
    struct error err;

    if (row->state < ENSEMBLE_COMPLETE && tell_rest(engine, out))
        return true;
    if (row->state == ENSEMBLE_PAUSED && row->reason[0] != '\0')
        return tell(out, "held", "%s", row->reason);
    if (row->state == ENSEMBLE_PAUSED)
        return tell(out, "paused", "somebody has paused it: `stretto resume %lld` lets it go on", (long long)row->id);
    if (ensemble_is_ending(row))
        return tell(out, "ending", "%s; those that run go on to their end", row->reason);
    if (ens == NULL)
        return row->state < ENSEMBLE_COMPLETE && engine_check_adapter(engine, row, &err) < 0 &&
               tell(out, "adapter_not_here", "%s", err.text);
    if (row->state >= ENSEMBLE_COMPLETE)
        return tell_remains(engine, ens, out);
    if (tell_trouble(engine, ens->adapter, "", out))
        return true;
    if (ens->row.state == ENSEMBLE_RUNNING && tell_room(engine, out))
        return true;
    if (ens->training != NULL && ens->training->row.state < TRAINING_DONE && tell_trouble(engine, ens->training->adapter, "", out))
        return true;
    return tell_training(engine, ens, out) || tell_members(engine, ens, out);
}
