/* Memory runs short in a process that uses libstretto or libstretto-train: each allocation of the libraries' own, of
 * jansson and of ZeroMQ's messages and sockets fails once, one after the other. The process survives, and either
 * everything arrived or a call told an error. */
#include "common/files.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

enum { WIDTH = 20000, STEPS = 6, ROUNDS_MAX = 600 };

#define BUFFER "{\"policy\": \"fifo\", \"capacity\": 20000, \"batch\": 2}"

/* The linker sends what this program and the static libraries call here (--wrap). */
static atomic_int countdown; /* 0: nothing fails */
static atomic_bool forever;  /* and all that follow fail, too */
static atomic_int failed;
static _Thread_local bool exempt;

static bool fails(void)
{
    int n;

    if (exempt || atomic_load(&countdown) == 0)
        return false;
    if (atomic_load(&countdown) == 1 && atomic_load(&forever)) {
        atomic_fetch_add(&failed, 1);
        return true;
    }
    n = atomic_fetch_sub(&countdown, 1);
    if (n == 1) {
        atomic_fetch_add(&failed, 1);
        if (atomic_load(&forever))
            atomic_store(&countdown, 1);
    } else if (n < 1) {
        atomic_store(&countdown, 0);
    }
    return n == 1;
}

#define SEAM(type, name, none, parameters, ...)                                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        if (!fails())                                                                                                  \
            return __real_##name(__VA_ARGS__);                                                                         \
        errno = ENOMEM;                                                                                                \
        return none;                                                                                                   \
    }

SEAM(void *, malloc, NULL, (size_t size), size)
SEAM(void *, calloc, NULL, (size_t n, size_t size), n, size)
SEAM(void *, realloc, NULL, (void *p, size_t size), p, size)
SEAM(void *, reallocarray, NULL, (void *p, size_t n, size_t size), p, n, size)
SEAM(void *, aligned_alloc, NULL, (size_t to, size_t size), to, size)
SEAM(char *, strdup, NULL, (const char *s), s)
SEAM(void *, zmq_ctx_new, NULL, (void))
SEAM(void *, zmq_socket, NULL, (void *context, int type), context, type)
SEAM(int, zmq_msg_init_size, -1, (zmq_msg_t *msg, size_t size), msg, size)
SEAM(int, zmq_msg_init_data, -1, (zmq_msg_t * msg, void *data, size_t size, zmq_free_fn *release, void *hint), msg,
     data, size, release, hint)

/* The jansson library calls these. */
static void *jansson_malloc(size_t size)
{
    return malloc(size);
}

static void start_failing(int n, bool from_there_on)
{
    atomic_store(&failed, 0);
    atomic_store(&forever, from_there_on);
    atomic_store(&countdown, n);
}

static void stop_failing(void)
{
    atomic_store(&countdown, 0);
}

enum shortage { OF_THE_OPENING, OF_ALL };

/* All that a member does; -1 if a call told an error, whose sentence is in `why`. If memory is short for the
 * opening alone, a stream that was opened works. */
static int be_a_member(const struct fixture *fx, int member, enum shortage shortage, char *why, size_t size)
{
    int64_t shape[] = {WIDTH};
    struct stretto *s;
    int u = -1, n = -1, rc;
    bool opened;

    rc = stretto_open(&s);
    opened = rc == 0;
    if (shortage == OF_THE_OPENING)
        stop_failing();
    for (int64_t step = 0; rc == 0 && step < STEPS; step++) {
        bool lent = step % 2 == 1, narrow = step % 4 < 2;
        double data[WIDTH];
        void *place = data;
        int64_t number = (int64_t)member * 1000 + step;

        u = stretto_field(s, "u", narrow ? STRETTO_FLOAT64 : STRETTO_FLOAT32, 1, shape);
        n = stretto_field(s, "n", STRETTO_INT64, 0, NULL);
        rc = u < 0 || n < 0 || (lent && stretto_lend(s, u, &place) < 0) ? -1 : 0;
        for (int i = 0; rc == 0 && i < WIDTH; i++)
            if (narrow)
                ((double *)place)[i] = member + (double)step / 8 + i;
            else
                ((float *)place)[i] = (float)(member + (double)step / 8 + i);
        if (rc == 0)
            rc = lent ? stretto_send_lent(s, u, step) : stretto_send(s, u, step, data);
        if (rc == 0)
            rc = stretto_send(s, n, step, &number);
        if (rc == 0)
            rc = stretto_checkpointed(s, fixture_path(fx, "checkpoint"), step);
    }
    if (rc == 0)
        rc = stretto_finish(s);
    snprintf(why, size, "%s", stretto_error(s));
    stretto_abort(s);
    if (shortage == OF_THE_OPENING && opened && rc < 0)
        fail_msg("a stream that was opened without enough memory does not work: %s", why);
    return rc;
}

static void set_member(const struct fixture *fx, int member)
{
    char text[64];

    snprintf(text, sizeof text, "%d", member);
    setenv("STRETTO_MEMBER", text, 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    snprintf(text, sizeof text, "{\"a\": %d, \"b\": 0.5}", member);
    setenv("STRETTO_PARAMS", text, 1);
    setenv("STRETTO_CHECKPOINT_DIR", fx->dir, 1);
    setenv("STRETTO_STREAM_SILENCE_MS", "20", 1);
}

/* A file, and an empty directory for its records, as the runner makes it. */
static void write_checkpoint(const struct fixture *fx)
{
    struct error err;
    char records[200];
    DIR *dir;

    snprintf(records, sizeof records, "%s/.stretto", fx->dir);
    mkdir(records, 0700);
    dir = opendir(records);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);

    assert_int_equal(file_write_whole(fixture_path(fx, "checkpoint"), "whole", 5, 0600, &err), 0);
}

static void clean(const struct fixture *fx)
{
    char command[200];

    snprintf(command, sizeof command, "rm -rf '%s/.stretto' '%s/checkpoint'", fx->dir, fx->dir);
    assert_int_equal(system(command), 0);
    fixture_fini((struct fixture *)fx);
}

/* The rank, in a process of its own, draws all samples of the members that were told that theirs had arrived. */
static void __attribute__((noreturn)) be_the_rank(const struct fixture *fx, const atomic_bool *arrived)
{
    int *times = calloc((size_t)ROUNDS_MAX * STEPS, sizeof *times);
    struct stretto_train *t;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    t = fixture_rank(0);
    fixture_draw_all(fx, t, STEPS, times);
    for (int i = 0; i < ROUNDS_MAX * STEPS; i++)
        if (atomic_load(&arrived[i / STEPS]) && times[i] == 0) {
            fprintf(stderr, "step %d of member %d was lost without a word\n", i % STEPS, i / STEPS);
            _exit(1);
        }
    stretto_train_close(t);
    free(times);
    _exit(0);
}

/* One member after the other, each of which misses another allocation. Returns how many there were; *errors counts
 * those that were told. */
static int be_members(const struct fixture *fx, enum shortage shortage, atomic_bool *arrived, int *errors)
{
    bool again = true;
    int member = 0;

    *errors = 0;
    for (; again; member++) {
        char why[256];
        int rc;

        assert_true(member < ROUNDS_MAX);
        set_member(fx, member);
        fixture_member_limit();
        write_checkpoint(fx);
        start_failing(member + 1, false);
        rc = be_a_member(fx, member, shortage, why, sizeof why);
        stop_failing();
        again = atomic_load(&failed) > 0;
        if (rc < 0)
            assert_true(again && *why != '\0');
        *errors += rc < 0;
        atomic_store(&arrived[member], rc == 0);
    }
    print_message("%d allocations failed, %d members were told an error\n", member - 1, *errors);
    return member;
}

/* Returns flags that the rank's process sees, too. */
static atomic_bool *shared_flags(void)
{
    void *flags =
        mmap(NULL, ROUNDS_MAX * sizeof(atomic_bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(flags != MAP_FAILED);
    return flags;
}

static void a_member_without_memory_is_told(void **state)
{
    atomic_bool *arrived = shared_flags();
    struct fixture fx;
    int status, errors, members;
    pid_t rank;

    fixture_init(&fx, WIDTH, 1, ROUNDS_MAX, BUFFER);
    if ((rank = fork()) == 0)
        be_the_rank(&fx, arrived);
    members = be_members(&fx, OF_ALL, arrived, &errors);
    assert_true(members > 100 && errors > 10);
    fixture_over(&fx);
    assert_int_equal(waitpid(rank, &status, 0), rank);
    assert_int_equal(status, 0);
    clean(&fx);
    munmap(arrived, ROUNDS_MAX * sizeof *arrived);
}

static int is_published(void *arg)
{
    return access(fixture_path(arg, "g1-rank0.json"), F_OK) == 0;
}

static void change(const struct fixture *fx, const char *name, const char *key, json_t *value)
{
    struct error err;
    json_t *file = file_read_json(fixture_path(fx, name), &err);

    assert_non_null(file);
    json_object_set_new(file, key, value);
    assert_int_equal(file_write_json(fixture_path(fx, name), file, 0600, &err), 0);
    json_decref(file);
}

/* Tests the further needs of a stream over the network, such as the rank's key. */
static void a_member_elsewhere_without_memory_is_told(void **state)
{
    atomic_bool *arrived = shared_flags();
    struct fixture fx;
    int status, errors, members;
    pid_t rank;

    fixture_init(&fx, WIDTH, 1, ROUNDS_MAX, BUFFER);
    change(&fx, "training.json", "network", json_true());
    change(&fx, "training.json", "interface", json_string("lo"));
    if ((rank = fork()) == 0)
        be_the_rank(&fx, arrived);
    assert_true(fixture_wait(is_published, &fx, FIXTURE_LIMIT_SECONDS * 1000));
    change(&fx, "g1-rank0.json", "host", json_string("elsewhere"));
    members = be_members(&fx, OF_THE_OPENING, arrived, &errors);
    assert_true(members > 20 && errors > 10);
    fixture_over(&fx);
    assert_int_equal(waitpid(rank, &status, 0), rank);
    assert_int_equal(status, 0);
    clean(&fx);
    munmap(arrived, ROUNDS_MAX * sizeof *arrived);
}

/* Makes members look for ranks that are not there any more. */
static void write_former(const struct fixture *fx)
{
    static const char rank[] = "{\"host\": \"elsewhere\", \"endpoints\": [\"tcp://127.0.0.1:9\"]}",
                      current[] = "{\"version\": 1, \"generation\": 1, \"ranks\": 1}";
    struct error err;

    assert_int_equal(file_write_whole(fixture_path(fx, "g1-rank0.json"), rank, strlen(rank), 0600, &err), 0);
    assert_int_equal(file_write_whole(fixture_path(fx, "current.json"), current, strlen(current), 0600, &err), 0);
}

/* A member sends to ranks that do not answer, and misses an allocation when it goes on to others; otherwise as
 * be_a_member(). */
static int follow(const struct fixture *fx, int member, char *why, size_t size)
{
    int64_t shape[] = {WIDTH};
    static float data[WIDTH];
    struct stretto *s = NULL;
    int rc, u, n;

    write_former(fx);
    if (stretto_open_patiently(&s, 5) != 0)
        fail_msg("%s", stretto_error(s));
    u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape);
    n = stretto_field(s, "n", STRETTO_INT64, 0, NULL);
    for (int64_t step = 0; step < STEPS; step++) { /* they share a message, whose frames are copied */
        int64_t number = (int64_t)member * 1000 + step;

        assert_int_equal(stretto_send(s, n, step, &number), 0);
    }
    for (int64_t step = 0; step < STEPS; step++) {
        for (int i = 0; i < WIDTH; i++)
            data[i] = (float)(member + (double)step / 8 + i);
        assert_int_equal(stretto_send(s, u, step, data), 0);
    }
    assert_int_equal(stretto_finish(s), STRETTO_AGAIN);
    fixture_announce(fx, 1);
    start_failing(member + 1, false);
    while ((rc = stretto_finish(s)) == STRETTO_AGAIN)
        ;
    stop_failing();
    snprintf(why, size, "%s", stretto_error(s));
    stretto_abort(s);
    return rc;
}

static void a_member_that_goes_on_to_other_ranks_without_memory_is_told(void **state)
{
    atomic_bool *arrived = shared_flags();
    int status, errors = 0, member = 0;
    struct fixture fx;
    bool again = true;
    pid_t rank;

    fixture_init(&fx, WIDTH, 1, ROUNDS_MAX, BUFFER);
    fixture_generation(&fx, 2, 1);
    if ((rank = fork()) == 0)
        be_the_rank(&fx, arrived);
    for (; again; member++) {
        char why[256];
        int rc;

        assert_true(member < ROUNDS_MAX);
        set_member(&fx, member);
        unsetenv("STRETTO_CHECKPOINT_DIR");
        fixture_member_limit();
        rc = follow(&fx, member, why, sizeof why);
        again = atomic_load(&failed) > 0;
        if (rc < 0)
            assert_true(again && *why != '\0');
        errors += rc < 0;
        atomic_store(&arrived[member], rc == 0);
    }
    print_message("%d allocations failed, %d members were told an error\n", member - 1, errors);
    assert_true(member > 20 && errors > 3);
    fixture_over(&fx);
    assert_int_equal(waitpid(rank, &status, 0), rank);
    assert_int_equal(status, 0);
    unlink(fixture_path(&fx, "g1-rank0.json"));
    fixture_fini(&fx);
    munmap(arrived, ROUNDS_MAX * sizeof *arrived);
}

static pid_t start_member(const struct fixture *fx)
{
    pid_t pid = fork();
    char why[256];

    if (pid != 0)
        return pid;
    exempt = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_member(fx, 0);
    if (be_a_member(fx, 0, OF_ALL, why, sizeof why) == 0)
        _exit(0);
    fprintf(stderr, "member: %s\n", why);
    _exit(1);
}

static void end_member(pid_t pid, bool well)
{
    int status;

    if (!well)
        kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(!well || status == 0);
}

/* One life of a rank; whether a call told an error. */
static bool be_a_training(const struct fixture *fx, pid_t member)
{
    int times[STEPS] = {0}, rc;
    struct stretto_train *t;
    bool told = false;

    if (stretto_train_open(&t) < 0) {
        stop_failing();
        assert_true(*stretto_train_error(t) != '\0' && *stretto_train_error_code(t) != '\0');
        end_member(member, false);
        stretto_train_close(t);
        return true;
    }
    exempt = true;
    while (fixture_stats(t).finalized < 1)
        assert_true(fixture_draw(fx, t, 10, STEPS, times) >= STRETTO_TRAIN_AGAIN);
    end_member(member, true);
    while (fixture_stats(t).unseen > 0)
        assert_int_equal(fixture_draw(fx, t, 30000, STEPS, times), 2);
    for (int step = 0; step < STEPS; step++)
        assert_true(times[step] > 0);
    exempt = false;
    rc = stretto_train_metric(t, "loss", 1, 0.5);
    told = rc < 0;
    assert_true(rc == 0 || *stretto_train_error(t) != '\0');
    rc = stretto_train_report(t, 1, &(int64_t){0}, &(double){0.5});
    told = told || rc < 0;
    assert_true(rc == 0 || *stretto_train_error(t) != '\0');
    rc = stretto_train_done(t);
    told = told || rc < 0;
    assert_true(rc == 0 || *stretto_train_error(t) != '\0');
    stop_failing();
    assert_int_equal(access(fixture_path(fx, "done-rank0.json"), F_OK), rc);
    stretto_train_close(t);
    return told;
}

static void a_training_without_memory_is_told(void **state)
{
    const char *stride = getenv("NO_MEMORY_STRIDE"); /* 1: each allocation, which takes three times as long */
    bool again = true;
    int n = 1, rounds = 0, errors = 0;

    for (; again; n += stride != NULL ? atoi(stride) : 3, rounds++) {
        struct fixture fx;
        pid_t member;

        assert_true(n < ROUNDS_MAX);
        fixture_init(&fx, WIDTH, 1, 1, BUFFER);
        write_checkpoint(&fx);
        member = start_member(&fx);
        start_failing(n, false);
        errors += be_a_training(&fx, member);
        again = atomic_load(&failed) > 0;
        clean(&fx);
    }
    print_message("%d of %d allocations failed, %d times a call told an error\n", rounds - 1, n, errors);
    assert_true(n > 100 && errors > 10);
}

/* Not even a handle can be had. */
static void nothing_at_all_is_told_as_well(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;

    fixture_init(&fx, WIDTH, 1, 1, BUFFER);
    set_member(&fx, 0);
    start_failing(1, true);
    assert_int_equal(stretto_open(&s), -1);
    assert_int_equal(stretto_train_open(&t), -1);
    stop_failing();
    assert_string_equal(stretto_error(s), "no memory for the stream");
    assert_string_equal(stretto_train_error_code(t), "train_memory");
    stretto_abort(s);
    stretto_train_close(t);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_at_all_is_told_as_well),
        cmocka_unit_test(a_member_without_memory_is_told),
        cmocka_unit_test(a_member_elsewhere_without_memory_is_told),
        cmocka_unit_test(a_member_that_goes_on_to_other_ranks_without_memory_is_told),
        cmocka_unit_test(a_training_without_memory_is_told),
    };

    json_set_alloc_funcs(jansson_malloc, free);
    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
