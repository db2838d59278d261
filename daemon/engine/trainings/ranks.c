/* Reads what the ranks of a training report: endpoints, counters, checkpoints, metric points and their end. */
#include "daemon/engine/trainings/ranks.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/memory/waits.h"
#include "daemon/engine/trainings/early.h"
#include "daemon/engine/trainings/missing.h"
#include "daemon/engine/trainings/moments.h"
#include "daemon/engine/trainings/training_checkpoints.h"
#include "daemon/engine/trainings/training_end.h"
#include "daemon/engine/trainings/training_tell.h"
#include "daemon/store/generation.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"
#include "daemon/store/training_checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t report_integer(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

static void read_counters(struct rank_row *row, const json_t *status)
{
    row->received = report_integer(status, "received");
    row->unique = report_integer(status, "unique");
    row->duplicates = report_integer(status, "duplicates");
    row->drawn = report_integer(status, "drawn");
    row->batches = report_integer(status, "batches");
    row->repeats = report_integer(status, "repeats");
    row->skipped = report_integer(status, "skipped");
    row->samples_per_second = json_number_value(json_object_get(status, "samples_per_second"));
}

static int get_rank(struct engine *engine, const struct training_row *training, int64_t rank, struct rank_row *row)
{
    struct error err;
    int rc = store_rank_get(engine->store, training->id, training->generation, rank, row, &err);

    if (rc == 0)
        *row = (struct rank_row){.training = training->id, .generation = training->generation, .rank = rank};
    return rc < 0 ? store_doom(engine->store, &err) : 0;
}

static enum rank_state rank_state(json_t **json)
{
    const char *end = json_string_value(json_object_get(json[RANK_FILE_DONE], "state"));

    if (json[RANK_FILE_DONE] != NULL)
        return end != NULL && strcmp(end, "unfinished") == 0 ? RANK_UNFINISHED : RANK_DONE;
    return json[RANK_FILE_ENDPOINT] != NULL ? RANK_READY : RANK_STARTING;
}

static void take_rank(struct engine *engine, const struct training_row *training, int64_t rank, json_t **json)
{
    const json_t *status = json[RANK_FILE_DONE] ? json[RANK_FILE_DONE] : json[RANK_FILE_STATUS];
    struct rank_row row, before;
    struct error err;

    if (get_rank(engine, training, rank, &row) < 0)
        return;
    before = row;
    if (rank_state(json) > row.state)
        row.state = rank_state(json);
    if (status != NULL)
        read_counters(&row, status);
    if (memcmp(&row, &before, sizeof row) != 0)
        store_rank_put(engine->store, &row, &err);
}

static void mark_ready(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    struct rank_row sum;
    struct error err;

    if (training->row.state != TRAINING_SUBMITTED || training->state.stage != STAGE_OPEN)
        return;
    if (store_rank_sum(engine->store, &training->row, &sum, &err) < 0) {
        store_doom(engine->store, &err);
        return;
    }
    if (sum.state < RANK_READY)
        return;
    training_event(training, LIFE_REACHED);
    training->row.started_ms = engine_now(engine);
    store_training_update(engine->store, &training->row, &err);
    engine_event(engine, "training.running", ens->row.id, -1, NULL);
    log_change(LOG_LEVEL_INFO, LOG_TRAINING(ens->row.id, training->row.id),
               "training %lld: %lld rank(s) can be reached", (long long)training->row.id,
               (long long)training->row.ranks);
    engine_touch(engine, ens);
}

/* Adds what the training reports of a member to that member's series. The ranks have no steps in common: the points are
 * counted. */
static void take_statistic(struct engine *engine, const struct live_ensemble *ens, int64_t index, double value,
                           int64_t time_ms)
{
    struct member_row member;
    struct series_point point;
    struct series_row row;
    struct error err;
    double area = 0;

    if (store_member_get(engine->store, ens->row.id, index, &member, &err) != 1 ||
        store_series_open(engine->store, ens->row.id, index, SERIES_STATISTIC, &row, &err) != 1)
        return;
    if (row.points > 0) {
        time_ms = time_ms > row.time_ms ? time_ms : row.time_ms;
        area = (row.last + value) / 2 * (double)(time_ms - row.time_ms) / 1000;
    }
    point = series_point_of(row.points > 0 ? row.step + 1 : 0, time_ms, 0, value, area);
    store_series_add(engine->store, &row, &point, ens->spec->metrics.points, &err);
    store_series_save(engine->store, &row, &err);
}

/* Stores the point of a metric line. A damaged line is skipped. */
static void take_point(struct engine *engine, const struct live_ensemble *ens, int64_t rank, const char *line,
                       size_t size)
{
    json_t *json = json_loadb(line, size, 0, NULL);
    const json_t *value = json_object_get(json, "value"), *member = json_object_get(json, "member");
    const char *name = json_string_value(json_object_get(json, "name"));
    struct metric_point point = {.step = report_integer(json, "step"), .rank = rank};
    struct error err;

    point.time_ms = time_ms_of(json_number_value(json_object_get(json, "time")));
    point.value = text_metric_value(value);
    if (json_is_integer(member))
        take_statistic(engine, ens, json_integer_value(member), point.value, point.time_ms);
    else if (name != NULL)
        store_metric_put(engine->store, ens->training->row.id, name, &point, &err);
    json_decref(json);
}

struct tailing {
    struct ticket *ticket;
    int64_t rank;
};

static void tail_rank(struct engine *engine, struct live_ensemble *ens, int64_t rank);

/* All is known: the job, which was held until now, ends, and with it the generation. */
static void end_of_reading(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->training->job != NULL)
        job_touch(engine, ens->training->job);
    else
        training_conclude(engine, ens);
}

void training_all_read(struct engine *engine, struct live_ensemble *ens)
{
    if (!missing_is_known(ens)) {
        missing_find(engine, ens);
        return;
    }
    stretto_assert(missing_is_known(ens));
    training_event(ens->training, LIFE_ALL_READ);
    end_of_reading(engine, ens);
}

void training_read_rest(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    const struct live_job *job = training->job;
    bool ran = job == NULL || (job->state.sent != SENT_NEVER && job->state.proof != PROOF_SEALED);

    if (training->state.stage != STAGE_OPEN)
        return;
    if (!ran && training->state.reading == READING_NONE) {
        training_event(training, LIFE_ALL_READ);
        end_of_reading(engine, ens);
        return;
    }
    training_event(training, LIFE_JOB_OVER);
    training_look(engine, ens);
}

static void rank_points_read(void *arg, const char *text, size_t size, const struct error *failed)
{
    struct tailing *tailing = arg;
    int64_t id, rank = tailing->rank;
    struct engine *engine = ticket_redeem(tailing->ticket, &id);
    struct live_ensemble *ens = engine ? engine_find_ensemble(engine, id) : NULL;
    struct rank_row row;
    struct error err;

    free(tailing);
    if (ens == NULL)
        return;
    if (failed != NULL) /* its last points may be lost, but no training waits for them for ever */
        log_warn_of(LOG_TRAINING(ens->row.id, ens->training->row.id), "training %lld: %s",
                    (long long)ens->training->row.id, failed->text);
    if (size > 0 && get_rank(engine, &ens->training->row, rank, &row) == 0) {
        for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
            take_point(engine, ens, rank, line, (size_t)(end - line));
        stretto_assert(text[size] == '\0');
        row.metrics_offset += (int64_t)size;
        store_rank_put(engine->store, &row, &err);
        tail_rank(engine, ens, rank); /* the file may have more */
        return;
    }
    tail_rank(engine, ens, rank + 1);
    engine_settle(engine);
}

/* Reads on in the metric file of a rank, then in those of the next ranks. After the last one the reading is over. */
static void tail_rank(struct engine *engine, struct live_ensemble *ens, int64_t rank)
{
    struct training *training = ens->training;
    struct tailing *tailing;
    struct rank_row row;

    if (rank >= training->row.ranks || get_rank(engine, &training->row, rank, &row) < 0) {
        bool again = training->state.reading == READING_TWICE;

        training_event(training, LIFE_READ);
        if (again)
            training_look(engine, ens);
        else if (training->state.stage != STAGE_OPEN)
            training_all_read(engine, ens);
        return;
    }
    tailing = xcalloc(1, sizeof *tailing);
    tailing->ticket = ticket_new(engine, ens->row.id);
    tailing->rank = rank;
    engine->ports.rundir_ops->tail(engine->ports.rundir,
                                   xasprintf("%s/e%lld/training/g%lld/metrics-rank%lld.jsonl", engine->ports.run_dir,
                                             (long long)ens->row.id, (long long)training->row.generation,
                                             (long long)rank),
                                   row.metrics_offset, rank_points_read, tailing);
}

/* Takes from the ranks how long they have waited, and when they last reported. If a rank has not reported yet, nothing
 * is taken. */
static void take_waits(struct engine *engine, struct live_ensemble *ens, json_t **json)
{
    struct training *training = ens->training;
    struct rank_draws draws = {0};
    struct waits_sum sum = {0};
    struct fact *fact;
    int starving = -1, full = -1;

    for (int64_t rank = 0; rank < training->row.ranks; rank++, json += RANK_FILES) {
        const json_t *status = json[RANK_FILE_DONE] != NULL ? json[RANK_FILE_DONE] : json[RANK_FILE_STATUS];

        if (status == NULL)
            return;
        sum.time += json_number_value(json_object_get(status, "time"));
        sum.for_samples += json_number_value(json_object_get(status, "sample_wait_seconds"));
        sum.for_room += json_number_value(json_object_get(status, "room_wait_seconds"));
        draws.drawn += report_integer(status, "drawn");
        draws.repeats += report_integer(status, "repeats");
        if (json_is_true(json_object_get(status, "starved")))
            starving = (int)rank;
        if (report_integer(status, "capacity") > 0 &&
            report_integer(status, "unseen") >= report_integer(status, "capacity"))
            full = (int)rank;
    }
    if (sum.time != training->status_time)
        training->heard_ms = engine_now(engine);
    training->status_time = sum.time;
    waits_note(&training->waits, &sum, (int)training->row.ranks, WAITS_SPAN_S);
    waits_note_uneven(&training->uneven, starving, full, engine_now(engine));
    fact = fact_post(engine, FACT_RANKS_WAITED, ens->row.id, 0);
    fact->of.waited.sum = sum;
    fact->of.waited.draws = draws;
}

/* Stores that the ranks have begun again in their job, and reports it in log and event. */
static void tell_restart(struct engine *engine, const struct live_ensemble *ens, const json_t *restart, bool cost)
{
    struct training_row *row = &ens->training->row;
    const char *reason = json_string_value(json_object_get(restart, "reason"));
    const char *host = json_string_value(json_object_get(restart, "host"));
    long long rank = (long long)report_integer(restart, "rank");
    struct restart_row stored = {
        .generation = row->generation,
        .number = row->restarts,
        .time_ms = time_ms_of(json_number_value(json_object_get(restart, "time"))),
        .rank = rank,
        .cost = cost,
    };
    struct error err;

    text_copy(stored.host, sizeof stored.host, host != NULL ? host : "");
    text_copy(stored.reason, sizeof stored.reason, reason != NULL ? reason : "");
    store_restart_add(engine->store, row->id, &stored, &err);
    snprintf(row->reason, sizeof row->reason, "rank %lld: %.400s", rank, stored.reason);
    log_change(
        LOG_LEVEL_WARN, LOG_TRAINING(ens->row.id, row->id),
        "training %lld: all ranks of generation %lld have begun again with the samples that they held, since rank "
        "%lld failed: %s",
        (long long)row->id, (long long)row->generation, rank, stored.reason);
    engine_event(engine, "training.recovered", ens->row.id, -1,
                 json_pack("{s:I, s:I, s:I, s:s?, s:s?}", "generation", (json_int_t)row->generation, "restart",
                           (json_int_t)row->restarts, "rank", (json_int_t)rank, "host", host, "reason", reason));
}

/* Takes what a beginning again has cost, as the runner has counted it, and how far the ranks were. */
static void take_restart(struct training *training, const json_t *restart)
{
    const json_t *from = json_object_get(restart, "from");

    training->row.failures = report_integer(restart, "failures");
    training->row.losses = report_integer(restart, "losses");
    if (from != NULL)
        training->began = (struct learnt){report_integer(from, "step"), report_integer(from, "batches"),
                                          report_integer(from, "drawn")};
}

/* Takes from restarts.json that the ranks have begun again where they were. */
static void take_restarts(struct engine *engine, struct live_ensemble *ens, const json_t *file)
{
    const json_t *list = json_object_get(file, "restarts");
    struct training_row *row = &ens->training->row;
    size_t known = (size_t)row->restarts;
    int64_t failures = row->failures; /* of an entry before the first */
    struct error err;

    if (json_array_size(list) > 0)
        take_restart(ens->training, json_array_get(list, json_array_size(list) - 1));
    if (json_array_size(list) <= known)
        return;
    for (size_t i = known; i < json_array_size(list); i++) {
        row->restarts++;
        failures = i > 0 ? report_integer(json_array_get(list, i - 1), "failures") : failures;
        tell_restart(engine, ens, json_array_get(list, i),
                     report_integer(json_array_get(list, i), "failures") > failures);
    }
    store_training_update(engine->store, row, &err);
    engine_touch(engine, ens);
}

static void ranks_read(void *arg, json_t **json, const struct error *failed)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);
    struct live_ensemble *ens = engine ? engine_find_ensemble(engine, id) : NULL;

    if (ens == NULL)
        return;
    if (failed != NULL) { /* the files are read again later, and the training goes on meanwhile */
        log_warn_of(LOG_TRAINING(ens->row.id, ens->training->row.id), "training %lld: %s",
                    (long long)ens->training->row.id, failed->text);
        training_read_later(engine, ens);
        return;
    }
    for (int64_t rank = 0; rank < ens->training->row.ranks; rank++) {
        take_rank(engine, &ens->training->row, rank, json + rank * RANK_FILES);
        training_note_host(ens->training, rank,
                           json_string_value(json_object_get(json[rank * RANK_FILES + RANK_FILE_ENDPOINT], "host")));
    }
    moments_take(engine, &ens->training->row, json);
    early_note(engine, ens, json);
    mark_ready(engine, ens);
    take_waits(engine, ens, json);
    json += ens->training->row.ranks * RANK_FILES;
    if (ens->spec->training_checkpoint.any)
        take_restarts(engine, ens, json[1]);
    training_take_checkpoints(engine, ens, ens->spec->training_checkpoint.any ? json[0] : NULL);
    engine_settle(engine);
}

void training_read_metrics(struct engine *engine, struct live_ensemble *ens)
{
    tail_rank(engine, ens, 0);
}

void training_look(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    size_t n = RANK_FILES * (size_t)training->row.ranks;
    const struct training_row *row = &training->row;
    bool reads = training->state.reading != READING_NONE;
    char **paths;

    alarm_set(engine, &training->look, engine_now(engine) + TRAINING_POLL_MS);
    training_ask_to_end(engine, ens);
    if (!reads && training->state.stage == STAGE_OPEN && !engine_has_room(engine))
        return;
    training_event(training, LIFE_LOOK);
    if (reads)
        return;
    paths = xcalloc(n + 2, sizeof *paths);
    for (int64_t rank = 0; rank < training->row.ranks; rank++)
        engine_rank_files(engine, &training->row, rank, paths + rank * RANK_FILES);
    if (ens->spec->training_checkpoint.any) {
        paths[n++] = engine_training_checkpoint_path(engine, ens->row.id, "checkpoints.json");
        paths[n++] = xasprintf("%s/e%lld/training/g%lld/restarts.json", engine->ports.run_dir, (long long)ens->row.id,
                               (long long)row->generation);
    }
    engine->ports.rundir_ops->read(engine->ports.rundir, paths, n, ranks_read, ticket_new(engine, ens->row.id));
}
