/* The documents that the HTTP interface makes of rows: each value in its place, none left out. Every value differs from
 * all others. */
#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "common/log.h"
#include "daemon/spec/params.h"
#include "daemon/store/artefact.h"
#include "daemon/store/member_checkpoint.h"
#include "daemon/store/rung.h"
#include "daemon/store/series.h"
#include "daemon/store/session.h"
#include "daemon/store/suggestion.h"
#include "daemon/store/token.h"
#include "daemon/store/training.h"
#include "daemon/store/training_checkpoint.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_engine.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- set-up */

static int set_up(void **state)
{
    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    fake_engine_is_well = false;
    return 0;
}

static int tear_down(void **state)
{
    fake_engine_spec(NULL);
    must(store_commit(store, &err));
    return close_store(state);
}

static void run_sql(const char *sql)
{
    if (store_exec(store, &err, sql, "") < 0)
        fail_msg("%s: %s", sql, err.text);
}

/* Asks the handler, and compares its document with `written`, in which single quotes stand for double ones. */
static void is(void (*handler)(struct request *r), int64_t id, int64_t index, const char *query, const char *written)
{
    int status;
    const json_t *got = ask(handler, &(struct asked){.ids = {id, index}, .query = query}, &status);
    char *text = strdup(written), *said;
    json_t *wanted;

    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    wanted = json_loads(text, 0, NULL);
    if (wanted == NULL)
        fail_msg("no JSON: %s", text);
    said = json_dumps(got, JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    free(text);
    text = json_dumps(wanted, JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    if (status != 200 || strcmp(said, text) != 0)
        fail_msg("%d\n%s\nand not\n%s", status, said, text);
    json_decref(wanted);
    free(said);
    free(text);
    is_told_that_the_store_fails(handler, &(struct asked){.ids = {id, index}, .query = query});
}

/* A training of two ranks, its second generation, and what has become of it. */
static void add_training(int64_t ensemble)
{
    struct training_row row = {.ensemble = ensemble, .state = TRAINING_RUNNING, .adapter = "slurm", .reason = "R2", .ranks = 2,
                               .generation = 2, .wanted = 4, .restarts = 5, .failures = 6, .resumed = {.name = "g1-s3"},
                               .created_ms = 41000, .started_ms = 42000, .ended_ms = 43000};
    struct rank_row rank = {.generation = 2, .state = RANK_READY, .received = 100, .unique = 90, .duplicates = 80, .drawn = 70,
                            .batches = 60, .repeats = 50, .skipped = 30, .samples_per_second = 1.5};
    struct training_checkpoint_row checkpoint = {.name = "g2-s5", .generation = 3, .step = 61, .batches = 62, .drawn = 63, .ranks = 64, .size = 65,
                                                 .digest = "0123456789abcdef", .time_ms = 66000, .members = 67};
    struct metric_point point = {.step = 1, .time_ms = 1000, .value = 3.5};

    must(store_training_insert(store, &row, &err));
    must(store_training_update(store, &row, &err));
    rank.training = checkpoint.training = row.id;
    must(store_rank_put(store, &rank, &err));
    rank.rank = 1;
    rank.received++;
    rank.samples_per_second = 0.25;
    must(store_rank_put(store, &rank, &err));
    must(store_training_checkpoint_add(store, &checkpoint, (const unsigned char *)"", 0, &err));
    must(store_metric_put(store, row.id, "loss", &point, &err));
    point = (struct metric_point){.step = 2, .time_ms = 2000, .value = 0.5};
    must(store_metric_put(store, row.id, "loss", &point, &err));
    point.value = NAN;
    must(store_metric_put(store, row.id, "nan", &point, &err));
}

static void an_ensemble(void **state)
{
    struct ensemble_row row = {.name = "n1", .state = ENSEMBLE_RUNNING, .reason = "R1", .adapter = "local", .stream_key = "0", .intake = INTAKE_OPEN,
                               .count = 36, .width = 3, .created_ms = 21000};
    struct ensemble_row next;

    must(store_ensemble_insert(store, &row, "{}", &err));
    must(store_ensemble_update(store, &row, &err));
    add_training(row.id);
    run_sql("UPDATE tally SET n = CASE state WHEN 'pending' THEN 1 WHEN 'submitted' THEN 2 WHEN 'running' THEN 3 WHEN 'succeeded' THEN 4 "
            "WHEN 'failed' THEN 5 WHEN 'unfinished' THEN 6 WHEN 'cancelled' THEN 7 ELSE 8 END");
    run_sql("UPDATE tally SET handed = 6 WHERE state = 'unfinished'");
    run_sql("INSERT INTO cause VALUES (1, 'diverged', 'K', 9, 10, 0, 1)");
    run_sql("INSERT INTO rung (ensemble, number, arrived) VALUES (1, 2, 11)");
    next = (struct ensemble_row){.name = "n2", .state = ENSEMBLE_PAUSED, .adapter = "local", .stream_key = "0", .count = 6, .width = 1,
                                 .created_ms = 22000, .root = 1, .parent = 1};
    must(store_ensemble_insert(store, &next, "{}", &err));
    must(store_ensemble_update(store, &next, &err));
    is(ensemble_get, 1, 0, NULL,
       "{'adapter': 'local', 'after': null, 'allocation': {'asked': 72, 'count': 71, 'running': 73}, 'count': 36, "
       "'created': '1970-01-01T00:00:21.000Z', 'dir': '/run/e1', 'diverged': 9, 'elastic': {'by_hand': ['width'], "
       "'changed': '1970-01-01T00:01:14.000Z', 'ranks': null, 'reason': 'changed', 'width': [4, 200]}, 'ended': null, 'eta': null, "
       "'family': {'follow_ups': 1, 'members': {'cancelled': 7, 'failed': 5, 'pending': 1, 'running': 3, 'stopped': 8, 'submitted': 2, "
       "'succeeded': 4, 'unfinished': 0}, 'newest': 2, 'state': 'paused'}, 'follow_up_of': null, 'follow_ups': [2], 'id': 1, "
       "'members': {'cancelled': 7, 'failed': 5, 'pending': 1, 'running': 3, 'stopped': 8, 'submitted': 2, 'succeeded': 4, 'unfinished': 6}, "
       "'name': 'n1', 'notice': {'code': 'held', 'text': 'it waits'}, 'open': true, 'rate': 0.00408580183861083, 'reason': 'R1', 'root': 1, "
       "'rung': 2, 'state': 'running', 'training': {'adapter': 'slurm', 'batches': 120, 'before': 'R2', 'can_resize': true, 'checkpoint': {'batches': 62, "
       "'damaged': false, 'digest': '0123456789abcdef', 'drawn': 63, 'ensemble': 1, 'generation': 3, 'name': 'g2-s5', 'number': 1, "
       "'of': 'training', 'path': '/run/e1/g2-s5/state-rank0', 'ranks': 64, 'size': 65, 'step': 61, 'time': '1970-01-01T00:01:06.000Z', "
       "'training': 1, 'whole': 67}, 'created': '1970-01-01T00:00:41.000Z', 'dir': '/run/e1/g2', 'drawn': 140, 'duplicates': 160, 'ended': null, "
       "'ended_early': null, 'ensemble': 1, 'failures': 6, 'generation': 2, 'hosts': [{'host': 'n7', 'slots': 2}], 'id': 1, "
       "'metric_ranges': {'loss': {'max': 3.5, 'min': 0.5}, 'nan': {'max': null, 'min': null}}, 'metrics': {'loss': 0.5, 'nan': null}, "
       "'missing': null, 'ranks': 2, 'reason': null, 'received': 201, 'repeats': 100, 'restarts': 5, 'resumed_from': 'g1-s3', 'retries_left': 0, "
       "'samples_per_second': 1.75, 'skipped': 60, 'started': '1970-01-01T00:00:42.000Z', 'state': 'running', 'unique': 180, "
       "'waits': {'for_room': 0.125, 'for_samples': 0.25}, 'waits_for': 'priority', 'wanted_ranks': 4}, 'trouble': 'it waits', 'width': 3}");
    fake_engine_is_well = true;
    is(ensemble_get, 2, 0, NULL,
       "{'adapter': 'local', 'after': null, 'allocation': null, 'count': 6, 'created': '1970-01-01T00:00:22.000Z', 'dir': '/run/e2', 'diverged': 0, "
       "'elastic': null, 'ended': null, 'eta': null, 'family': null, 'follow_up_of': 1, 'follow_ups': [], 'id': 2, 'members': {'cancelled': 0, "
       "'failed': 0, 'pending': 6, 'running': 0, 'stopped': 0, 'submitted': 0, 'succeeded': 0, 'unfinished': 0}, 'name': 'n2', 'notice': null, "
       "'open': false, 'rate': 0.0, 'reason': null, 'root': 1, 'rung': null, 'state': 'paused', 'training': null, 'trouble': null, 'width': 1}");
    run_sql("UPDATE training SET state = 'done', early = 1, missing = '{\"unneeded\": 12, \"steps\": 13}'");
    is(training_get, 1, 0, NULL,
       "{'adapter': 'slurm', 'batches': 120, 'before': null, 'can_resize': false, 'checkpoint': {'batches': 62, 'damaged': false, 'digest': '0123456789abcdef', "
       "'drawn': 63, 'ensemble': 1, 'generation': 3, 'name': 'g2-s5', 'number': 1, 'of': 'training', 'path': '/run/e1/g2-s5/state-rank0', "
       "'ranks': 64, 'size': 65, 'step': 61, 'time': '1970-01-01T00:01:06.000Z', 'training': 1, 'whole': 67}, "
       "'created': '1970-01-01T00:00:41.000Z', 'dir': '/run/e1/g2', 'drawn': 140, 'duplicates': 160, 'ended': '1970-01-01T00:00:43.000Z', "
       "'ended_early': {'members': 27, 'steps': 12, 'undrawn': 40}, 'ensemble': 1, 'failures': 6, 'generation': 2, "
       "'hosts': [{'host': 'n7', 'slots': 2}], 'id': 1, 'metric_ranges': {'loss': {'max': 3.5, 'min': 0.5}, 'nan': {'max': null, 'min': null}}, "
       "'metrics': {'loss': 0.5, 'nan': null}, 'missing': {'steps': 13}, 'ranks': 2, 'reason': 'R2', 'received': 201, 'repeats': 100, "
       "'restarts': 5, 'resumed_from': 'g1-s3', 'retries_left': null, 'samples_per_second': 1.75, 'skipped': 60, "
       "'started': '1970-01-01T00:00:42.000Z', 'state': 'done', 'unique': 180, 'waits': null, 'waits_for': null, 'wanted_ranks': 4}");
    run_sql("UPDATE training SET state = 'pending', early = 0, missing = NULL, wanted = 0, resumed = NULL, reason = NULL");
    run_sql("DELETE FROM training_checkpoint");
    is(training_get, 1, 0, NULL,
       "{'adapter': 'slurm', 'batches': 120, 'before': null, 'can_resize': false, 'checkpoint': null, 'created': '1970-01-01T00:00:41.000Z', 'dir': '/run/e1/g2', "
       "'drawn': 140, 'duplicates': 160, 'ended': null, 'ended_early': null, 'ensemble': 1, 'failures': 6, 'generation': 2, "
       "'hosts': [{'host': 'n7', 'slots': 2}], 'id': 1, 'metric_ranges': {'loss': {'max': 3.5, 'min': 0.5}, 'nan': {'max': null, 'min': null}}, "
       "'metrics': {'loss': 0.5, 'nan': null}, 'missing': null, 'ranks': 2, 'reason': null, 'received': 201, 'repeats': 100, 'restarts': 5, "
       "'resumed_from': null, 'retries_left': null, 'samples_per_second': 1.75, 'skipped': 60, 'started': '1970-01-01T00:00:42.000Z', "
       "'state': 'pending', 'unique': 180, 'waits': null, 'waits_for': null, 'wanted_ranks': null}");
}

/* --- members */

static void add_members(void)
{
    struct job_row job;
    struct attempt_row attempt;
    struct member_row member;
    struct series_row series;
    struct series_point point = series_point_of(5, 31000, 2, 0.5, 0.75);
    struct arrival_row arrival = {.ensemble = 1, .rung = 1, .index = 1, .attempt = 1, .step = 91, .value = 9.25, .loss = 9.25,
                                  .best = 8.25, .threshold = 7.25};

    add_ensemble(4);
    job = add_job(1, "local");
    attempt = add_attempt(job.id, 1, 1, 1);
    attempt = (struct attempt_row){.ensemble = 1, .index = 1, .number = 1, .job = job.id, .end.outcome = ATTEMPT_FAILED, .end.exit_code = 14, .end.signal = 0,
                                   .end.reason = "R4", .end.host = "h1", .resumed = "c1", .submitted_ms = 11000, .end.started_ms = 12000, .end.ended_ms = 13000,
                                   .end.measured = true, .end.cpu_ms = 1500, .end.memory_peak = 17, .end.notice = "N4", .rung = 2};
    must(store_attempt_update(store, &attempt, &err));
    run_sql("UPDATE attempt SET released = 14000 WHERE number = 1");
    add_attempt(job.id, 1, 1, 2);
    member = (struct member_row){.ensemble = 1, .index = 1, .state = MEMBER_RUNNING, .attempts = 2, .reason = "R3", .not_before_ms = 2000000};
    must(store_member_put(store, &member, &err));
    must(store_member_progress(store, 1, 1, 0.375, &err));
    run_sql("UPDATE member SET predecessor = 18 WHERE idx = 1");
    attempt = add_attempt(job.id, 1, 0, 1);
    attempt.end.outcome = ATTEMPT_LOST;
    attempt.end.exit_code = -1;
    attempt.end.signal = 16;
    attempt.end.started_ms = 14500;
    attempt.end.ended_ms = 15000;
    attempt.end.measured = true;
    attempt.end.cpu_ms = 250;
    attempt.end.memory_peak = 18;
    snprintf(attempt.end.host, sizeof attempt.end.host, "h2");
    must(store_attempt_update(store, &attempt, &err));
    member = (struct member_row){.ensemble = 1, .index = 0, .state = MEMBER_UNFINISHED, .attempts = 1, .not_before_ms = 0};
    must(store_member_put(store, &member, &err));
    run_sql("UPDATE member SET successor = 19 WHERE idx = 0");
    member = (struct member_row){.ensemble = 1, .index = 2, .state = MEMBER_PENDING, .attempts = 0, .failures = 1, .not_before_ms = 2000000};
    must(store_member_put(store, &member, &err));
    run_sql("UPDATE ensemble SET next_index = 3");
    run_sql("UPDATE job SET name = 'st-abc-1'");
    must(store_member_checkpoint_put(store, &(struct member_checkpoint_row){.home = 1, .index = 1, .number = 21, .ensemble = 22, .attempt = 23,
                                     .path = "p.ckpt", .step = 24, .size = 25, .digest = "fedcba9876543210", .time_ms = 26000}, &err));
    must(store_member_checkpoint_put(store, &(struct member_checkpoint_row){.home = 1, .index = 1, .number = 22, .ensemble = 22, .attempt = 23,
                                     .path = "q.ckpt", .step = -1, .size = 27, .digest = "fedcba9876543211", .time_ms = 28000}, &err));
    must(store_artefact_put(store, &(struct artefact_row){.ensemble = 1, .index = 1, .path = "m.pt", .size = 51, .attempt = 52,
                            .sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, &err));
    must(store_series_open(store, 1, 1, "loss", &series, &err));
    must(store_series_add(store, &series, &point, 100, &err));
    point = series_point_of(6, 32000, 2, NAN, 0);
    must(store_series_add(store, &series, &point, 100, &err));
    must(store_series_save(store, &series, &err));
    must(store_series_open(store, 1, 1, "acc", &series, &err));
    point = series_point_of(7, 33000, 1, 0.25, 0);
    must(store_series_add(store, &series, &point, 100, &err));
    must(store_series_save(store, &series, &err));
    must(store_arrival_add(store, &arrival, 2, &err));
    must(store_arrival_decide(store, &arrival, &err));
    arrival = (struct arrival_row){.ensemble = 1, .rung = 1, .index = 0, .attempt = 1, .step = 92, .value = NAN, .loss = INFINITY,
                                   .best = NAN, .threshold = NAN};
    must(store_arrival_add(store, &arrival, 2, &err));
    must(store_arrival_promote(store, &(struct arrival_row){.ensemble = 1, .number = 1, .rung = 1}, 2, &err));
}

static const char with_rungs[] =
    "{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\", \"{a}\"], "
    "\"parameters\": {\"grid\": {\"a\": [0.1], \"t\": [1, 2, 3, 4]}},"
    " \"resources\": {\"tasks\": \"{t}\"}, \"artefacts\": [\"m.pt\"], \"results\": \"results/r{t}\"},"
    " \"early_stopping\": {\"rule\": \"asha\", \"metric\": \"loss\", \"rungs\": {\"min\": 10, \"max\": 90, \"reduction\": 3}}}";

static void members(void **state)
{
    fake_engine_spec(with_rungs);
    add_members();
    is(member_get, 1, 1, NULL,
       "{'artefacts': [{'attempt': 52, 'path': 'm.pt', 'sha256': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'size': 51}], "
       "'attempts': [{'cpu_seconds': 1.5, 'ended': '1970-01-01T00:00:13.000Z', 'exit_code': 14, 'host': 'h1', 'hosts': [], 'job': 'st-abc-1', "
       "'memory_peak': 17, 'notice': 'N4', 'number': 1, 'outcome': 'failed', 'output_released': '1970-01-01T00:00:14.000Z', 'reason': 'R4', "
       "'resumed': 'c1', 'signal': null, 'started': '1970-01-01T00:00:12.000Z', 'state': 'ended', 'submitted': '1970-01-01T00:00:00.001Z', "
       "'waits_for': null}, {'cpu_seconds': null, 'ended': null, 'exit_code': null, 'host': null, 'hosts': [{'host': 'n8', 'slots': 101}], "
       "'job': 'st-abc-1', 'memory_peak': null, 'notice': null, 'number': 2, 'outcome': null, 'output_released': null, 'reason': null, "
       "'resumed': null, 'signal': null, 'started': null, 'state': 'submitted', 'submitted': '1970-01-01T00:00:00.001Z', "
       "'waits_for': 'resources'}], 'checkpoints': [{'digest': 'fedcba9876543210', 'ensemble': 1, 'made_by': {'attempt': 23, 'ensemble': 22}, "
       "'member': 1, 'number': 21, 'of': 'member', 'path': '/run/e1/m1/p.ckpt', 'size': 25, 'step': 24, 'time': '1970-01-01T00:00:26.000Z'}, "
       "{'digest': 'fedcba9876543211', 'ensemble': 1, 'made_by': {'attempt': 23, 'ensemble': 22}, 'member': 1, 'number': 22, 'of': 'member', "
       "'path': '/run/e1/m1/q.ckpt', 'size': 27, 'step': null, 'time': '1970-01-01T00:00:28.000Z'}], 'ensemble': 1, 'follow_up': null, "
       "'follow_up_of': 18, 'index': 1, 'metrics': {'acc': {'area': 0.0, 'attempt': 1, 'first_time': '1970-01-01T00:00:33.000Z', 'last': 0.25, "
       "'last_time': '1970-01-01T00:00:33.000Z', 'max': 0.25, 'min': 0.25, 'not_finite': 0, 'points': 1, 'step': 7}, 'loss': {'area': 0.75, "
       "'attempt': 2, 'first_time': '1970-01-01T00:00:31.000Z', 'last': null, 'last_time': '1970-01-01T00:00:32.000Z', 'max': 0.5, 'min': 0.5, "
       "'not_finite': 1, 'points': 2, 'step': 6}}, 'output': 'separate', 'parameters': {'a': 0.1, 't': 2}, 'progress': 0.375, 'reason': 'R3', "
       "'resources': {'tasks': 2}, 'results': '/run/e1/results/results/r2', 'retry_at': null, 'rung': 1, 'seed': '4305775719393286122', "
       "'state': 'running'}");
    is(member_get, 1, 0, NULL,
       "{'artefacts': [], 'attempts': [{'cpu_seconds': 0.25, 'ended': '1970-01-01T00:00:15.000Z', 'exit_code': null, 'host': 'h2', 'hosts': [], "
       "'job': 'st-abc-1', 'memory_peak': 18, 'notice': null, 'number': 1, 'outcome': 'lost', 'output_released': null, 'reason': null, "
       "'resumed': null, 'signal': 16, 'started': '1970-01-01T00:00:14.500Z', 'state': 'ended', 'submitted': '1970-01-01T00:00:00.001Z', "
       "'waits_for': null}], 'checkpoints': [], 'ensemble': 1, 'follow_up': 19, 'follow_up_of': null, 'index': 0, 'metrics': {}, "
       "'output': 'separate', 'parameters': {'a': 0.1, 't': 1}, 'progress': null, 'reason': null, 'resources': {'tasks': 1}, "
       "'results': '/run/e1/results/results/r1', 'retry_at': null, 'rung': 1, 'seed': '13084870472823738536', 'state': 'unfinished'}");
    is(members_get, 1, 0, "metrics=loss,none",
       "{'members': [{'attempts': 1, 'follow_up': 19, 'index': 0, 'last_attempt': {'cpu_seconds': 0.25, 'ended': '1970-01-01T00:00:15.000Z', "
       "'host': 'h2', 'memory_peak': 18, 'outcome': 'lost', 'started': '1970-01-01T00:00:14.500Z', 'submitted': '1970-01-01T00:00:00.001Z'}, "
       "'metrics': {}, 'parameters': {'a': 0.1, 't': 1}, 'progress': null, 'reason': null, 'resources': {'tasks': 1}, 'retry_at': null, 'rung': 1, "
       "'state': 'unfinished'}, {'attempts': 2, 'follow_up': null, 'index': 1, 'last_attempt': {'cpu_seconds': null, 'ended': null, 'host': null, "
       "'memory_peak': null, 'outcome': null, 'started': null, 'submitted': '1970-01-01T00:00:00.001Z'}, 'metrics': {'loss': {'area': 0.75, "
       "'attempt': 2, 'first_time': '1970-01-01T00:00:31.000Z', 'last': null, 'last_time': '1970-01-01T00:00:32.000Z', 'max': 0.5, 'min': 0.5, "
       "'not_finite': 1, 'points': 2, 'step': 6}}, 'parameters': {'a': 0.1, 't': 2}, 'progress': 0.375, 'reason': 'R3', 'resources': {'tasks': 2}, "
       "'retry_at': null, 'rung': 1, 'state': 'running'}, {'attempts': 0, 'follow_up': null, 'index': 2, 'last_attempt': null, 'metrics': {}, "
       "'parameters': {'a': 0.1, 't': 3}, 'progress': null, 'reason': null, 'resources': {'tasks': 3}, 'retry_at': '1970-01-01T00:33:20.000Z', "
       "'rung': null, 'state': 'pending'}, {'attempts': 0, 'follow_up': null, 'index': 3, 'last_attempt': null, 'metrics': {}, "
       "'parameters': {'a': 0.1, 't': 4}, 'progress': null, 'reason': null, 'resources': {'tasks': 4}, 'retry_at': null, 'rung': null, "
       "'state': 'pending'}], 'next': null}");
    is(members_get, 1, 0, "index=3,1&limit=1",
       "{'members': [{'attempts': 0, 'follow_up': null, 'index': 3, 'last_attempt': null, 'parameters': {'a': 0.1, 't': 4}, 'progress': null, "
       "'reason': null, 'resources': {'tasks': 4}, 'retry_at': null, 'rung': null, 'state': 'pending'}, {'attempts': 2, 'follow_up': null, "
       "'index': 1, 'last_attempt': {'cpu_seconds': null, 'ended': null, 'host': null, 'memory_peak': null, 'outcome': null, 'started': null, "
       "'submitted': '1970-01-01T00:00:00.001Z'}, 'parameters': {'a': 0.1, 't': 2}, 'progress': 0.375, 'reason': 'R3', 'resources': {'tasks': 2}, "
       "'retry_at': null, 'rung': 1, 'state': 'running'}], 'next': null}");
    is(members_get, 1, 0, "state=pending&limit=1",
       "{'members': [{'attempts': 0, 'follow_up': null, 'index': 2, 'last_attempt': null, 'parameters': {'a': 0.1, 't': 3}, 'progress': null, "
       "'reason': null, 'resources': {'tasks': 3}, 'retry_at': '1970-01-01T00:33:20.000Z', 'rung': null, 'state': 'pending'}], 'next': '3'}");
    is(rungs_get, 1, 0, NULL,
       "{'goal': 'min', 'metric': 'loss', 'reduction': 3, 'rule': 'asha', 'rungs': [{'arrived': 2, 'best': {'index': 1, 'value': 9.25}, "
       "'promoted': 1, 'rung': 1, 'step': 10, 'stopped': 1, 'under_way': 0}, {'arrived': 0, 'best': null, 'promoted': 0, 'rung': 2, 'step': 30, "
       "'stopped': 0, 'under_way': 0}, {'arrived': 0, 'best': null, 'promoted': 0, 'rung': 3, 'step': 90, 'stopped': 0, 'under_way': 0}]}");
    is(arrivals_get, 1, 0, NULL,
       "{'arrivals': [{'arrival': 1, 'attempt': 1, 'best': 8.25, 'index': 1, 'promoted': 2, 'rung': 1, 'step': 91, 'threshold': 7.25, "
       "'value': 9.25}, {'arrival': 2, 'attempt': 1, 'best': null, 'index': 0, 'promoted': null, 'rung': 1, 'step': 92, 'threshold': null, "
       "'value': null}], 'next': 2}");
    is(checkpoints_get, 0, 0, NULL,
       "{'checkpoints': [{'digest': 'fedcba9876543210', 'ensemble': 1, 'made_by': {'attempt': 23, 'ensemble': 22}, 'member': 1, 'number': 21, "
       "'of': 'member', 'path': '/run/e1/m1/p.ckpt', 'size': 25, 'step': 24, 'time': '1970-01-01T00:00:26.000Z'}, {'digest': 'fedcba9876543211', "
       "'ensemble': 1, 'made_by': {'attempt': 23, 'ensemble': 22}, 'member': 1, 'number': 22, 'of': 'member', 'path': '/run/e1/m1/q.ckpt', "
       "'size': 27, 'step': null, 'time': '1970-01-01T00:00:28.000Z'}], 'next': null}");
    is(member_metrics_get, 1, 1, NULL,
       "{'ensemble': 1, 'member': 1, 'next': null, 'series': {'acc': {'buckets': [{'area': 0, 'attempt': 1, 'count': 1, 'first': 0.25, "
       "'last': 0.25, 'last_step': 7, 'last_time': '1970-01-01T00:00:33.000Z', 'max': 0.25, 'min': 0.25, 'not_finite': 0, 'step': 7, "
       "'time': '1970-01-01T00:00:33.000Z'}], 'width': 1}, 'loss': {'buckets': [{'area': 0.75, 'attempt': 2, 'count': 1, 'first': 0.5, 'last': 0.5, "
       "'last_step': 5, 'last_time': '1970-01-01T00:00:31.000Z', 'max': 0.5, 'min': 0.5, 'not_finite': 0, 'step': 5, "
       "'time': '1970-01-01T00:00:31.000Z'}, {'area': 0, 'attempt': 2, 'count': 1, 'first': null, 'last': null, 'last_step': 6, "
       "'last_time': '1970-01-01T00:00:32.000Z', 'max': null, 'min': null, 'not_finite': 1, 'step': 6, 'time': '1970-01-01T00:00:32.000Z'}], "
       "'width': 1}}}");
    is(member_points_get, 1, 1, "name=loss",
       "{'ensemble': 1, 'member': 1, 'name': 'loss', 'next': null, 'points': [{'attempt': 2, 'step': 5, 'time': '1970-01-01T00:00:31.000Z', "
       "'value': 0.5}, {'attempt': 2, 'step': 6, 'time': '1970-01-01T00:00:32.000Z', 'value': null}]}");
}

/* --- what is unusual */

static void is_not_there(void (*handler)(struct request *r), int64_t id, int64_t index, int wanted, const char *code)
{
    int status;
    const json_t *got = ask(handler, &(struct asked){.ids = {id, index}}, &status);

    assert_int_equal(status, wanted);
    assert_string_equal(json_string_value(json_object_get(got, "code")), code);
}

static void what_is_not_said_is_the_first_or_none(void **state)
{
    fake_engine_spec(with_rungs);
    add_members();
    run_sql("UPDATE attempt SET rung = 2 WHERE number = 1 AND idx = 0");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(get(member_get, 1, NULL), "attempts"), 0), "rung")), 2);
    is(member_points_get, 1, 1, NULL,
       "{'ensemble': 1, 'member': 1, 'name': 'acc', 'next': null, 'points': [{'attempt': 1, 'step': 7, "
       "'time': '1970-01-01T00:00:33.000Z', 'value': 0.25}]}");
    add_training(1);
    is(training_points_get, 1, 0, NULL,
       "{'name': 'loss', 'next': null, 'points': [{'rank': 0, 'step': 1, 'time': '1970-01-01T00:00:01.000Z', "
       "'value': 3.5}, {'rank': 0, 'step': 2, 'time': '1970-01-01T00:00:02.000Z', 'value': 0.5}], 'training': 1}");
    is(member_points_get, 1, 2, NULL, "{'ensemble': 1, 'member': 2, 'name': '', 'next': null, 'points': []}");
    is(member_points_get, 1, 1, "name=none",
       "{'ensemble': 1, 'member': 1, 'name': 'none', 'next': null, 'points': []}");
    run_sql("INSERT INTO generation (training, number, ranks) VALUES (1, 5, 2)");
    is(training_generations_get, 1, 0, "limit=1",
       "{'generations': [{'end': null, 'ended': null, 'members_again': 0, 'number': 5, 'ranks': 2, 'reason': null, 'restarts': [], 'resumed_from': null, "
       "'resumed_step': null, 'samples_lost': 0, 'started': null}], 'next': '5'}");
    is_told_that_the_spec_is_lost(rungs_get, &(struct asked){.ids = {1}});
    is_told_that_the_spec_is_lost(arrivals_get, &(struct asked){.ids = {1}});
    is_told_that_the_spec_is_lost(member_get, &(struct asked){.ids = {1, 1}});
    fake_engine_spec("{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\", \"{x}\"], \"parameters\": {\"grid\": {\"x\": [5, 6]}}}}");
    is_not_there(rungs_get, 1, 0, 409, "ensemble_not_stopping");
    is_not_there(arrivals_get, 1, 0, 409, "ensemble_not_stopping");
    is_not_there(results_get, 1, 0, 409, "ensemble_not_open");
    assert_null(json_object_get(get(member_get, 1, NULL), "rung"));
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_STORE(an_ensemble), WITH_STORE(members),
                                       WITH_STORE(what_is_not_said_is_the_first_or_none)};

    log_init("documents", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
