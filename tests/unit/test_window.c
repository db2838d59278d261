/* What was sent to a rank and is not acknowledged yet: its numbers, its memory, and which acknowledgements are
 * believed. */
#include "tasks/member/window.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { BYTES = 1000, FRAMES = 8 };

static void keep(struct window *w, uint64_t place, size_t size)
{
    zmq_msg_t msg;

    window_number(w, place);
    zmq_msg_init_size(&msg, size);
    memset(zmq_msg_data(&msg), (int)place, size);
    window_keep(w, &msg, 0);
}

static void memory_is_given_back_as_it_was_taken(void **state)
{
    struct window w;
    uint64_t n = 0;

    assert_int_equal(window_init(&w, BYTES, FRAMES, 0), 0);
    for (int round = 0; round < 100; round++) {
        int frames = round % FRAMES + 1;

        for (int i = 0; i < frames; i++)
            keep(&w, ++n, (size_t)(10 + i));
        assert_false(window_is_empty(&w));
        assert_int_equal(window_oldest(&w), n - (uint64_t)frames + 1);
        assert_int_equal(((unsigned char *)zmq_msg_data(window_message(&w, w.first)))[0],
                         (n - (uint64_t)frames + 1) % 256);
        window_ack(&w, n - 1); /* all but the last */
        assert_int_equal(window_oldest(&w), n);
        assert_int_equal(w.bytes, 10 + frames - 1);
        window_ack(&w, n);
        assert_true(window_is_empty(&w));
        assert_int_equal(w.bytes, 0);
        assert_int_equal(window_oldest(&w), UINT64_MAX);
    }
    window_fini(&w);
}

/* Several frames in one message, for which memory was reserved, are kept until the last of them is acknowledged. */
static void a_message_of_several_frames_goes_with_its_last(void **state)
{
    struct window w;
    zmq_msg_t msg;

    assert_int_equal(window_init(&w, BYTES, FRAMES, 0), 0);
    window_reserve(&w, 300);
    for (uint64_t place = 1; place <= 3; place++)
        assert_int_equal(window_number(&w, place), place);
    zmq_msg_init_size(&msg, 90);
    window_keep(&w, &msg, 300);
    assert_int_equal(w.bytes, 300);
    window_ack(&w, 2);
    assert_int_equal(w.next - w.first, 1);
    assert_int_equal(window_oldest(&w), 3);
    window_ack(&w, 3);
    assert_int_equal(w.next - w.first, 0);
    assert_int_equal(w.bytes, 0);
    window_fini(&w);
}

/* An acknowledgement of what was not sent would end the stream: nothing could be sent any more. */
static void only_what_was_sent_is_acknowledged(void **state)
{
    struct window w;

    assert_int_equal(window_init(&w, BYTES, FRAMES, 0), 0);
    window_ack(&w, 1);
    keep(&w, 1, 10);
    keep(&w, 2, 10);
    window_number(&w, 3); /* which is in no message yet */
    window_ack(&w, 3);
    window_ack(&w, UINT64_MAX);
    assert_int_equal(w.next - w.first, 2);
    assert_int_equal(window_oldest(&w), 1);
    window_ack(&w, 2);
    window_ack(&w, 1); /* late */
    window_ack(&w, 0);
    assert_int_equal(window_oldest(&w), 3);
    assert_false(window_is_empty(&w));
    window_fini(&w);
}

static void there_is_room_up_to_the_bounds(void **state)
{
    struct window w;

    assert_int_equal(window_init(&w, BYTES, FRAMES, 0), 0);
    keep(&w, 1, 10 * BYTES);
    assert_true(window_has_room(&w, 10 * BYTES)); /* two in any case */
    keep(&w, 2, 10 * BYTES);
    assert_false(window_has_room(&w, 1));
    window_ack(&w, 2);
    keep(&w, 3, BYTES / 2);
    keep(&w, 4, BYTES / 4);
    assert_true(window_has_room(&w, BYTES / 4));
    assert_false(window_has_room(&w, BYTES / 4 + 1));
    for (uint64_t place = 5; place < 3 + FRAMES; place++)
        keep(&w, place, 1);
    assert_false(window_has_room(&w, 0));
    window_ack(&w, 3);
    assert_true(window_has_room(&w, 0));
    window_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_given_back_as_it_was_taken),
        cmocka_unit_test(a_message_of_several_frames_goes_with_its_last),
        cmocka_unit_test(only_what_was_sent_is_acknowledged),
        cmocka_unit_test(there_is_room_up_to_the_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
