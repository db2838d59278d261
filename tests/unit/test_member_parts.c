/* Parts of a member's library, one by one: its settings, its memory, its steps, what the ranks have, and where they
 * are. */
#include "common/timefmt.h"
#include "tasks/member/bundle.h"
#include "tasks/member/checkpoint.h"
#include "tasks/member/declare.h"
#include "tasks/member/discovery.h"
#include "tasks/member/environment.h"
#include "tasks/member/known.h"
#include "tasks/member/lending.h"
#include "tasks/member/sendbuf.h"
#include "tasks/member/steps.h"
#include "tasks/proto/ckptdir.h"
#include "tests/unit/member_metrics.h"
#include "tests/unit/unit.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;

static void set_all(void)
{
    static const char *const all[][2] = {
        {"STRETTO_STREAM", "/nowhere"}, {"STRETTO_STREAM_KEY", "0123456789abcdef"}, {"STRETTO_ENSEMBLE", "12"}, {"STRETTO_MEMBER", "34"},
        {"STRETTO_ATTEMPT", "5"}, {"STRETTO_FIELDS", "{\"u\": {\"dtype\": \"float32\", \"shape\": [2]}}"}, {"STRETTO_PARAMS", "{\"a\": 1}"},
    };
    static const char *const optional[] = {"STRETTO_STEPS", "STRETTO_STREAM_SILENCE_MS", "STRETTO_FAILURE_AFTER_MS",
                                           "STRETTO_STREAM_CHECKSUM", "STRETTO_DEADLINE"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        setenv(all[i][0], all[i][1], 1);
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        unsetenv(optional[i]);
}

static struct environment read_all(void)
{
    struct environment env;

    if (environment_read(&env, &err) < 0)
        fail_msg("%s", err.text);
    return env;
}

static void settings_are_those_of_the_environment(void **state)
{
    struct environment env;
    char deadline[32];
    int64_t left;

    set_all();
    env = read_all();
    assert_true(env.active && env.key == UINT64_C(0x0123456789abcdef) && env.ensemble == 12 && env.member == 34 &&
                env.attempt == 5);
    assert_true(env.steps == 0 && !env.checksum && env.silence == 2000 && env.silence_max == 30000 &&
                env.deadline == 0);
    assert_int_equal(json_integer_value(json_object_get(env.parameters, "a")), 1);
    assert_true(environment_left_ms(&env) == INT64_MAX);
    environment_fini(&env);

    setenv("STRETTO_STEPS", "300", 1);
    setenv("STRETTO_STREAM_SILENCE_MS", "700", 1);
    setenv("STRETTO_FAILURE_AFTER_MS", "10000", 1);
    setenv("STRETTO_STREAM_CHECKSUM", "1", 1);
    snprintf(deadline, sizeof deadline, "%.3f", (double)time_now_ms() / 1000 + 7200);
    setenv("STRETTO_DEADLINE", deadline, 1);
    env = read_all();
    assert_true(env.steps == 300 && env.checksum && env.silence == 700 && env.silence_max == 5000);
    left = environment_left_ms(&env);
    assert_in_range(left, 3600000, 7200001); /* the machine may stall meanwhile, but not for an hour */
    environment_fini(&env);

    setenv("STRETTO_STREAM_SILENCE_MS", "0", 1);
    setenv("STRETTO_FAILURE_AFTER_MS", "0", 1);
    setenv("STRETTO_STREAM_CHECKSUM", "0", 1);
    env = read_all();
    assert_true(!env.checksum && env.silence == 1 && env.silence_max == 1);
    environment_fini(&env);

    unsetenv("STRETTO_STREAM"); /* there is no training, but a walltime */
    env = read_all();
    assert_true(!env.active && env.deadline > 0);
    environment_fini(&env);
    unsetenv("STRETTO_DEADLINE");
}

static void buffers_are_used_again_where_they_fit(void **state)
{
    enum { LARGE = 1 << 20 };
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct sendbuf *buf, *other;
    uint8_t *bytes;
    zmq_msg_t msg;

    assert_non_null(pool);
    buf = sendbuf_take(pool, LARGE);
    bytes = sendbuf_bytes(buf);
    assert_int_equal((uintptr_t)bytes % 64, 0);
    for (int i = 0; i < 200; i++) { /* more than may be idle at once */
        sendbuf_give_back(buf);
        buf = sendbuf_take(pool, i % 2 ? LARGE : LARGE / 2 + 1);
        assert_ptr_equal(sendbuf_bytes(buf), bytes);
        memset(bytes, i, LARGE);
    }
    sendbuf_give_back(buf);
    buf = sendbuf_take(pool, LARGE + 1); /* too large for it */
    assert_ptr_not_equal(sendbuf_bytes(buf), bytes);
    memset(sendbuf_bytes(buf), 1, LARGE + 1);
    other = sendbuf_take(pool, 1000); /* so small that it would be a waste */
    assert_ptr_not_equal(sendbuf_bytes(other), bytes);
    sendbuf_give_back(other);
    assert_int_equal(sendbuf_into(buf, 10, &msg), 0);
    assert_int_equal(zmq_msg_size(&msg), 10);
    sendbuf_pool_destroy(pool);
    memset(zmq_msg_data(&msg), 2, 10); /* the pool lives on with its last message */
    zmq_msg_close(&msg);
}

static void runs_of_steps_are_known(void **state)
{
    static const uint64_t first[][2] = {{3, 1}, {0, UINT64_C(1) << 63}, {9, 6}}, second[][2] = {{3, 4}, {1, 2}};
    static const int64_t has[] = {63, 65, 192, 194, 577, 578};
    uint64_t words[6];
    struct known *known = known_create();
    size_t at = 0;

    assert_false(known_has(known, 0));
    for (size_t i = 0; i < 3; i++)
        words[2 * i] = htole64(first[i][0]), words[2 * i + 1] = htole64(first[i][1]);
    known_add(known, words, sizeof words + 7); /* what is no whole run is left out */
    for (size_t i = 0; i < 2; i++)
        words[2 * i] = htole64(second[i][0]), words[2 * i + 1] = htole64(second[i][1]);
    known_add(known, words, 32);
    for (int64_t step = 0; step < 1000; step++) {
        bool wanted = at < sizeof has / sizeof *has && has[at] == step;

        if (known_has(known, step) != wanted)
            fail_msg("step %lld is %sknown", (long long)step, wanted ? "not " : "");
        at += wanted;
    }
    known_destroy(known);
}

static void steps_are_open_until_they_have_all_fields(void **state)
{
    struct steps *steps = steps_create(3);
    int64_t step;
    int field;

    assert_false(steps_first_incomplete(steps, &step, &field));
    assert_true(steps_oldest(steps) == UINT64_MAX);
    steps_note(steps, 10, 1, 1);
    steps_note(steps, 20, 0, 2);
    steps_note(steps, 30, 0, 3);
    steps_note(steps, 20, 0, 4); /* again */
    steps_note(steps, 20, 1, 5);
    assert_true(steps_first_incomplete(steps, &step, &field) && step == 10 && field == 0);
    assert_int_equal(steps_oldest(steps), 1);
    assert_true(steps_may_begin(steps, 40, 4));
    assert_false(steps_may_begin(steps, 40, 3));
    assert_true(steps_may_begin(steps, 30, 3));
    steps_note(steps, 10, 0, 6);
    steps_note(steps, 10, 2, 7);
    assert_true(steps_first_incomplete(steps, &step, &field) && step == 20 && field == 2);
    assert_int_equal(steps_oldest(steps), 2);
    steps_note(steps, 20, 2, 8);
    assert_int_equal(steps_oldest(steps), 3);
    assert_true(steps_may_begin(steps, 40, 2));
    steps_destroy(steps);

    steps = steps_create(64);
    for (field = 0; field < 63; field++)
        steps_note(steps, 1, field, 1);
    assert_true(steps_first_incomplete(steps, &step, &field) && field == 63);
    steps_note(steps, 1, 63, 2);
    assert_false(steps_first_incomplete(steps, &step, &field));
    steps_destroy(steps);
}

static void a_bundle_has_frames_one_behind_the_other(void **state)
{
    static const size_t sizes[] = {5, 0, 8, 4000};
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct bundle b;
    struct frame f;
    zmq_msg_t msg;
    size_t at = 0, used = 0;

    bundle_init(&b, 1 << 20);
    assert_int_equal(b.capacity, FRAME_SHARED_MAX);
    bundle_init(&b, 40000);
    assert_int_equal(b.capacity, 10000);
    assert_true(bundle_suits(&b, 5000) && !bundle_suits(&b, 5001) && !bundle_takes(&b, 10));
    assert_int_equal(bundle_open(&b, pool), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        f = (struct frame){.kind = FRAME_SAMPLE, .sequence = i + 1, .length = sizes[i], .dtype = STRETTO_UINT8, .ndim = 1, .shape = {sizes[i]}};
        assert_true(bundle_takes(&b, FRAME_HEADER_SIZE + sizes[i]));
        memset(bundle_place(&b), 'a' + (int)i, sizes[i]);
        bundle_add(&b, &f);
        used += frame_span(&f);
    }
    assert_true(bundle_takes(&b, 5000) && used <= 5000);
    assert_int_equal(bundle_close(&b, &msg), 0);
    assert_false(bundle_is_open(&b));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint8_t *data = (const uint8_t *)zmq_msg_data(&msg) + at;

        assert_int_equal(frame_decode(data, zmq_msg_size(&msg) - at, &f), FRAME_OK);
        assert_true(f.sequence == i + 1 && f.length == sizes[i] && !(f.flags & FRAME_MORE) == (i == 3));
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(data[FRAME_HEADER_SIZE + k], 'a' + i);
        at += frame_span(&f);
    }
    zmq_msg_close(&msg);
    sendbuf_pool_destroy(pool);
}

static void what_is_lent_stays_until_it_is_taken(void **state)
{
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct lending l = {.lent = false};
    struct parcel p;
    char *first = lending_lend(&l, NULL, NULL, 100), *larger;

    assert_non_null(first);
    memset(first, 7, 100);
    assert_ptr_equal(lending_lend(&l, NULL, NULL, 100), first);
    lending_take(&l, &p);
    assert_int_equal(((char *)l.scratch)[99], 7); /* what is sent from there */
    larger = lending_lend(&l, NULL, NULL, 100000);
    memset(larger, 8, 100000);
    assert_int_equal((uintptr_t)larger % 64, 0);
    lending_take(&l, &p);
    first = lending_lend(&l, pool, NULL, 50);
    memset(first, 9, 50);
    lending_take(&l, &p);
    assert_ptr_equal(p.payload, first);
    assert_false(l.lent);
    assert_int_equal(zmq_msg_size(&p.msg), FRAME_HEADER_SIZE + 50);
    zmq_msg_close(&p.msg);
    lending_lend(&l, pool, NULL, 50);
    lending_drop(&l);
    lending_lend(&l, pool, NULL, 50); /* and the stream ends */
    lending_fini(&l);
    sendbuf_pool_destroy(pool);
}

int __real_zmq_msg_init_data(zmq_msg_t *msg, void *data, size_t size, zmq_free_fn *give_back, void *hint);

static bool has_no_message;

int __wrap_zmq_msg_init_data(zmq_msg_t *msg, void *data, size_t size, zmq_free_fn *give_back, void *hint)
{
    if (!has_no_message)
        return __real_zmq_msg_init_data(msg, data, size, give_back, hint);
    errno = ENOMEM;
    return -1;
}

/* It is taken over in any case. */
static void a_buffer_without_a_message_is_used_again(void **state)
{
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct sendbuf *buf = sendbuf_take(pool, 100000);
    uint8_t *bytes = sendbuf_bytes(buf);
    zmq_msg_t msg;

    has_no_message = true;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sendbuf_into(buf, 10, &msg), -1);
        assert_int_equal(sendbuf_message(pool, 100000, &msg), -1);
        buf = sendbuf_take(pool, 100000);
        assert_ptr_equal(sendbuf_bytes(buf), bytes);
    }
    has_no_message = false;
    sendbuf_give_back(buf);
    sendbuf_pool_destroy(pool);
}

void *__real_aligned_alloc(size_t to, size_t size);

static bool has_no_memory;

void *__wrap_aligned_alloc(size_t to, size_t size)
{
    return has_no_memory ? NULL : __real_aligned_alloc(to, size);
}

/* The sanitizer would find what the pool leaves. */
static void a_pool_without_memory_still_ends_with_its_buffers(void **state)
{
    struct sendbuf_pool *pool = sendbuf_pool_create();

    sendbuf_give_back(sendbuf_take(pool, 1000));
    has_no_memory = true;
    assert_null(sendbuf_take(pool, 100000));
    has_no_memory = false;
    sendbuf_pool_destroy(pool);
}

static void an_idle_stream_has_as_many_fields_as_any(void **state)
{
    int64_t shape[] = {2};
    struct stretto *s;
    char name[16];

    unsetenv("STRETTO_STREAM");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_active(s), 0);
    for (int i = 0; i < FIELDS_MAX; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(stretto_field(s, name, STRETTO_FLOAT32, 1, shape), i);
        assert_int_equal(stretto_field(s, name, STRETTO_FLOAT32, 1, shape), i);
    }
    assert_int_equal(stretto_field(s, "more", STRETTO_FLOAT32, 1, shape), -1);
    assert_non_null(strstr(stretto_error(s), "64"));
    assert_int_equal(stretto_close(s), 0);
}

static int declared(int ndim, uint64_t a, uint64_t b, enum stretto_dtype dtype, struct field *field)
{
    *field = (struct field){.name = "u"};
    return declare_set(field, dtype, ndim, (uint64_t[]){a, b}, &err);
}

static void a_field_of_an_idle_stream_is_as_large_as_any(void **state)
{
    const uint64_t all = FIELD_BYTES_MAX;
    struct field field;
    int64_t extent;

    assert_int_equal(declared(2, 3, 5, STRETTO_FLOAT64, &field), 0);
    assert_true(field.count == 15 && field.bytes == 120 && field.unit == 40 && field.max == 0);
    assert_int_equal(declare_fixed(&field, &extent, &err), 0);
    assert_int_equal(extent, 3);
    assert_int_equal(declare_extent(&field, 3, &err), 0);
    assert_int_equal(declare_extent(&field, 2, &err), -1);
    assert_int_equal(declared(0, 0, 0, STRETTO_INT32, &field), 0);
    assert_true(field.count == 1 && field.bytes == 4);
    assert_int_equal(declare_fixed(&field, &extent, &err), 0);
    assert_int_equal(extent, 1);
    assert_int_equal(declared(1, all / 8, 0, STRETTO_FLOAT64, &field), 0);
    assert_int_equal(declared(1, all / 8 + 1, 0, STRETTO_FLOAT64, &field), -1);
    assert_int_equal(declared(2, all / 16, 2, STRETTO_FLOAT64, &field), 0);
    assert_int_equal(declared(2, all / 16 + 1, 2, STRETTO_FLOAT64, &field), -1);
    assert_int_equal(declared(2, 2, 0, STRETTO_FLOAT64, &field), -1);
    assert_int_equal(declared(1, 1, 0, (enum stretto_dtype)0, &field), -1);
    assert_int_equal(declared(2, EXTENT_VARIES, 2, STRETTO_FLOAT32, &field), 0);
    assert_true(field.max == all / 8 && field.unit == 8);
    assert_int_equal(declare_extent(&field, (int64_t)field.max, &err), 0);
    assert_int_equal(declare_extent(&field, 0, &err), 0);
    assert_int_equal(declare_extent(&field, -1, &err), -1);
    assert_int_equal(declare_extent(&field, (int64_t)field.max + 1, &err), -1);
    assert_int_equal(declare_fixed(&field, &extent, &err), -1);
    assert_int_equal(declared(2, 2, EXTENT_VARIES, STRETTO_FLOAT32, &field), -1); /* only the first may vary */
}

static char dir[64];

static void write_file(const char *name, const char *text)
{
    char path[160];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static bool is_later(const char *current, uint32_t than, struct discovery *found)
{
    struct environment env = {.stream = dir};
    bool later;

    write_file("current.json", current);
    later = discovery_later(&env, than, found);
    if (!later)
        return false;
    assert_int_equal(found->ranks, 2);
    return true;
}

static void only_a_later_generation_is_gone_on_to(void **state)
{
    struct discovery found;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    write_file("g5-rank0.json", "{\"host\": \"h\", \"curve\": \"k\", \"endpoints\": [\"ipc:///nowhere\", \"tcp://a:1\", \"tcp://b:2\"]}");
    /* rank 1 has told nothing yet */
    assert_false(is_later("{\"generation\": 5, \"ranks\": 2, \"keeps\": 4}", 4, &found));
    write_file("g5-rank1.json", "{\"host\": \"h\", \"endpoints\": [\"tcp://a:3\", \"tcp://127.0.0.1:4\"]}");
    assert_true(is_later("{\"generation\": 5, \"ranks\": 2, \"keeps\": 4}", 4, &found));
    assert_int_equal(found.generation, 5);
    assert_int_equal(found.address[0].endpoints, 2);
    assert_string_equal(found.address[0].endpoint[0], "tcp://a:1");
    assert_string_equal(found.address[0].endpoint[1], "tcp://b:2");
    assert_string_equal(found.address[0].curve, "k");
    assert_int_equal(found.address[1].endpoints, 1); /* whoever is on the way could read the other one */
    assert_string_equal(found.address[1].endpoint[0], "tcp://127.0.0.1:4");
    assert_null(found.address[1].curve);
    discovery_fini(&found);
    assert_true(is_later("{\"generation\": 5, \"ranks\": 2, \"keeps\": 1}", 2, &found));
    discovery_fini(&found);
    assert_false(is_later("{\"generation\": 5, \"ranks\": 2, \"keeps\": 4}", 5, &found));
    assert_false(is_later("{\"generation\": 5, \"ranks\": 2, \"keeps\": 4}", 6, &found));
    /* what that one had is lost */
    assert_false(is_later("{\"generation\": 5, \"ranks\": 2, \"keeps\": 4}", 3, &found));
    assert_false(is_later("{\"generation\": 5, \"ranks\": 2}", 4, &found));
    assert_false(is_later("{\"generation\": 5, \"ranks\": 3, \"keeps\": 4}", 4, &found));
    assert_false(is_later("{\"generation\": 5, \"ranks\": 0, \"keeps\": 4}", 4, &found));
    assert_false(is_later("{\"generation\": ", 4, &found));
    for (int i = 0; i < 3; i++) {
        static const char *const files[] = {"current.json", "g5-rank0.json", "g5-rank1.json"};
        char path[160];

        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_those_of_the_environment),
        cmocka_unit_test(buffers_are_used_again_where_they_fit),
        cmocka_unit_test(a_buffer_without_a_message_is_used_again),
        cmocka_unit_test(a_pool_without_memory_still_ends_with_its_buffers),
        cmocka_unit_test(an_idle_stream_has_as_many_fields_as_any),
        cmocka_unit_test(runs_of_steps_are_known),
        cmocka_unit_test(steps_are_open_until_they_have_all_fields),
        cmocka_unit_test(a_bundle_has_frames_one_behind_the_other),
        cmocka_unit_test(what_is_lent_stays_until_it_is_taken),
        cmocka_unit_test(a_field_of_an_idle_stream_is_as_large_as_any),
        cmocka_unit_test(only_a_later_generation_is_gone_on_to),
        cmocka_unit_test(metrics_are_lines_of_json),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
