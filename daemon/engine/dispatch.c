/* What an ensemble does next: start its training, make jobs of pending members up to the width, end. */
#include "daemon/engine/internal.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct choice {
    struct member_row *rows;
    size_t n;
};

static int choose(void *arg, const struct member_row *row)
{
    struct choice *choice = arg;

    choice->rows[choice->n++] = *row;
    return 0;
}

/* One member into a job: its row, its attempt. */
static int enlist(struct engine *engine, struct live_job *job, struct member_row *row, int64_t now, struct error *err)
{
    struct attempt_row attempt = {.ensemble = row->ensemble, .index = row->index, .number = row->attempts + 1,
                                  .job = job->row.id, .submitted_ms = now};

    row->state = MEMBER_SUBMITTED;
    row->attempts++;
    if (store_member_put(engine->store, row, err) < 0 || store_attempt_insert(engine->store, &attempt, err) < 0)
        return -1;
    engine_event(engine, "member.submitted", row->ensemble, row->index,
                 json_pack("{s:I, s:s}", "attempt", (json_int_t)row->attempts, "job", job->row.name));
    job->slots[job->n_slots++] = (struct slot){row->index, row->attempts, true};
    job->open++;
    job->ensemble->in_flight++;
    return 0;
}

static int make_job(struct engine *engine, struct live_ensemble *ens, struct member_row *rows, size_t n, int64_t now)
{
    struct job_row row = {.ensemble = ens->row.id, .kind = JOB_MEMBERS, .size = (int64_t)n, .created_ms = now};
    struct live_job *job;
    struct error err;

    memcpy(row.adapter, ens->row.adapter, sizeof row.adapter);
    if (store_job_insert(engine->store, &row, &err) < 0)
        return -1;
    job = job_new(engine, ens, &row);
    if (job == NULL)
        return -1;
    job->asked = true;
    job->slots = xcalloc(n, sizeof *job->slots);
    for (size_t i = 0; i < n; i++)
        if (enlist(engine, job, &rows[i], now, &err) < 0)
            return -1; /* the turn is rolled back, and memory rebuilt */
    job_start_committed(engine, job);
    return 0;
}

/* Pending members, those that were tried before first: at most `room`. */
static size_t choose_members(struct engine *engine, struct live_ensemble *ens, struct member_row *rows, size_t room,
                             int64_t now)
{
    struct choice choice = {rows, 0};
    struct error err;

    if (ens->due <= now) {
        if (store_member_each_due(engine->store, ens->row.id, now, (int)room, choose, &choice, &err) < 0) {
            store_doom(engine->store, &err);
            return 0;
        }
    }
    while (choice.n < room && ens->row.next_index < ens->row.count)
        rows[choice.n++] = (struct member_row){.ensemble = ens->row.id, .index = ens->row.next_index++};
    return choice.n;
}

static void dispatch_members(struct engine *engine, struct live_ensemble *ens)
{
    int64_t now = engine_now(engine), room = ens->row.width - ens->in_flight, before = ens->row.next_index;
    struct member_row *rows;
    size_t n, pack = (size_t)ens->spec->pack;
    struct error err;

    if (room > DISPATCH_MAX)
        room = DISPATCH_MAX;
    if (room > 0) {
        rows = xcalloc((size_t)room, sizeof *rows);
        n = choose_members(engine, ens, rows, (size_t)room, now);
        for (size_t i = 0; i < n; i += pack)
            if (make_job(engine, ens, rows + i, n - i < pack ? n - i : pack, now) < 0)
                break;
        if (ens->row.next_index != before)
            store_ensemble_update(engine->store, &ens->row, &err);
        if (n == DISPATCH_MAX)
            engine_wake_by(engine, now); /* more of it in the next turn */
        free(rows);
    }
    if (store_member_next_due(engine->store, ens->row.id, &ens->due, &err) < 0)
        ens->due = now + FILE_RETRY_MS;
    if (ens->in_flight >= ens->row.width)
        ens->due = INT64_MAX; /* an ending attempt brings us back */
    engine_wake_by(engine, ens->due);
}

bool dispatch_all_final(const int64_t n[MEMBER_STATE_COUNT])
{
    return n[MEMBER_PENDING] + n[MEMBER_SUBMITTED] + n[MEMBER_RUNNING] == 0;
}

static bool has_jobs(struct engine *engine, const struct live_ensemble *ens)
{
    struct live_job *job, *next;

    HASH_ITER (hh, engine->jobs, job, next)
        if (job->ensemble == ens)
            return true;
    return false;
}

static void complete(struct engine *engine, struct live_ensemble *ens)
{
    struct error err;

    ens->row.state = ENSEMBLE_COMPLETE;
    ens->row.ended_ms = engine_now(engine);
    store_ensemble_update(engine->store, &ens->row, &err);
    engine_event(engine, "ensemble.complete", ens->row.id, -1, NULL);
    log_info_of(LOG_ENSEMBLE(ens->row.id), "ensemble %lld is complete", (long long)ens->row.id);
}

void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct error err;

    if (ens->row.state == ENSEMBLE_RUNNING) {
        if (ens->training != NULL && ens->training->row.state == TRAINING_PENDING)
            training_start(engine, ens);
        else if (ens->training == NULL || ens->training->row.state == TRAINING_RUNNING)
            dispatch_members(engine, ens);
    } else {
        ens->due = INT64_MAX; /* nothing is started by the clock */
    }
    if (ens->row.state < ENSEMBLE_COMPLETE && store_tally_get(engine->store, ens->row.id, tally, &err) < 0) {
        store_doom(engine->store, &err); /* nothing would make us look again */
    } else if (ens->row.state < ENSEMBLE_COMPLETE && dispatch_all_final(tally)) {
        if (ens->training == NULL || ens->training->row.state == TRAINING_DONE)
            complete(engine, ens);
        else
            training_members_over(engine, ens);
    }
    if (ens->row.state >= ENSEMBLE_COMPLETE) {
        ens->due = INT64_MAX; /* it may have completed just now */
        if (!has_jobs(engine, ens) && (ens->training == NULL || ens->training->row.state >= TRAINING_DONE))
            engine_drop_ensemble(engine, ens);
    }
}
