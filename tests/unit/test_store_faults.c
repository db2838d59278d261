/* A store in use on a disk that fails: for every n, the n-th call of SQLite on files, locks or memory fails, once or
 * for good, or the power is cut there. Every report must be true. Changes that a commit reported as kept are there
 * afterwards, whole; changes that it reported as lost are not. A list is whole or an error. Once the fault is gone, all
 * goes on. */
#include "common/log.h"
#include "daemon/store/attempt.h"
#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/idempotency.h"
#include "daemon/store/internal.h"
#include "daemon/store/job.h"
#include "daemon/store/parameter_rows.h"
#include "daemon/store/token.h"
#include "daemon/store/training.h"
#include "tests/unit/faulty_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 5
#define STEPS 5
#define NOTES 12
#define LONG_REASON "a reason that is long enough to be told from one that was cut, or that was never read at all"

static char reason[800]; /* of the last commit that failed */

/* The store's report on each step. */
enum said { NOT_TRIED, KEPT, NOT_KEPT, UNSURE };
struct life {
    struct store *store, *reader; /* the latter where flushes are apart */
    int64_t shown;                /* rows that the reader saw when all was flushed; -1: it could not read */
    bool over; /* a flush failed: the daemon ends then */
    enum said made[STEPS], ended[STEPS], noted[STEPS + 1];
    int64_t ids[STEPS], jobs[STEPS], trainings[STEPS];
};

/* Rows of what each change adds to, as a GET would see them: -1 if they cannot be read. */
static int64_t look_at_reader(struct life *life)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(life->reader, &err,
                                     "SELECT (SELECT count(*) FROM idempotency) + (SELECT count(*) FROM ensemble) + (SELECT count(*) "
                                     "FROM ensemble WHERE ended IS NOT NULL) + (SELECT count(*) FROM event WHERE kind = 'note')", "");
    int64_t n = -1;

    if (stmt != NULL && store_row(life->reader, stmt, &err) == 1) {
        n = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return n;
}

static void look_before_flush(struct life *life)
{
    int64_t n = life->reader != NULL ? look_at_reader(life) : -1;

    MUST(n == -1 || life->shown == -1 || n == life->shown, "%lld rows are shown where %lld are flushed", (long long)n,
         (long long)life->shown);
}

static void look_after_flush(struct life *life)
{
    if (life->reader != NULL)
        life->shown = look_at_reader(life);
}

static enum said commit(struct life *life)
{
    struct error err;
    int rc = store_commit(life->store, &err);

    snprintf(reason, sizeof reason, "%s", rc < 0 ? err.text : "");
    if (rc < 0)
        MUST((strcmp(err.code, "store_full") == 0 || strcmp(err.code, "store_io") == 0) && err.text[0],
             "a commit fails with %s: %s", err.code, err.text);
    MUST(!store_dirty(life->store), "something is left of a commit");
    if (rc == 0 && store_owes_flush(life->store)) {
        look_before_flush(life);
        if (store_flush(life->store, &err) < 0) {
            life->over = true;
            return UNSURE;
        }
        store_flushed(life->store);
    }
    look_after_flush(life);
    /* where the power goes during a commit, nobody can tell */
    return rc == 0 ? KEPT : faultfs_power_is_off() ? UNSURE : NOT_KEPT;
}

static void make(struct life *life, int step)
{
    struct ensemble_row ens = {.state = ENSEMBLE_RUNNING, .adapter = "local", .stream_key = "0", .count = 2 * MEMBERS,
                               .width = MEMBERS, .next_index = MEMBERS, .created_ms = 1000 + step};
    struct job_row job = {.adapter = "local", .size = MEMBERS, .created_ms = 1};
    struct training_row training = {.ranks = 1, .generation = 1, .created_ms = 1};
    struct error err;

    if (life->over)
        return;
    snprintf(ens.name, sizeof ens.name, "ensemble %d", step);
    store_ensemble_insert(life->store, &ens, "{\"a\": \"spec\"}", &err);
    job.ensemble = training.ensemble = ens.id;
    store_job_insert(life->store, 0x3f9c2a71, &job, &err);
    for (int64_t i = 0; i < MEMBERS; i++) {
        store_member_put(life->store, &(struct member_row){.ensemble = ens.id, .index = i, .state = MEMBER_SUBMITTED,
                                                           .attempts = 1, .reason = LONG_REASON}, &err);
        store_attempt_insert(life->store, &(struct attempt_row){.ensemble = ens.id, .index = i, .number = 1, .job = job.id,
                                                                .submitted_ms = 5}, &err);
        store_event_add(life->store, 5, "member.submitted", ens.id, i, json_pack("{s:s}", "reason", LONG_REASON), &err);
    }
    store_training_insert(life->store, &training, &err);
    store_metric_put(life->store, training.id, "loss", &(struct metric_point){.step = 1, .value = 0.5}, &err);
    store_rank_put(life->store, &(struct rank_row){.training = training.id, .generation = 1, .received = 7}, &err);
    life->made[step] = commit(life);
    life->ids[step] = ens.id;
    life->jobs[step] = job.id;
    life->trainings[step] = training.id;
}

static void end(struct life *life, int step)
{
    struct ensemble_row ens;
    struct job_row job = {.id = life->jobs[step], .state = JOB_ENDED, .submitted_ms = 1, .started_ms = 2, .ended_ms = 3};
    struct error err;
    int rc;

    if (life->over || life->made[step] != KEPT)
        return;
    rc = store_ensemble_get(life->store, life->ids[step], &ens, &err);
    if (rc < 0)
        return;
    MUST(rc == 1 && strncmp(ens.name, "ensemble ", 9) == 0 && strcmp(ens.adapter, "local") == 0,
         "ensemble %d is read as %d %s", step, rc, ens.name);
    for (int64_t i = 0; i < MEMBERS; i++) {
        struct member_row member;
        struct attempt_row attempt = {.ensemble = ens.id, .index = i, .number = 1, .end.outcome = ATTEMPT_SUCCEEDED,
                                      .end.started_ms = 6, .end.ended_ms = 7, .end.host = "node"};

        rc = store_member_get(life->store, ens.id, i, &member, &err);
        MUST(rc < 0 || (rc == 1 && strcmp(member.reason, LONG_REASON) == 0 && member.state == MEMBER_SUBMITTED),
             "member %lld of %d is read as %d", (long long)i, step, rc);
        if (rc == 1) {
            member.state = MEMBER_SUCCEEDED;
            member.reason[0] = '\0';
            store_attempt_update(life->store, &attempt, &err);
            store_member_put(life->store, &member, &err);
        } else {
            store_doom(life->store, &err); /* as the engine does: what follows would be a half */
        }
    }
    ens.state = ENSEMBLE_COMPLETE;
    ens.ended_ms = 9;
    store_job_update(life->store, &job, &err);
    store_bulk_piece(life->store, &(struct bulk){.kind = BULK_CANCEL, .ensemble = ens.id}, 100, NULL, &err);
    store_ensemble_update(life->store, &ens, &err);
    life->ended[step] = commit(life);
}

/* Other things than ensembles. */
static void note(struct life *life, int step)
{
    struct token_row token = {.role = TOKEN_READER, .created_ms = 1};
    char key[32];
    struct error err;

    if (life->over)
        return;
    snprintf(key, sizeof key, "key %d", step);
    snprintf(token.label, sizeof token.label, "token %d", step);
    memset(token.hash, 'a' + step, 64);
    store_token_insert(life->store, &token, &err);
    store_idempotency_put(life->store, key, "digest", 201, "{\"a\": \"reply\"}", 1000, &err);
    life->noted[step] = commit(life);
}

struct counted {
    int n;
    bool wrong;
};

static int count_member(void *arg, const struct member_row *row)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= row->state == MEMBER_SUBMITTED && strcmp(row->reason, LONG_REASON) != 0;
    return 0;
}

static int count_attempt(void *arg, const struct attempt_row *row)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= strncmp(row->job_name, "st-", 3) != 0;
    return 0;
}

static int count_event(void *arg, const struct event_row *row)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |=
        strcmp(row->kind, "member.submitted") != 0 || row->detail == NULL || strstr(row->detail, LONG_REASON) == NULL;
    return 0;
}

static int count_ensemble(void *arg, const struct ensemble_row *row)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= strncmp(row->name, "ensemble ", 9) != 0;
    return 0;
}

static int count_job(void *arg, const struct job_row *row)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= strncmp(row->name, "st-", 3) != 0 || strcmp(row->adapter, "local") != 0;
    return 0;
}

static int count_token(void *arg, const struct token_row *row)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= strlen(row->hash) != 64 || strncmp(row->label, "token ", 6) != 0;
    return 0;
}

static int count_name(void *arg, const char *name)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= strcmp(name, "loss") != 0;
    return 0;
}

static int count_point(void *arg, const struct metric_point *point)
{
    struct counted *c = arg;

    c->n++;
    c->wrong |= point->step != 1 || point->value != 0.5;
    return 0;
}

static int64_t count_said(const enum said *said, size_t size, enum said what)
{
    int64_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += said[i] == what;
    return n;
}

/* A list is whole, or an error. */
#define LIST(what, low, high, call)                                                                                    \
    do {                                                                                                               \
        struct counted c = {0, false};                                                                                 \
        int rc_ = call;                                                                                                \
        MUST(rc_ < 0 || (c.n >= (low) && c.n <= (high) && !c.wrong), "%s: a list of %d%s instead of %lld", what, c.n,  \
             c.wrong ? " wrong rows" : "", (long long)(low));                                                          \
        MUST(rc_ == 0 || (err.code[0] && err.text[0]), "%s: an error without a reason", what);                         \
    } while (0)

static void read_all(struct life *life, int step)
{
    struct store *s = life->store;
    struct error err = {.text = ""};
    int64_t made = count_said(life->made, STEPS, KEPT), unsure = count_said(life->made, STEPS, UNSURE);
    int64_t noted = count_said(life->noted, STEPS + 1, KEPT), tally[MEMBER_STATE_COUNT], id = life->ids[step];
    char digest[65], *text, key[32];
    int status, rc;

    sqlite3_db_release_memory(s->db);
    LIST("ensembles", made, made + unsure,
         store_ensemble_each(s, 0, &(struct ensemble_filter){0}, 100, count_ensemble, &c, &err));
    LIST("tokens", noted, noted + count_said(life->noted, STEPS + 1, UNSURE),
         store_token_each(s, 0, 100, count_token, &c, &err));
    LIST("live jobs", 0, made + unsure, store_job_each_live(s, count_job, &c, &err));
    if (life->made[step] != KEPT)
        return;
    LIST("members", MEMBERS, MEMBERS, store_member_each(s, id, MEMBER_STATE_COUNT, 0, 100, count_member, &c, &err));
    LIST("attempts", 1, 1, store_attempt_each(s, id, 2, count_attempt, &c, &err));
    LIST("events", MEMBERS, MEMBERS,
         store_event_each(s, 0, INT64_MAX, &(struct event_filter){.ensemble = id}, 100, count_event, &c, &err));
    LIST("metrics", 1, 1, store_metric_each_name(s, life->trainings[step], "", count_name, &c, &err));
    LIST("points", 1, 1,
         store_metric_each(s, life->trainings[step], "loss", INT64_MIN, -1, INT64_MAX, 3, count_point, &c, &err));
    rc = store_tally_get(s, id, tally, &err);
    MUST(rc < 0 ||
             tally[MEMBER_PENDING] + tally[MEMBER_SUBMITTED] + tally[MEMBER_SUCCEEDED] + tally[MEMBER_CANCELLED] ==
                 2 * MEMBERS,
         "a tally that does not add up");
    text = store_ensemble_spec(s, id, &err);
    MUST(text == NULL || strcmp(text, "{\"a\": \"spec\"}") == 0, "another spec");
    free(text);
    if (life->noted[step] != KEPT)
        return;
    snprintf(key, sizeof key, "key %d", step);
    rc = store_idempotency_get(s, key, digest, &status, &text, &err);
    MUST(rc != 0, "a reply is forgotten");
    if (rc == 1) {
        MUST(strcmp(digest, "digest") == 0 && status == 201 && strcmp(text, "{\"a\": \"reply\"}") == 0,
             "another reply");
        free(text);
    }
}

static void live(struct life *life)
{
    sqlite3_exec(life->store->db, "PRAGMA cache_size = 8; PRAGMA wal_autocheckpoint = 20", NULL, NULL, NULL);
    for (int step = 0; step < STEPS; step++) {
        make(life, step);
        read_all(life, step);
        if (step > 0)
            end(life, step - 1);
        note(life, step);
        read_all(life, step);
    }
}

static void told(int step, const char *what, enum said said, bool there)
{
    MUST(said != KEPT || there, "step %d: %s was kept, and is gone", step, what);
    MUST((said != NOT_KEPT && said != NOT_TRIED) || !there, "step %d: %s was not kept, and is there", step, what);
}

static void check_life(struct life *life)
{
    sqlite3 *db = look(path);

    is_whole(db);
    MUST(number_of(db, "SELECT count(*) FROM ensemble e WHERE (SELECT sum(n) FROM tally t WHERE t.ensemble = e.id) <> e.count "
                       "OR (SELECT count(*) FROM member m WHERE m.ensemble = e.id) <> 5 "
                       "OR (SELECT count(*) FROM attempt a WHERE a.ensemble = e.id) <> 5 "
                       "OR (SELECT count(*) FROM event v WHERE v.ensemble = e.id) <> 5 "
                       "OR (SELECT count(*) FROM job j WHERE j.ensemble = e.id AND (j.state = 'ended') = (e.state = "
                       "'complete') AND j.name LIKE 'st-%') <> 1 "
                       "OR (SELECT n FROM tally t WHERE t.ensemble = e.id AND t.state = 'succeeded') <> CASE e.state WHEN "
                       "'complete' THEN 5 ELSE 0 END") == 0, "something is there by half");
    for (int step = 0; step <= STEPS; step++) {
        char sql[200];

        if (step < STEPS) {
            snprintf(sql, sizeof sql, "SELECT count(*) FROM ensemble WHERE name = 'ensemble %d'", step);
            told(step, "an ensemble", life->made[step], number_of(db, sql) > 0);
            snprintf(sql, sizeof sql, "SELECT count(*) FROM ensemble WHERE name = 'ensemble %d' AND state = 'complete'",
                     step);
            told(step, "the end of an ensemble", life->ended[step], number_of(db, sql) > 0);
        }
        snprintf(sql, sizeof sql,
                 "SELECT (SELECT count(*) FROM token WHERE label = 'token %d') + (SELECT count(*) FROM "
                 "idempotency WHERE key = 'key %d')",
                 step, step);
        MUST(number_of(db, sql) != 1, "half of a note is there");
        told(step, "a note", life->noted[step], number_of(db, sql) == 2);
    }
    sqlite3_close(db);
}

static void flush_apart(struct life *life)
{
    struct error err;

    store_defer_flush(life->store, true);
    assert_int_equal(store_open_reader(&life->reader, life->store, &err), 0);
    look_after_flush(life);
}

static bool live_once(size_t fault, int64_t n, const char *template, bool apart)
{
    struct life life = {0};
    struct error err;
    bool struck;

    faulty_clear_dir();
    assert_int_equal(faultfs_install(n % 5 == 0), 0);
    write_file(template, path);
    snprintf(place, sizeof place, "life with %s at %lld%s", faults[fault].name, (long long)n,
             apart ? ", flushed apart" : "");
    if (faults[fault].kind == FAULT_POWER)
        faultfs_arm(FAULT_POWER, INT64_MAX, 1); /* what is written is followed from when a file is opened on */
    assert_int_equal(store_open(&life.store, dir, &err), 0);
    if (apart)
        flush_apart(&life);
    faultfs_arm(faults[fault].kind, n, faults[fault].times);
    live(&life);
    struck = faultfs_struck();
    if (faults[fault].kind != FAULT_POWER)
        faultfs_disarm();
    if (faults[fault].kind != FAULT_POWER && !life.over) { /* where it is gone before the end, the same store goes on */
        note(&life, STEPS);
        MUST(life.noted[STEPS] == KEPT, "it does not go on once the fault is gone: %s", reason);
    }
    store_close(life.reader);
    store_close(life.store);
    if (faults[fault].kind == FAULT_POWER)
        faultfs_restore((uint64_t)n);
    check_life(&life);
    if (store_open(&life.store, dir, &err) < 0)
        fail_msg("%s: not opened afterwards: %s", place, err.text);
    read_all(&life, STEPS - 1);
    store_close(life.store);
    return struck;
}

static void what_is_told_is_true_in_spite_of_faults(void **state)
{
    char template[96];
    struct store *store;
    struct error err;

    snprintf(template, sizeof template, "%s/template.db", dir);
    assert_int_equal(store_open(&store, dir, &err), 0);
    store_close(store);
    write_file(path, template);
    for (size_t fault = 0; fault < FAULTS; fault++)
        for (int64_t n = 1; live_once(fault, n, template, false); n = after(n, 12))
            ;
    for (size_t fault = 0; fault < FAULTS; fault++)
        for (int64_t n = 1; live_once(fault, n, template, true);
             n = after(n, faults[fault].kind == FAULT_MALLOC ? 3 : 12))
            ;
}

/* Small changes, a log that begins anew all the time, and flushes apart: what is on the disk when the power goes may
 * then be any part of what was written since the last of them. */
static bool cut_once(int64_t n, uint64_t seed, const char *template)
{
    int64_t kept = 0, there;
    struct life life = {0};
    struct error err;
    sqlite3 *db;
    bool struck;

    faulty_clear_dir();
    write_file(template, path);
    snprintf(place, sizeof place, "power cut at %lld, seed %lld", (long long)n, (long long)seed);
    faultfs_arm(FAULT_POWER, INT64_MAX, 1);
    assert_int_equal(store_open(&life.store, dir, &err), 0);
    flush_apart(&life);
    sqlite3_wal_autocheckpoint(life.store->db, 2 + (int)seed);
    faultfs_arm(FAULT_POWER, n, 1);
    for (int i = 0; i < NOTES && !life.over; i++) {
        store_event_add(life.store, 1, "note", i + 1, -1, i % 3 == 0 ? json_string(LONG_REASON LONG_REASON) : NULL, &err);
        if (i % 3 == 1) /* not every change is of all tables */
            store_idempotency_put(life.store, LONG_REASON + i, "digest", 201, LONG_REASON, 1000, &err);
        if (commit(&life) != KEPT)
            break;
        kept++;
    }
    struck = faultfs_struck();
    store_close(life.reader);
    store_close(life.store);
    faultfs_restore(seed);
    db = look(path);
    is_whole(db);
    there = number_of(db, "SELECT count(*) FROM event WHERE kind = 'note'");
    MUST(there >= kept, "%lld notes were kept, and %lld are there", (long long)kept, (long long)there);
    MUST(number_of(db, "SELECT coalesce(max(ensemble), 0) FROM event WHERE kind = 'note'") == there,
         "one between is gone");
    MUST(number_of(db, "SELECT count(*) FROM idempotency") == (there + 1) / 3, "half of a change is there");
    sqlite3_close(db);
    return struck;
}

static void a_power_cut_leaves_what_was_flushed(void **state)
{
    char template[96];
    struct store *store;
    struct error err;

    snprintf(template, sizeof template, "%s/template.db", dir);
    assert_int_equal(store_open(&store, dir, &err), 0);
    store_close(store);
    write_file(path, template);
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int64_t n = 1; cut_once(n, seed, template); n++)
            ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_told_is_true_in_spite_of_faults, faulty_new_dir, faulty_remove_dir),
        cmocka_unit_test_setup_teardown(a_power_cut_leaves_what_was_flushed, faulty_new_dir, faulty_remove_dir),
    };

    log_init("faults", getenv("FAULT_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    if (faultfs_install(false) < 0)
        return 99;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
