/* Small frames gather in messages while others are on their way, and none waits for the program's next call. */
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { WIDTH = 101, BYTES = WIDTH * 4, SPAN = FRAME_HEADER_SIZE + 408, WINDOW = 1024 };

/* A rank that never answers. */
struct mute {
    struct fixture fx;
    void *zmq, *socket;
    struct stretto_train *t; /* has made the run directory's files, and hears nothing */
};

static void mute_init(struct mute *m)
{
    char front[200];
    int limit = 60000;

    fixture_init(&m->fx, WIDTH, 0, 1, RESERVOIR(2000, 1, 1));
    m->t = fixture_rank(0);
    snprintf(front, sizeof front, "ipc://%s", fixture_path(&m->fx, "proxy"));
    m->zmq = zmq_ctx_new();
    m->socket = zmq_socket(m->zmq, ZMQ_ROUTER);
    zmq_setsockopt(m->socket, ZMQ_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(zmq_bind(m->socket, front), 0);
    fixture_redirect(&m->fx, front);
}

static void mute_fini(struct mute *m)
{
    zmq_close(m->socket);
    zmq_ctx_term(m->zmq);
    stretto_train_close(m->t);
    fixture_fini(&m->fx);
}

/* The next message of samples; how many frames it has, which must follow `last`. */
static int read_message(struct mute *m, uint64_t *last)
{
    static uint8_t data[2 * FRAME_SHARED_MAX];
    struct frame f = {.kind = FRAME_HELLO};
    size_t at = 0, size = 0;
    int frames = 0;

    while (f.kind == FRAME_HELLO) {
        int n;

        assert_true(zmq_recv(m->socket, data, sizeof data, 0) > 0); /* who */
        n = zmq_recv(m->socket, data, sizeof data, 0);
        assert_in_range(n, FRAME_HEADER_SIZE, FRAME_SHARED_MAX);
        size = (size_t)n;
        frame_decode(data, size, &f);
    }
    do {
        assert_int_equal(frame_decode(data + at, size - at, &f), FRAME_OK);
        assert_int_equal(f.sequence, ++*last);
        assert_int_equal(f.step, (int64_t)f.sequence - 1);
        frames++;
        for (size_t i = at + FRAME_HEADER_SIZE + BYTES; i < at + SPAN && i < size; i++)
            assert_int_equal(data[i], 0);
        at += frame_span(&f);
    } while (f.flags & FRAME_MORE);
    return frames;
}

/* So many frames fit into the window; they come in a few messages, in their order, and the last of them, too. */
static void frames_gather_while_others_are_on_their_way(void **state)
{
    struct mute m;
    uint64_t last = 0;
    int messages = 0;
    struct stretto *s = NULL;
    int64_t width = WIDTH;
    double u[WIDTH] = {0};

    mute_init(&m);
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{}", 1);
    assert_int_equal(stretto_open_patiently(&s, 100), 0);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 0);
    for (int step = 0; step < WINDOW; step++)
        assert_int_equal(stretto_send(s, 0, step, u), 0);
    while (last < WINDOW) {
        read_message(&m, &last);
        messages++;
    }
    assert_in_range(messages, 1 + WINDOW * SPAN / FRAME_SHARED_MAX, WINDOW / 4);
    assert_int_equal(stretto_send(s, 0, WINDOW, u), STRETTO_AGAIN);
    stretto_abort(s);
    mute_fini(&m);
}

static void send_without_delay(struct mute *m, struct stretto *s, int from, int to)
{
    for (int step = from; step < to; step++)
        assert_int_equal(fixture_send(&m->fx, s, 0, step), 0);
}

/* The program computes, or waits in something else: what it has sent is sent. */
static void what_is_held_goes_without_another_call(void **state)
{
    struct mute m;
    struct stretto *s;
    uint64_t last = 0;

    mute_init(&m);
    s = fixture_member(0, 1);
    for (uint64_t round = 1; round <= 5; round++) { /* each is less than a message */
        send_without_delay(&m, s, (int)last, (int)round * 10);
        while (last < round * 10)
            read_message(&m, &last);
    }
    stretto_abort(s);
    mute_fini(&m);
}

/* Nobody waits for a rank any more, however long ago the walltime ended. */
static void a_deadline_that_has_passed_ends_each_wait(void **state)
{
    struct mute m;
    struct stretto *s;

    mute_init(&m);
    test_limit(FIXTURE_LIMIT_SECONDS);
    for (int seconds = 1; seconds <= 1000; seconds *= 10) {
        char text[32];

        snprintf(text, sizeof text, "%lld", (long long)time(NULL) - seconds);
        setenv("STRETTO_DEADLINE", text, 1);
        s = fixture_member(0, 1);
        assert_int_equal(fixture_send(&m.fx, s, 0, 0), 0);
        assert_int_equal(stretto_finish(s), -1);
        assert_non_null(strstr(stretto_error(s), "walltime"));
        stretto_abort(s);
    }
    unlink(fixture_path(&m.fx, "current.json"));
    assert_int_equal(stretto_open(&s), -1); /* nor for one to be there */
    assert_non_null(strstr(stretto_error(s), "walltime"));
    stretto_abort(s);
    unsetenv("STRETTO_DEADLINE");
    fixture_time_limit(NULL);
    mute_fini(&m);
}

/* Returns how many threads there are besides this one. Each must leave all signals to the program, which may wait for
 * one. */
static int assert_others_block_signals(void)
{
    static const int some[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGCONT};
    DIR *tasks = opendir("/proc/self/task");
    int others = 0;

    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[300], line[200];
        unsigned long long blocked = 0;
        FILE *f;

        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        f = fopen(path, "r");
        assert_non_null(f);
        while (fgets(line, sizeof line, f) != NULL)
            sscanf(line, "SigBlk: %llx", &blocked);
        fclose(f);
        for (size_t i = 0; i < sizeof some / sizeof *some; i++)
            if (!(blocked >> (some[i] - 1) & 1))
                fail_msg("signal %d can land in a thread that the program did not start", some[i]);
        others++;
    }
    closedir(tasks);
    return others;
}

static void signals_are_left_to_the_program(void **state)
{
    struct mute m;
    struct stretto *s;
    uint64_t last = 0;

    mute_init(&m);
    s = fixture_member(0, 1);
    send_without_delay(&m, s, 0, 10);
    while (last < 10) /* some of it was held, and is sent by a thread of the library's */
        read_message(&m, &last);
    assert_true(assert_others_block_signals() >= 5); /* that one, the rank's three, and ZeroMQ's */
    stretto_abort(s);
    mute_fini(&m);
}

/* What is not sent yet when a stream is given up is nobody's. */
static void a_stream_is_given_up_while_frames_are_held(void **state)
{
    struct mute m;
    struct stretto *s;

    mute_init(&m);
    for (int round = 0; round < 50; round++) {
        s = fixture_member(0, 1);
        send_without_delay(&m, s, 0, 10);
        stretto_abort(s);
    }
    mute_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_gather_while_others_are_on_their_way),
        cmocka_unit_test(what_is_held_goes_without_another_call),
        cmocka_unit_test(a_deadline_that_has_passed_ends_each_wait),
        cmocka_unit_test(signals_are_left_to_the_program),
        cmocka_unit_test(a_stream_is_given_up_while_frames_are_held),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
