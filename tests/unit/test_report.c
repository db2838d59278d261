/* The reports of a rank to the daemon in its files: its progress, its metrics, and that it is done. */
#include "common/files.h"
#include "common/timefmt.h"
#include "tasks/train/faults.h"
#include "tasks/train/report.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_MS (FIXTURE_LIMIT_SECONDS * 1000)

struct waiting {
    const struct fixture *fx;
    const char *file, *text;
};

static int has_told(void *arg)
{
    const struct waiting *w = arg;
    struct error err;
    char *text;
    size_t size;
    int found;

    if (file_read(fixture_path(w->fx, w->file), 100000, &text, &size, &err) < 0)
        return 0;
    found = strstr(text, w->text) != NULL;
    free(text);
    return found;
}

/* The thread that writes metrics does so once a second: what was told after that, here after its first time, is written
 * at the end. */
static void a_training_that_ends_without_done_leaves_its_metrics(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    size_t size, lines = 0;
    char *metrics;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    assert_true(fixture_wait(has_told, &(struct waiting){&fx, "status-rank0.json", "\"state\""}, LIMIT_MS));
    for (int step = 0; step < 100; step++)
        assert_int_equal(stretto_train_metric(t, "loss", step, 0.5), 0);
    stretto_train_close(t);
    assert_int_equal(file_read(fixture_path(&fx, "metrics-rank0.jsonl"), 100000, &metrics, &size, &err), 0);
    for (size_t i = 0; i < size; i++)
        lines += metrics[i] == '\n';
    assert_int_equal(lines, 100);
    free(metrics);
    assert_int_equal(access(fixture_path(&fx, "done-rank0.json"), F_OK), -1);
    fixture_fini(&fx);
}

#define REPORTED 3000 /* members */

/* Asserts that the lines have each member once, with the mean of what was reported of it: 2 m + 0.5, NaN of the last,
 * and minus infinity of that before it. */
static void assert_means(const char *lines)
{
    char *told = calloc(REPORTED, 1);
    size_t n = 0;

    for (const char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, n++) {
        json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);
        json_int_t member = json_integer_value(json_object_get(json, "member"));
        const json_t *value = json_object_get(json, "value");

        assert_in_range(member, 0, REPORTED - 1);
        assert_false(told[member]);
        told[member] = 1;
        assert_true(json_real_value(json_object_get(json, "time")) > 1e9);
        if (member == REPORTED - 1)
            assert_true(json_is_null(value));
        else if (member == REPORTED - 2)
            assert_string_equal(json_string_value(value), "-Infinity");
        else
            assert_float_equal(json_number_value(value), 2 * (double)member + 0.5, 1e-12);
        json_decref(json);
    }
    assert_int_equal(n, REPORTED);
    free(told);
}

static void of_each_member_the_mean_is_told(void **state)
{
    int64_t *members = calloc(2 * REPORTED, sizeof *members);
    double *values = calloc(2 * REPORTED, sizeof *values);
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    size_t size;
    char *lines;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    for (int64_t m = 0; m < REPORTED; m++) {
        members[m] = members[REPORTED + m] = m;
        values[m] = (double)m;
        values[REPORTED + m] = m < REPORTED - 2 ? 3 * (double)m + 1 : m < REPORTED - 1 ? -INFINITY : NAN;
    }
    assert_int_equal(stretto_train_report(t, 2 * REPORTED, members, values), 0);
    assert_int_equal(stretto_train_report(t, 0, NULL, NULL), 0);
    assert_int_equal(stretto_train_report(t, 1, &(int64_t){-1}, values), -1);
    assert_string_equal(stretto_train_error_code(t), "train_member");
    stretto_train_close(t);
    assert_int_equal(file_read(fixture_path(&fx, "metrics-rank0.jsonl"), 10000000, &lines, &size, &err), 0);
    assert_means(lines);
    free(lines);
    free(members);
    free(values);
    fixture_fini(&fx);
}

/* A point of a metric, until it is in the file. */
static void tell_again(const struct fixture *fx, struct stretto_train *t, int step)
{
    char text[32];

    snprintf(text, sizeof text, "\"step\":%d,", step);
    assert_int_equal(stretto_train_metric(t, "loss", step, 0.5), 0);
    assert_true(fixture_wait(has_told, &(struct waiting){fx, "metrics-rank0.jsonl", text}, LIMIT_MS));
}

static void the_daemon_is_told(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    struct error err;
    json_t *done, *status;
    size_t size;
    char *metrics;
    int times[1] = {0};

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_train(&fx, t, 1, 1, times);
    assert_int_equal(stretto_train_metric(t, "loss", 1, 0.5), 0);
    assert_int_equal(stretto_train_metric(t, "loss", 2, NAN), 0);
    assert_int_equal(stretto_train_metric(t, "loss", 2, INFINITY), 0);
    assert_int_equal(stretto_train_metric(t, "", 2, 1), -1);
    assert_int_equal(access(fixture_path(&fx, "done-rank0.json"), F_OK), -1);
    assert_int_equal(stretto_train_done(t), 0);
    done = file_read_json(fixture_path(&fx, "done-rank0.json"), &err);
    status = file_read_json(fixture_path(&fx, "status-rank0.json"), &err);
    assert_string_equal(json_string_value(json_object_get(done, "state")), "done");
    assert_null(json_object_get(done, "early"));
    assert_true(json_equal(done, status) || json_object_size(done) == json_object_size(status));
    for (size_t i = 0; i < 6; i++) {
        static const char *const keys[] = {"received", "unique", "drawn", "batches", "finalized", "version"};

        assert_int_equal(json_integer_value(json_object_get(done, keys[i])), 1);
    }
    assert_int_equal(file_read(fixture_path(&fx, "metrics-rank0.jsonl"), 10000, &metrics, &size, &err), 0);
    assert_non_null(strstr(metrics, "\"value\":0.5}\n{\"name\":\"loss\",\"step\":2,"));
    assert_non_null(strstr(metrics, "\"value\":null}\n"));
    assert_non_null(strstr(metrics, "\"value\":\"Infinity\"}\n"));
    free(metrics);
    json_decref(done);
    json_decref(status);
    tell_again(&fx, t, 3); /* a second later the thread that reports has been there, and what is done stays so */
    tell_again(&fx, t, 4);
    status = file_read_json(fixture_path(&fx, "status-rank0.json"), &err);
    assert_string_equal(json_string_value(json_object_get(status, "state")), "done");
    json_decref(status);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void who_has_learnt_enough_takes_no_more(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    struct error err;
    json_t *done;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 0, 1));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
    assert_int_equal(stretto_close(s), 0);
    assert_int_equal(stretto_train_done(t), 0);
    assert_int_equal(stretto_train_batch(t, NULL, NULL, NULL, NULL, 0), STRETTO_TRAIN_END);
    done = file_read_json(fixture_path(&fx, "done-rank0.json"), &err);
    assert_string_equal(json_string_value(json_object_get(done, "state")), "done");
    assert_true(json_is_true(json_object_get(done, "early")));
    assert_int_equal(json_integer_value(json_object_get(done, "unique")), 1);
    assert_int_equal(json_integer_value(json_object_get(done, "drawn")), 0);
    json_decref(done);
    assert_int_equal(stretto_train_done(t), 0);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static int rests(void *t)
{
    return fixture_stats(t).samples_per_second == 0;
}

/* Draws of the same sample count as well. However long the machine stalls, a rate is that of at least one draw within
 * the time of the test. */
static void the_rate_is_that_of_all_draws(void **state)
{
    int64_t began = time_monotonic_ms();
    int draws = 0, times[1] = {0};
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    double rate;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(10, 1, 1));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
    assert_int_equal(stretto_close(s), 0);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, 1, times), 1);
    assert_true(fixture_wait(has_told, &(struct waiting){&fx, "status-rank0.json", "\"drawn\":1"}, LIMIT_MS));
    assert_true(fixture_wait(rests, t, LIMIT_MS));
    while ((rate = fixture_stats(t).samples_per_second) == 0) {
        assert_true(time_monotonic_ms() < began + LIMIT_MS);
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, 1, times), 1);
        draws++;
        usleep(200000);
    }
    assert_true(rate * (double)(time_monotonic_ms() - began) >= 1000);
    assert_true(rate <= draws / 0.5);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* A process that was killed may have left the beginning of a line; and it is not done any more. */
static void the_next_process_goes_on_with_the_files(void **state)
{
    static const char wanted[] = "{}\n{\"name\":\n{\"name\":\"loss\",";
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    char *metrics;
    size_t size;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(10, 1, 1));
    assert_int_equal(file_write_whole(fixture_path(&fx, "metrics-rank0.jsonl"), "{}\n{\"name\":", 11, 0600, &err), 0);
    assert_int_equal(file_write_whole(fixture_path(&fx, "done-rank0.json"), "{}", 2, 0600, &err), 0);
    setenv("STRETTO_RESTART", "1", 1);
    t = fixture_rank(0);
    unsetenv("STRETTO_RESTART");
    assert_int_equal(access(fixture_path(&fx, "done-rank0.json"), F_OK), -1);
    assert_int_equal(stretto_train_metric(t, "loss", 1, 0.5), 0);
    stretto_train_close(t);
    assert_int_equal(file_read(fixture_path(&fx, "metrics-rank0.jsonl"), 10000, &metrics, &size, &err), 0);
    if (strncmp(metrics, wanted, strlen(wanted)) != 0)
        fail_msg("it has %s", metrics);
    free(metrics);
    fixture_fini(&fx);
}

/* The daemon looks for what is held once it is told that the training is done. */
static void who_cannot_tell_what_it_holds_is_not_done(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    json_t *training;
    uint32_t *held;
    size_t size;

    fixture_init(&fx, 10, 0, 2, RESERVOIR(100, 50, 5));
    training = file_read_json(fixture_path(&fx, "training.json"), &err);
    json_object_set_new(training, "steps", json_integer(1));
    assert_int_equal(file_write_json(fixture_path(&fx, "training.json"), training, 0600, &err), 0);
    json_decref(training);
    t = fixture_rank(0);
    assert_int_equal(mkdir(fixture_path(&fx, "held-rank0.bin"), 0700), 0);
    assert_int_equal(stretto_train_done(t), -1);
    assert_non_null(strstr(stretto_train_error(t), "held-rank0.bin"));
    assert_int_equal(access(fixture_path(&fx, "done-rank0.json"), F_OK), -1);
    assert_int_equal(rmdir(fixture_path(&fx, "held-rank0.bin")), 0);
    assert_int_equal(stretto_train_done(t), 0);
    assert_int_equal(access(fixture_path(&fx, "done-rank0.json"), F_OK), 0);
    assert_int_equal(file_read(fixture_path(&fx, "held-rank0.bin"), 100, (char **)&held, &size, &err), 0);
    assert_int_equal(size, 2 * sizeof *held);
    assert_int_equal(held[0] + held[1], 0);
    free(held);
    stretto_train_close(t);
    unlink(fixture_path(&fx, "held-rank0.bin"));
    fixture_fini(&fx);
}

static void a_training_without_checkpoints_says_so(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    assert_true(stretto_train_checkpoint_due(t) == 0 && stretto_train_checkpoint_every_ms(t) == 0 &&
                stretto_train_unfinished(t) == 0);
    assert_true(stretto_train_resume(t) == NULL && stretto_train_resume_step(t) == -1 &&
                stretto_train_resume_ranks(t) == 0);
    assert_null(stretto_train_checkpoint_begin(t, 1));
    assert_string_equal(stretto_train_error_code(t), "train_checkpoint");
    for (int due = 0; due <= STRETTO_TRAIN_CHECKPOINT_LAST; due++) {
        assert_int_equal(stretto_train_checkpoint_cut(t, due), -1);
        assert_int_equal(stretto_train_checkpoint_end(t, due), -1);
    }
    /* the last one would end it */
    assert_int_equal(stretto_train_batch(t, NULL, NULL, NULL, NULL, 0), STRETTO_TRAIN_AGAIN);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* Each counter has a value that no other has; the number of samples that were drawn grows from look to look. */
static void count_distinctly(void *arg, struct stretto_train_stats *s)
{
    uint64_t *drawn = arg;

    *s = (struct stretto_train_stats){
        .received = 11, .unique = 12, .duplicates = 13, .rejected = 14, .drawn = *drawn += 1000, .batches = 15, .repeats = 16, .population = 17,
        .unseen = 18, .bytes = 19, .memory_bytes = 20, .finalized = 21, .skipped = 22, .room_wait_seconds = 24.5,
        .sample_wait_seconds = 25.5, .state = STRETTO_TRAIN_RECEIVING, .draws = {31, 32, 33, 34, 35, 36, 37, 38},
    };
    s->doing = *drawn % 2000 == 0 ? STRETTO_TRAIN_STARVED : STRETTO_TRAIN_SAVING;
    s->rejected_by[FRAME_BAD_KIND] = 41;
    s->rejected_by[FAULT_MEMBER] = 42;
}

static void each_counter_is_told_by_its_name(void **state)
{
    static const char *const names[] = {"received", "unique", "duplicates", "rejected", "batches", "repeats", "population", "unseen", "bytes",
                                        "memory_bytes", "finalized", "skipped"};
    static const char *const states[] = {"waiting", "receiving", "draining", "done", "unfinished"};
    static const char *const files[] = {"status-rank2.json", "done-rank2.json"};
    char dir[] = "/tmp/stretto-report-XXXXXX", path[80];
    uint64_t drawn = 0;
    struct train_config config = {.dir = mkdtemp(dir), .rank = 2, .ranks = 3, .restart = 4, .generation = 5, .job = "", .buffer.capacity = 51};
    struct error err;
    struct report *r = report_start(&config, count_distinctly, &drawn, &err);

    assert_non_null(r);
    while (report_rate(r) == 0)
        usleep(10000);
    for (int i = 0; i < 10; i++) {
        bool early = i % 3 == 0;

        assert_int_equal(report_done(r, (enum stretto_train_state)(i % 5), early, &err), 0);
        for (size_t file = 0; file < 2; file++) {
            json_t *json, *rejected = json_pack("{s:i, s:i}", fault_name(FRAME_BAD_KIND), 41, fault_name(FAULT_MEMBER), 42), *list;
            json_int_t told;

            snprintf(path, sizeof path, "%s/%s", dir, files[file]);
            json = file_read_json(path, &err);
            assert_string_equal(json_string_value(json_object_get(json, "state")), states[i % 5]);
            assert_int_equal(json_is_true(json_object_get(json, "early")), early);
            for (size_t k = 0; k < sizeof names / sizeof *names; k++)
                assert_int_equal(json_integer_value(json_object_get(json, names[k])), 11 + k);
            told = json_integer_value(json_object_get(json, "drawn"));
            assert_true(told > 0 && told % 1000 == 0);
            assert_int_equal(json_is_true(json_object_get(json, "starved")), told % 2000 == 0);
            assert_int_equal(json_is_true(json_object_get(json, "saving")), told % 2000 != 0);
            assert_true(json_integer_value(json_object_get(json, "rank")) == 2 &&
                        json_integer_value(json_object_get(json, "restart")) == 4);
            assert_true(json_integer_value(json_object_get(json, "generation")) == 5 &&
                        json_integer_value(json_object_get(json, "capacity")) == 51);
            assert_true(json_number_value(json_object_get(json, "room_wait_seconds")) == 24.5);
            assert_true(json_number_value(json_object_get(json, "sample_wait_seconds")) == 25.5);
            assert_true(json_number_value(json_object_get(json, "samples_per_second")) > 0);
            assert_true(json_number_value(json_object_get(json, "time")) > 1e9);
            assert_true(json_equal(json_object_get(json, "rejected_by"), rejected));
            list = json_object_get(json, "draws");
            assert_int_equal(json_array_size(list), STRETTO_TRAIN_DRAWS);
            for (size_t k = 0; k < STRETTO_TRAIN_DRAWS; k++)
                assert_int_equal(json_integer_value(json_array_get(list, k)), 31 + k);
            json_decref(rejected);
            json_decref(json);
        }
    }
    for (size_t file = 2; file-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", dir, files[file]);
        unlink(path);
    }
    assert_int_equal(mkdir(path, 0700), 0); /* the status cannot be written */
    assert_int_equal(report_done(r, STRETTO_TRAIN_DONE, false, &err), -1);
    assert_int_equal(rmdir(path), 0);
    report_stop(r);
    unlink(path); /* the thread may have written one since */
    assert_int_equal(rmdir(dir), 0); /* and it was not done */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_that_ends_without_done_leaves_its_metrics),
        cmocka_unit_test(of_each_member_the_mean_is_told),
        cmocka_unit_test(the_daemon_is_told),
        cmocka_unit_test(who_has_learnt_enough_takes_no_more),
        cmocka_unit_test(the_rate_is_that_of_all_draws),
        cmocka_unit_test(each_counter_is_told_by_its_name),
        cmocka_unit_test(a_training_without_checkpoints_says_so),
        cmocka_unit_test(the_next_process_goes_on_with_the_files),
        cmocka_unit_test(who_cannot_tell_what_it_holds_is_not_done),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
