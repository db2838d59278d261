#include "tests/unit/stream_fixture.h"

#include "common/files.h"
#include "common/timefmt.h"
#include "tests/unit/unit.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *fixture_path(const struct fixture *fx, const char *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", fx->dir, name);
    return path;
}

static void write_text(const struct fixture *fx, const char *name, const char *text)
{
    struct error err;

    assert_int_equal(file_write_whole(fixture_path(fx, name), text, strlen(text), 0600, &err), 0);
}

void fixture_init(struct fixture *fx, int width, int with_n, int members, const char *buffer)
{
    fixture_init_ranks(fx, 1, width, with_n, members, buffer);
}

void fixture_init_ranks(struct fixture *fx, int ranks, int width, int with_n, int members, const char *buffer)
{
    char fields[200], text[1200];

    snprintf(fx->dir, sizeof fx->dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(fx->dir));
    fx->width = width;
    fx->with_n = with_n;
    snprintf(fields, sizeof fields, "{\"u\": {\"dtype\": \"float32\", \"shape\": [%d]}%s}", width,
             with_n ? ", \"n\": {\"dtype\": \"int64\", \"shape\": []}" : "");
    snprintf(
        text, sizeof text,
        "{\"version\": 1, \"ensemble\": 7, \"training\": 3, \"job\": \"st-0-1\", \"generation\": 1, \"ranks\": %d, "
        "\"count\": %d, \"control\": null, \"stream\": \"%s\", \"stream_key\": \"9f86d081884c7d65\", "
        "\"parameters\": [\"a\", \"b\"], \"fields\": %s, \"buffer\": %s}",
        ranks, members, fx->dir, fields, buffer);
    write_text(fx, "training.json", text);
    snprintf(text, sizeof text, "{\"version\": 1, \"generation\": 1, \"ranks\": %d}", ranks);
    write_text(fx, "current.json", text);
    fx->ranks = ranks;
    fx->generation = 1;
    setenv("STRETTO_TRAINING_DIR", fx->dir, 1);
    setenv("STRETTO_RANK", "0", 1);
    setenv("STRETTO_TMPDIR", fx->dir, 1);
    setenv("STRETTO_STREAM", fx->dir, 1);
    setenv("STRETTO_STREAM_KEY", "9f86d081884c7d65", 1);
    setenv("STRETTO_ENSEMBLE", "7", 1);
    setenv("STRETTO_FIELDS", fields, 1);
    unsetenv("STRETTO_DEADLINE");
    unsetenv("STRETTO_STREAM_SILENCE_MS");
    unsetenv("STRETTO_STREAM_CHECKSUM");
}

/* Ranks of another generation belong to another job, which has a temporary directory of its own. */
static const char *tmpdir_of(const struct fixture *fx, int generation)
{
    char name[20];

    snprintf(name, sizeof name, "tmp%d", generation);
    return fixture_path(fx, name);
}

void fixture_generation(struct fixture *fx, int generation, int ranks)
{
    struct error err;
    json_t *training = file_read_json(fixture_path(fx, "training.json"), &err);

    assert_non_null(training);
    json_object_set_new(training, "generation", json_integer(generation));
    json_object_set_new(training, "ranks", json_integer(ranks));
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), training, 0600, &err), 0);
    json_decref(training);
    fx->generation = generation;
    fx->ranks = ranks;
    assert_int_equal(mkdir(tmpdir_of(fx, generation), 0700), 0);
    setenv("STRETTO_TMPDIR", tmpdir_of(fx, generation), 1);
}

void fixture_announce(const struct fixture *fx, int keeps)
{
    char text[120];

    snprintf(text, sizeof text, "{\"version\": 1, \"generation\": %d, \"ranks\": %d, \"keeps\": %d}", fx->generation,
             fx->ranks, keeps > 0 ? keeps : fx->generation);
    write_text(fx, "current.json", text);
}

/* Removes files that processes which were killed had begun to write. This process leaves none. */
static void remove_begun(const struct fixture *fx)
{
    char own[32];
    glob_t begun;

    snprintf(own, sizeof own, ".%d.", (int)getpid());
    if (glob(fixture_path(fx, "*.tmp"), 0, NULL, &begun) != 0)
        return;
    for (size_t i = 0; i < begun.gl_pathc; i++)
        if (strstr(begun.gl_pathv[i], own) == NULL)
            unlink(begun.gl_pathv[i]);
    globfree(&begun);
}

void fixture_fini(struct fixture *fx)
{
    static const char *const files[] = {"training.json",       "current.json",    "reception.json",
                                        "metrics-rank0.jsonl", "done-rank0.json", "proxy"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(fixture_path(fx, files[i]));
    for (int rank = 0; rank < FIXTURE_RANKS_MAX; rank++) {
        char name[40];

        snprintf(name, sizeof name, "status-rank%d.json", rank);
        unlink(fixture_path(fx, name));
        for (int generation = 1; generation <= fx->generation; generation++) {
            snprintf(name, sizeof name, "g%d-rank%d.json", generation, rank);
            unlink(fixture_path(fx, name));
        }
    }
    for (int generation = 2; generation <= fx->generation; generation++)
        rmdir(tmpdir_of(fx, generation));
    remove_begun(fx);
    assert_int_equal(rmdir(fx->dir), 0);
}

struct stretto_train *fixture_rank(int rank)
{
    struct stretto_train *t;
    char text[16];

    snprintf(text, sizeof text, "%d", rank);
    setenv("STRETTO_RANK", text, 1);
    if (stretto_train_open(&t) < 0)
        fail_msg("%s", stretto_train_error(t));
    return t;
}

void fixture_over(const struct fixture *fx)
{
    write_text(fx, "reception.json", "{\"version\": 1, \"over\": true, \"succeeded\": 1, \"other\": 0}");
}

const char *fixture_endpoint(const struct fixture *fx)
{
    static char endpoint[200];
    struct error err;
    json_t *value = file_read_json(fixture_path(fx, "g1-rank0.json"), &err);

    assert_non_null(value);
    snprintf(endpoint, sizeof endpoint, "%s",
             json_string_value(json_array_get(json_object_get(value, "endpoints"), 0)));
    json_decref(value);
    return endpoint;
}

void fixture_redirect(const struct fixture *fx, const char *endpoint)
{
    struct error err;
    json_t *value = file_read_json(fixture_path(fx, "g1-rank0.json"), &err);

    assert_non_null(value);
    json_array_set_new(json_object_get(value, "endpoints"), 0, json_string(endpoint));
    assert_int_equal(file_write_json(fixture_path(fx, "g1-rank0.json"), value, 0600, &err), 0);
    json_decref(value);
}

struct stretto *fixture_member(int member, int attempt)
{
    struct stretto *s;
    char text[64];

    snprintf(text, sizeof text, "%d", member);
    setenv("STRETTO_MEMBER", text, 1);
    snprintf(text, sizeof text, "%d", attempt);
    setenv("STRETTO_ATTEMPT", text, 1);
    snprintf(text, sizeof text, "{\"a\": %d, \"b\": 0.5}", member);
    setenv("STRETTO_PARAMS", text, 1);
    if (stretto_open(&s) < 0)
        fail_msg("%s", stretto_error(s));
    return s;
}

int fixture_send(const struct fixture *fx, struct stretto *s, int member, int64_t step)
{
    int64_t shape[] = {fx->width}, n = (int64_t)member * 1000 + step;
    int u = stretto_field(s, "u", STRETTO_FLOAT64, 1, shape), number = 0, rc;
    double *data = malloc((size_t)fx->width * sizeof *data);

    for (int i = 0; i < fx->width; i++)
        data[i] = member + (double)step / 8 + i;
    rc = u < 0 ? -1 : stretto_send(s, u, step, data);
    free(data);
    if (rc == 0 && fx->with_n) {
        number = stretto_field(s, "n", STRETTO_INT64, 0, NULL);
        rc = number < 0 ? -1 : stretto_send(s, number, step, &n);
    }
    return rc;
}

static void check_sample(const struct fixture *fx, const float *u, int64_t n, const double *params, int64_t member,
                         int64_t step)
{
    assert_true(params[0] == (double)member && params[1] == 0.5);
    if (fx->with_n)
        assert_int_equal(n, member * 1000 + step);
    for (int i = 0; i < fx->width; i++)
        if (u[i] != (float)((double)member + (double)step / 8 + i))
            fail_msg("member %d step %d element %d is %g", (int)member, (int)step, i, (double)u[i]);
}

int fixture_draw(const struct fixture *fx, struct stretto_train *t, int timeout_ms, int steps, int *times)
{
    size_t size = (size_t)stretto_train_batch_size(t);
    float *u = malloc(size * (size_t)fx->width * sizeof *u);
    int64_t *n = calloc(size, sizeof *n), *member = calloc(size, sizeof *member), *step = calloc(size, sizeof *step);
    double *params = malloc(size * 2 * sizeof *params);
    void *with[] = {n, u}, *without[] = {u};
    int count = stretto_train_batch(t, fx->with_n ? with : without, params, member, step, timeout_ms);

    for (int i = 0; i < count; i++) {
        check_sample(fx, u + (size_t)i * (size_t)fx->width, n[i], params + 2 * i, member[i], step[i]);
        times[member[i] * steps + step[i]]++;
    }
    free(u);
    free(n);
    free(member);
    free(step);
    free(params);
    return count;
}

void fixture_draw_all(const struct fixture *fx, struct stretto_train *t, int steps, int *times)
{
    int count;

    while ((count = fixture_draw(fx, t, FIXTURE_LIMIT_SECONDS * 1000 * (int)test_patience(), steps, times)) > 0)
        ;
    assert_int_equal(count, STRETTO_TRAIN_END);
}

struct stretto_train_stats fixture_stats(struct stretto_train *t)
{
    struct stretto_train_stats s;

    stretto_train_stats(t, &s);
    return s;
}

void fixture_train(const struct fixture *fx, struct stretto_train *t, uint64_t finalized, int steps, int *times)
{
    struct stretto_train_stats now, last = fixture_stats(t);
    int64_t since = time_monotonic_ms();

    while ((now = fixture_stats(t)).finalized < finalized) {
        assert_true(fixture_draw(fx, t, 10, steps, times) != STRETTO_TRAIN_END);
        if (now.received != last.received || now.drawn != last.drawn || now.finalized != last.finalized) {
            last = now;
            since = time_monotonic_ms();
        } else if (time_monotonic_ms() - since > (int64_t)FIXTURE_LIMIT_SECONDS * 1000 * test_patience()) {
            fail_msg("for %lld s nothing has come, with %d samples received and %d of %d members at their end",
                     (long long)(time_monotonic_ms() - since) / 1000, (int)now.received, (int)now.finalized,
                     (int)finalized);
        }
    }
    fixture_over(fx);
    fixture_draw_all(fx, t, steps, times);
}

void fixture_check_books(struct stretto_train *t, const int *times, int samples, int duplicates)
{
    struct stretto_train_stats s = fixture_stats(t);
    uint64_t draws[STRETTO_TRAIN_DRAWS] = {0};
    int total = 0;

    for (int i = 0; i < samples; i++) {
        int bin = 0;

        assert_true(times[i] >= 1);
        total += times[i];
        while (bin < STRETTO_TRAIN_DRAWS - 1 && times[i] > 1 << bin)
            bin++;
        draws[bin]++;
    }
    assert_memory_equal(s.draws, draws, sizeof draws);
    assert_int_equal(s.received, samples + duplicates);
    assert_int_equal(s.unique, samples);
    assert_int_equal(s.duplicates, duplicates);
    assert_int_equal(s.drawn, samples);
    assert_int_equal(s.drawn + s.repeats, total);
    assert_int_equal(s.population + s.unseen, 0);
}

static void on_alarm(int number)
{
    static const char text[] = "the time limit of this program's tests is over: something waits for what never comes\n";

    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(125);
    signal(SIGALRM, SIG_DFL);
    raise(SIGALRM);
}

int fixture_time_limit(void **state)
{
    signal(SIGALRM, on_alarm);
    test_limit(240);
    return 0;
}

void fixture_member_limit(void)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)time(NULL) + (long long)FIXTURE_LIMIT_SECONDS * test_patience());
    setenv("STRETTO_DEADLINE", text, 1);
}

int fixture_wait(int (*cond)(void *arg), void *arg, int ms)
{
    int64_t until = time_monotonic_ms() + (int64_t)ms * test_patience();

    while (!cond(arg)) {
        if (time_monotonic_ms() > until)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return 1;
}
