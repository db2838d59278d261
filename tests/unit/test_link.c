/* A member's way to one rank, before a rank that says what the test wants. */
#include "tasks/member/link.h"

#include "common/timefmt.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;

/* The time to the next question is that of the settings, not the longest that it grows to. */
static void a_silent_rank_is_asked_again(void **state)
{
    struct environment env = {.silence = 5000, .silence_max = 30000, .parameters = json_object()};
    char *endpoint[] = {"ipc:///tmp/stretto-test-nobody"};
    struct rank_address address = {.endpoint = endpoint, .endpoints = 1};
    void *zmq = zmq_ctx_new();
    struct link_config config = {.env = &env, .address = &address, .zmq = zmq, .window_bytes = 1 << 20, .window_frames = 8};
    struct link *link = link_create(&config, &err);

    assert_non_null(link);
    assert_in_range(link_timeout(link), 0, 5000); /* HELLO is not answered yet */
    assert_true(link_unanswered(link) <= time_monotonic_ms());
    assert_int_equal(link_service(link, &err), 0);
    assert_true(link_settled(link) && !link_is_welcome(link) && !link_shares(link));
    assert_true(link_oldest(link) == UINT64_MAX);
    link_destroy(link);
    zmq_ctx_term(zmq);
    json_decref(env.parameters);
}

/* Reads the link's next frame as a rank; serves the link while there is none. */
static struct frame heard_by(void *rank, struct link *link, uint8_t sender[64], int *size)
{
    uint8_t message[4096];
    struct frame f;
    int n;

    while ((*size = zmq_recv(rank, sender, 64, ZMQ_DONTWAIT)) < 0) {
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }
    n = zmq_recv(rank, message, sizeof message, 0);
    assert_in_range(n, FRAME_HEADER_SIZE, sizeof message);
    assert_int_equal(frame_decode(message, (size_t)n, &f), FRAME_OK);
    return f;
}

static void say(void *rank, const uint8_t sender[64], int size, struct frame f)
{
    uint8_t header[FRAME_HEADER_SIZE];

    frame_encode(&f, header);
    assert_int_equal(zmq_send(rank, sender, (size_t)size, ZMQ_SNDMORE), size);
    assert_int_equal(zmq_send(rank, header, sizeof header, 0), FRAME_HEADER_SIZE);
}

static void assert_head(struct frame f, enum frame_kind kind, uint64_t sequence)
{
    assert_int_equal(f.kind, kind);
    assert_true(f.key == 11 && f.ensemble == 12 && f.member == 13 && f.attempt == 14 && f.session == 15 &&
                f.generation == 16);
    assert_int_equal(f.sequence, sequence);
}

static void a_rank_that_has_answered_may_ask_again(void **state)
{
    struct environment env = {.key = 11, .ensemble = 12, .member = 13, .attempt = 14, .silence = 3600000, .silence_max = 3600000,
                              .parameters = json_object()};
    char *endpoint[] = {"inproc://rank"};
    struct rank_address address = {.endpoint = endpoint, .endpoints = 1};
    void *zmq = zmq_ctx_new(), *rank = zmq_socket(zmq, ZMQ_ROUTER);
    uint64_t sent = 0;
    struct link_config config = {.env = &env, .address = &address, .zmq = zmq, .window_bytes = 1 << 20, .window_frames = 8, .sent = &sent,
                                 .session = 15, .generation = 16};
    struct link *link;
    struct frame f = {0}, answer = {.key = 11, .session = 15};
    zmq_msg_t msg;
    uint8_t sender[64];
    int64_t idle;
    int size;

    zmq_setsockopt(rank, ZMQ_LINGER, &(int){0}, sizeof(int));
    assert_int_equal(zmq_bind(rank, endpoint[0]), 0);
    link = link_create(&config, &err);
    assert_non_null(link);
    assert_head(heard_by(rank, link, sender, &size), FRAME_HELLO, 0);
    assert_true(link_unanswered(link) < INT64_MAX);
    say(rank, sender, size, (struct frame){.kind = FRAME_REFUSED, .key = 11, .session = 14}); /* another stream's, */
    say(rank, sender, size, (struct frame){.kind = FRAME_REFUSED, .key = 12, .session = 15}); /* and a stranger's */
    answer.kind = FRAME_WELCOME;
    say(rank, sender, size, answer);
    while (!link_is_welcome(link)) {
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }
    assert_true(link_unanswered(link) == INT64_MAX); /* it is not asked again */
    for (idle = time_monotonic_ms(); time_monotonic_ms() == idle;)
        usleep(1000);
    assert_int_equal(zmq_msg_init_size(&msg, FRAME_HEADER_SIZE), 0);
    assert_int_equal(link_send(link, &f, &msg, &err), 0);
    assert_true(link_unanswered(link) > idle); /* it has owed nothing while there was nothing to answer */
    assert_head(heard_by(rank, link, sender, &size), FRAME_SAMPLE, 1);
    answer.kind = FRAME_ACK;
    answer.sequence = 1;
    say(rank, sender, size, answer);
    while (link_oldest(link) != UINT64_MAX) {
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }
    answer.kind = FRAME_WHO;
    say(rank, sender, size, answer); /* it has forgotten the stream */
    f = heard_by(rank, link, sender, &size);
    assert_head(f, FRAME_HELLO, 1);
    assert_int_equal(f.step, 1); /* what it had acknowledged is not kept any more */
    answer.kind = FRAME_FINALIZED;
    say(rank, sender, size, answer); /* before it is asked for: it does not count */
    answer.kind = FRAME_WELCOME;
    answer.step = 1;
    say(rank, sender, size, answer);
    while (link_unanswered(link) != INT64_MAX) {
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }

    assert_int_equal(zmq_msg_init_size(&msg, FRAME_HEADER_SIZE), 0);
    f = (struct frame){.step = 7};
    assert_int_equal(link_send(link, &f, &msg, &err), 0);
    link_skip(link);
    link_skip(link);
    link_skip(link);
    assert_head(heard_by(rank, link, sender, &size), FRAME_SAMPLE, 2);
    answer.kind = FRAME_REWIND;
    say(rank, sender, size, answer);
    f = heard_by(rank, link, sender, &size);
    assert_head(f, FRAME_SAMPLE, 2);
    assert_int_equal(f.step, 7);
    assert_int_equal(link_finalize(link, &err), 0);
    answer.kind = FRAME_FINALIZED;
    say(rank, sender, size, answer); /* before it holds all */
    answer.kind = FRAME_ACK;
    answer.sequence = 2;
    say(rank, sender, size, answer);
    while (link_oldest(link) != UINT64_MAX) {
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }
    assert_false(link_settled(link));
    f = heard_by(rank, link, sender, &size);
    assert_head(f, FRAME_FINALIZE, 2);
    assert_int_equal(f.step, 3); /* what it did not send */
    assert_false(link_settled(link));
    answer.kind = FRAME_FINALIZED;
    answer.step = 5;
    say(rank, sender, size, answer);
    while (!link_settled(link)) {
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }
    assert_int_equal(link_member_held(link), 5);
    assert_string_equal(link_complaint(link), "");
    answer.kind = FRAME_REFUSED;
    say(rank, sender, size, answer);
    while (link_service(link, &err) == 0)
        usleep(1000);
    assert_string_equal(err.code, "stream_refused");
    link_destroy(link);
    zmq_close(rank);
    zmq_ctx_term(zmq);
    json_decref(env.parameters);
}

/* A rank that is silent for a while, such as one that is started again, is still at the address where it has
 * answered. */
static void a_rank_that_has_answered_is_not_left_for_another_address(void **state)
{
    struct environment env = {.silence = 1, .silence_max = 2, .parameters = json_object()};
    char *endpoint[] = {"inproc://rank", "inproc://elsewhere"};
    struct rank_address address = {.endpoint = endpoint, .endpoints = 2};
    void *zmq = zmq_ctx_new(), *rank[2];
    struct link_config config = {.env = &env, .address = &address, .zmq = zmq, .window_bytes = 1 << 20, .window_frames = 8};
    struct link *link;
    uint8_t sender[64], other[64];
    int size, hellos = 0;

    for (int i = 0; i < 2; i++) {
        rank[i] = zmq_socket(zmq, ZMQ_ROUTER);
        zmq_setsockopt(rank[i], ZMQ_LINGER, &(int){0}, sizeof(int));
        assert_int_equal(zmq_bind(rank[i], endpoint[i]), 0);
    }
    link = link_create(&config, &err);
    assert_non_null(link);
    assert_int_equal(heard_by(rank[0], link, sender, &size).kind, FRAME_HELLO);
    while (zmq_recv(rank[1], other, sizeof other, ZMQ_DONTWAIT) < 0) { /* nobody has answered at the first one */
        assert_int_equal(link_service(link, &err), 0);
        usleep(1000);
    }
    while (!link_is_welcome(link)) {
        if (heard_by(rank[0], link, sender, &size).kind == FRAME_HELLO)
            say(rank[0], sender, size, (struct frame){.kind = FRAME_WELCOME});
        assert_int_equal(link_service(link, &err), 0);
    }
    while (zmq_recv(rank[1], other, sizeof other, ZMQ_DONTWAIT) >= 0)
        ;
    assert_int_equal(link_finalize(link, &err), 0); /* from now on an answer is due */
    while (hellos < 5) {
        assert_int_equal(link_service(link, &err), 0);
        assert_int_equal(zmq_recv(rank[1], other, sizeof other, ZMQ_DONTWAIT), -1);
        hellos += zmq_recv(rank[0], sender, sizeof sender, ZMQ_DONTWAIT) >= 0;
        usleep(1000);
    }
    link_destroy(link);
    zmq_close(rank[0]);
    zmq_close(rank[1]);
    zmq_ctx_term(zmq);
    json_decref(env.parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_rank_is_asked_again),
        cmocka_unit_test(a_rank_that_has_answered_may_ask_again),
        cmocka_unit_test(a_rank_that_has_answered_is_not_left_for_another_address),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
