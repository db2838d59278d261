#include "daemon/engine/ensembles/make_jobs.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/pilot_life.h"
#include "daemon/engine/members/cancel_member.h"
#include "daemon/engine/members/rungs.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/trainings/renew.h"
#include "daemon/spec/needs.h"
#include "daemon/store/suggestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choice {
    const struct spec *spec;
    struct adapter_resources needs; /* of all members that are chosen, if members have different ones */
    struct member_row *rows;
    size_t n;
};

/* Returns whether a member can share a job with those that were chosen before: all members of a job ask for the
 * same. */
static bool choice_suits(struct choice *choice, int64_t index)
{
    struct adapter_resources needs;
    struct error ignored;

    if (choice->spec->members.needs == NULL || choice->spec->pack == 1)
        return true;
    needs_of(choice->spec, index, &needs, &ignored);
    if (choice->n == 0)
        choice->needs = needs;
    return needs_are_equal(&choice->needs, &needs);
}

static int choose_member(void *arg, const struct member_row *row)
{
    struct choice *choice = arg;

    if (choice_suits(choice, row->index))
        choice->rows[choice->n++] = *row;
    return 0;
}

/* Puts a member into a job: writes its row and its attempt. */
static int enlist_member(struct engine *engine, struct live_job *job, struct member_row *row, int64_t now,
                         struct error *err)
{
    struct attempt_row attempt = {.ensemble = row->ensemble,
                                  .index = row->index,
                                  .number = row->attempts + 1,
                                  .job = job->row.id,
                                  .submitted_ms = now};
    char rest[sizeof job->row.name + 16];

    stretto_assert(!member_state_is_final(row->state) && job->n_slots < (size_t)job->row.size);
    row->state = MEMBER_SUBMITTED;
    row->attempts++;
    if (rungs_next(engine, job->ensemble, row->index, &attempt.rung, err) < 0 ||
        store_member_put(engine->store, row, err) < 0 || store_attempt_insert(engine->store, &attempt, err) < 0)
        return -1;
    snprintf(rest, sizeof rest, ",\"job\":\"%s\"", job->row.name);
    engine_event_of_attempt(engine, "member.submitted", row->ensemble, row->index, row->attempts, rest);
    if (renew_note_again(engine, job->ensemble, row, err) < 0)
        return -1;
    job->slots[job->n_slots++] = (struct slot){.index = row->index,
                                               .number = row->attempts,
                                               .failures = row->failures,
                                               .losses = row->losses,
                                               .stalls = row->stalls,
                                               .since = row->since,
                                               .since_in = row->since_in,
                                               .rung = attempt.rung,
                                               .open = true};
    job->open++;
    job->ensemble->in_flight++;
    job_find_resources(job);
    return 0;
}

static int put_into_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node,
                        struct member_row *rows, size_t n, int64_t now)
{
    struct job_row row = {.ensemble = ens->row.id, .kind = JOB_MEMBERS, .size = (int64_t)n, .created_ms = now};
    struct live_job *job;
    struct error err;

    memcpy(row.adapter, ens->row.adapter, sizeof row.adapter);
    if (node != NULL) {
        row.pilot = node->pilot->job->row.id;
        row.node = node->number;
    }
    if (engine_insert_job(engine, &row, &err) < 0)
        return -1;
    job = job_new(engine, ens, &row, false);
    if (job == NULL)
        return -1;
    stretto_assert(n > 0 && n <= (size_t)ens->spec->pack);
    pilot_bind(engine, job);
    job->slots = xcalloc(n, sizeof *job->slots);
    for (size_t i = 0; i < n; i++)
        if (enlist_member(engine, job, &rows[i], now, &err) < 0)
            return -1; /* the turn is rolled back, and memory rebuilt */
    job_start_committed(engine, job);
    return 0;
}

/* Chooses at most `room` pending members, those that were tried before first. Returns how many, or -1 on failure. */
static int64_t choose_members(struct engine *engine, struct live_ensemble *ens, struct member_row *rows, size_t room,
                              int64_t now)
{
    struct choice choice = {.spec = ens->spec, .rows = rows};
    struct error err;

    if (ens->due <= now && ens->row.intake != INTAKE_NONE &&
        store_suggestion_line_up(engine->store, ens->row.id, now, &err) < 0)
        return store_doom(engine->store, &err);
    if (ens->due <= now &&
        store_member_each_due(engine->store, ens->row.id, now, (int)room, choose_member, &choice, &err) < 0)
        return store_doom(engine->store, &err);
    while (choice.n < room && ensemble_has_untried(ens) && choice_suits(&choice, ens->row.next_index)) {
        struct member_row row = {.ensemble = ens->row.id, .index = ens->row.next_index++};
        int cancelled = cancel_member_asked(engine, ens, row.index, &err);

        engine_save_later(engine, ens);
        if (cancelled == 0) {
            rows[choice.n++] = row;
            continue;
        }
        row.state = MEMBER_CANCELLED;
        if (cancelled < 0 || store_member_put(engine->store, &row, &err) < 0)
            return store_doom(engine->store, &err);
        engine_event_of_span(engine, ens->row.id, &(struct member_span){row.index, row.index}, MEMBER_CANCELLED);
    }
    return (int64_t)choice.n;
}

int64_t make_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, int64_t now)
{
    int64_t room = ens->row.width - ens->in_flight, n;
    bool was_due = ens->due <= now;
    struct member_row *rows;
    struct error err;

    stretto_assert(room > 0);
    if (room > ens->spec->pack)
        room = ens->spec->pack;
    rows = xcalloc((size_t)room, sizeof *rows);
    n = choose_members(engine, ens, rows, (size_t)room, now);
    if (n > 0 && put_into_job(engine, ens, node, rows, (size_t)n, now) < 0)
        n = -1;
    free(rows);
    if (n >= 0 && was_due && store_member_next_due(engine->store, ens->row.id, &ens->due, &err) < 0)
        n = store_doom(engine->store, &err);
    return n;
}
