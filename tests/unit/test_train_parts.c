/* Parts of a rank's library, one by one: its settings, what a checkpoint has, who draws what, and who sends. */
#include "tasks/train/config.h"
#include "tasks/train/cut.h"
#include "tasks/train/drawn.h"
#include "tasks/train/faults.h"
#include "tasks/train/handover.h"
#include "tasks/train/kept.h"
#include "tasks/train/peers.h"
#include "tasks/train/pool.h"
#include "tasks/train/state.h"
#include "tasks/train/tallies.h"
#include "tests/unit/train_pool.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct error err;

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
    state_remove(dir);
    return access(dir, F_OK) == 0;
}

static const char *in_dir(const char *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *out = fopen(in_dir(name), "w");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

#define LEAST "\"ensemble\": 7, \"generation\": 2, \"ranks\": 3, \"count\": 5, \"stream\": \"/s\", \"stream_key\": \"00000000000000ff\", " \
    "\"parameters\": [\"b\", \"a\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}, \"n\": {\"dtype\": \"int64\", \"shape\": []}%s}, " \
    "\"buffer\": {\"policy\": \"fifo\", \"capacity\": 30, \"batch\": 8%s}%s"

static struct train_config read_config(const char *rank, const char *restart, const char *field, const char *buffer,
                                       const char *more)
{
    struct train_config config;
    char text[1500];

    snprintf(text, sizeof text, "{" LEAST "}", field, buffer, more);
    write_file("training.json", text);
    setenv("STRETTO_TRAINING_DIR", dir, 1);
    setenv("STRETTO_RANK", rank, 1);
    if (restart != NULL)
        setenv("STRETTO_RESTART", restart, 1);
    else
        unsetenv("STRETTO_RESTART");
    if (train_config_read(&config, &err) < 0)
        fail_msg("%s", err.text);
    return config;
}

static void settings_are_those_of_the_file(void **state)
{
    struct train_config c = read_config("2", NULL, "", "", "");

    assert_true(c.rank == 2 && c.ranks == 3 && c.ensemble == 7 && c.generation == 2 && c.restart == 0 && c.count == 5 &&
                c.steps == 0);
    assert_true(c.key == 255 && c.parameters == 2 && c.sample_bytes == 24 && !c.varies && !c.network);
    assert_string_equal(c.dir, dir);
    assert_string_equal(c.stream, "/s");
    assert_string_equal(c.job, "");
    assert_string_equal(c.parameter[0], "b");
    assert_string_equal(c.parameter[1], "a");
    assert_true(c.control == NULL && c.interface == NULL);
    assert_string_equal(c.buffer.policy, "fifo");
    assert_true(c.buffer.capacity == 30 && c.buffer.batch == 8 && c.buffer.threshold == 0);
    assert_true(c.checkpoint.dir == NULL && c.checkpoint.keep == 1 && c.checkpoint.retain == -1);
    train_config_fini(&c);

    c = read_config("0", "4", ", \"p\": {\"dtype\": \"float32\", \"shape\": [-1, 3], \"max\": 10}", ", \"threshold\": 20",
                    ", \"steps\": 9, \"job\": \"j\", \"network\": true, \"interface\": \"ib0\", \"control\": \"/c\", "
                    "\"checkpoint\": {\"dir\": \"/d\", \"every\": 1.5, \"before\": 2.25, \"keep\": 3, \"retain\": 0}, "
                    "\"resume\": {\"name\": \"g1-s7\", \"step\": 7}, \"from\": {\"dir\": \"/f\", \"name\": \"g3-s9\"}");
    assert_true(c.restart == 4 && c.steps == 9 && c.network && c.varies && c.sample_bytes == 24 + 120 &&
                c.buffer.threshold == 20);
    assert_string_equal(c.job, "j");
    assert_string_equal(c.interface, "ib0");
    assert_string_equal(c.control, "/c");
    assert_string_equal(c.checkpoint.dir, "/d");
    assert_true(c.checkpoint.every_ms == 1500 && c.checkpoint.before_ms == 2250 && c.checkpoint.keep == 3);
    assert_true(c.checkpoint.retain == 0 && c.checkpoint.resume_step == 7);
    assert_string_equal(c.checkpoint.resume, "g1-s7");
    assert_string_equal(c.checkpoint.from.dir, "/f");
    assert_string_equal(c.checkpoint.from.name, "g3-s9");
    train_config_fini(&c);
}

/* Reads it as it is then; what is wrong is a failure with a reason that names the file and the place. Returns whether
 * it was read. */
static bool reads(const json_t *json, const char *place)
{
    struct train_config config;
    char *text = json_dumps(json, JSON_ENCODE_ANY);
    bool well;

    write_file("training.json", text);
    free(text);
    well = train_config_read(&config, &err) == 0;
    if (well) {
        train_config_fini(&config);
    } else {
        assert_non_null(strstr(err.text, in_dir("training.json")));
        assert_non_null(strstr(err.text, place));
    }
    return well;
}

/* Each setting, in turn, is missing or has a value of every type. */
static void each_wrong_setting_is_named(void **state)
{
    static const char *const required[] = {"/ensemble", "/generation", "/ranks", "/count", "/stream", "/stream_key", "/parameters",
                                           "/fields", "/buffer", "/buffer/capacity", "/buffer/batch", "/checkpoint/dir", "/resume/name",
                                           "/resume/step", "/from/dir", "/from/name"};
    static const char *const all[] = {"/ensemble", "/generation", "/ranks", "/count", "/steps", "/stream", "/network", "/interface", "/job",
                                      "/control", "/stream_key", "/parameters", "/fields", "/buffer", "/buffer/policy",
                                      "/buffer/capacity", "/buffer/threshold", "/buffer/batch", "/buffer/seed", "/checkpoint",
                                      "/checkpoint/dir", "/checkpoint/every", "/checkpoint/before", "/checkpoint/keep", "/checkpoint/retain",
                                      "/resume", "/resume/name", "/resume/step", "/from", "/from/dir", "/from/name"};
    struct train_config c = read_config("2", "1", "", "",
                                        ", \"checkpoint\": {\"dir\": \"/d\"}, \"resume\": {\"name\": \"g1-s7\", \"step\": 7}, "
                                        "\"from\": {\"dir\": \"/f\", \"name\": \"g3-s9\"}");
    json_t *whole = json_deep_copy(c.json), *values = json_loads("[\"x\", -2, 1.5, true, [1], {\"a\": 1}]", 0, NULL),
           *value;
    size_t v;

    train_config_fini(&c);
    assert_true(reads(whole, ""));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *key = strrchr(all[i], '/') + 1;
        char parent[40] = "";
        int refused = 0;
        bool needed = false, read;
        json_t *copy, *in;

        for (size_t r = 0; r < sizeof required / sizeof *required; r++)
            needed = needed || strcmp(required[r], all[i]) == 0;

        memcpy(parent, all[i], (size_t)(key - 1 - all[i]));
        for (v = 0; v <= json_array_size(values); v++) {
            copy = json_deep_copy(whole);
            in = *parent != '\0' ? json_object_get(copy, parent + 1) : copy;
            if (v == json_array_size(values))
                json_object_del(in, key);
            else
                json_object_set(in, key, json_array_get(values, v));
            read = reads(copy, v == json_array_size(values) ? key : all[i]);
            if (v == json_array_size(values))
                assert_int_equal(read, !needed);
            else
                refused += !read;
            json_decref(copy);
        }
        assert_in_range(refused, 3, 6);
    }
    json_array_foreach (values, v, value)
        assert_false(reads(value, ""));
    for (size_t i = 0; i < 3; i++) {
        static const char *const keys[] = {"00000000000000f", "00000000000000fff", "00000000000000fg"};

        json_object_set_new(whole, "stream_key", json_string(keys[i]));
        assert_false(reads(whole, "/stream_key"));
    }
    json_decref(values);
    json_decref(whole);
    write_file("training.json", "{");
    assert_int_equal(train_config_read(&c, &err), -1);
    unlink(in_dir("training.json"));
    assert_int_equal(train_config_read(&c, &err), -1);
}

static void a_rank_is_one_of_the_training(void **state)
{
    static const char *const wrong[] = {"3", "-1", "", "x", "1x", "65537", "99999999999999999999"};
    struct train_config c = read_config("2", NULL, "", "", "");

    train_config_fini(&c);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("STRETTO_RANK", wrong[i], 1);
        assert_int_equal(train_config_read(&c, &err), -1);
        assert_string_equal(err.code, i == 0 ? "train_config" : wrong[i][0] == '\0' ? "not_under_stretto" : "train_environment");
    }
    unsetenv("STRETTO_RANK");
    assert_int_equal(train_config_read(&c, &err), -1);
    setenv("STRETTO_RANK", "0", 1);
    setenv("STRETTO_RESTART", "x", 1);
    assert_int_equal(train_config_read(&c, &err), -1);
    unsetenv("STRETTO_RESTART");
    setenv("STRETTO_TRAINING_DIR", "", 1);
    assert_int_equal(train_config_read(&c, &err), -1);
    assert_string_equal(err.code, "not_under_stretto");
}

static uint64_t seed_of(const char *rank, const char *restart, const char *buffer)
{
    struct train_config c = read_config(rank, restart, "", buffer, "");
    uint64_t seed = c.buffer.seed;

    train_config_fini(&c);
    return seed;
}

/* Otherwise ranks, or the processes of one rank, would draw alike. */
static void each_rank_and_process_draws_in_its_own_order(void **state)
{
    uint64_t seeds[] = {seed_of("0", NULL, ", \"seed\": 5"), seed_of("1", NULL, ", \"seed\": 5"),
                        seed_of("2", NULL, ", \"seed\": 5"), seed_of("0", "1", ", \"seed\": 5"),
                        seed_of("0", "2", ", \"seed\": 5"),  seed_of("0", NULL, ", \"seed\": 6"),
                        seed_of("0", NULL, ", \"seed\": -5")};

    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(seeds[i] != seeds[j]);
    assert_true(seeds[0] == seed_of("0", "0", ", \"seed\": 5"));
}

static const char *measured(const char *name, int64_t wanted)
{
    static char digest[STATE_DIGEST_SIZE];
    int64_t size;

    if (state_measure(in_dir(name), true, &size, digest, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(size, wanted);
    return digest;
}

static void a_state_is_known_by_its_names_and_contents(void **state)
{
    char first[STATE_DIGEST_SIZE], digest[STATE_DIGEST_SIZE], other[160];
    int64_t size;

    mkdir(in_dir("state"), 0700);
    mkdir(in_dir("state/sub"), 0700);
    write_file("state/b", "one");
    write_file("state/sub/a", "three");
    write_file("state/empty", "");
    snprintf(first, sizeof first, "%s", measured("state", 8));
    assert_string_equal(measured("state", 8), first);
    write_file("state/b", "two");
    assert_string_not_equal(measured("state", 8), first);
    write_file("state/b", "one");
    assert_string_equal(measured("state", 8), first);
    snprintf(other, sizeof other, "%s", in_dir("state/void"));
    assert_int_equal(rename(in_dir("state/empty"), other), 0);
    assert_string_not_equal(measured("state", 8), first);
    write_file("file", "one");
    snprintf(first, sizeof first, "%s", measured("file", 3));
    assert_string_equal(measured("state/b", 3), first); /* of a file, whatever its name */
    assert_int_equal(state_measure(in_dir("none"), false, &size, digest, &err), -1);
    assert_int_equal(symlink("file", in_dir("state/link")), 0);
    assert_int_equal(state_measure(in_dir("state"), false, &size, digest, &err), -1);
    unlink(in_dir("state/link"));
    mkdir(in_dir("elsewhere"), 0700);
    write_file("elsewhere/file", "");
    assert_int_equal(symlink("../elsewhere", in_dir("state/link")), 0);
    state_remove(in_dir("state"));
    assert_int_equal(access(in_dir("state"), F_OK), -1);
    assert_int_equal(access(in_dir("elsewhere/file"), F_OK), 0); /* no link is followed */
    state_remove(in_dir("file"));
    assert_int_equal(access(in_dir("file"), F_OK), -1);
}

static void a_cut_is_read_as_it_was_written(void **state)
{
    struct stepset_run runs[] = {{UINT64_C(3) << 32 | 2, 5}, {7, UINT64_MAX}};
    uint32_t ended[10] = {1, [7] = 2, [9] = 5};
    struct cut cut = {.members = 10, .drawn = 66, .batches = 12, .repeats = 13, .draws = {1, 2, 3, 4, 5, 6, 7, 8}, .n_runs = 2,
                      .runs = runs, .ended = ended}, read;

    assert_int_equal(cut_write(&cut, dir, 3, &err), 0);
    assert_int_equal(cut_read(&read, dir, 3, 10, &err), 0);
    assert_true(read.members == 10 && read.drawn == 66 && read.batches == 12 && read.repeats == 13);
    assert_memory_equal(read.draws, cut.draws, sizeof cut.draws);
    assert_true(read.n_runs == 2);
    assert_memory_equal(read.runs, runs, sizeof runs);
    assert_memory_equal(read.ended, ended, sizeof ended);
    for (uint64_t member = 0; member < 10; member++)
        assert_int_equal(cut_is_whole(&read, member), member == 0 || member == 7 || member == 9);
    cut_fini(&read);
    assert_int_equal(cut_read(&read, dir, 3, 11, &err), -1);
    assert_non_null(strstr(err.text, "another number of members"));
    assert_int_equal(cut_read(&read, dir, 2, 10, &err), -1);
    assert_int_equal(truncate(in_dir("whole-rank3.bin"), 1), 0);
    assert_int_equal(cut_read(&read, dir, 3, 10, &err), -1);
    assert_int_equal(cut_write(&cut, dir, 3, &err), 0);
    assert_int_equal(truncate(in_dir("stream-rank3.bin"), 16 * 8), 0);
    assert_int_equal(cut_read(&read, dir, 3, 10, &err), -1);
    assert_non_null(strstr(err.text, "cut short"));
}

static struct sample *make_sample(struct sample_store *store, uint64_t member, int64_t step, double value,
                                  unsigned fields, size_t extent)
{
    struct sample_params *params = sample_params_create(2);
    struct sample *sample;
    char bytes[200];
    zmq_msg_t msg;

    params->value[0] = value;
    params->value[1] = -value;
    sample = sample_create(store, member, step, params);
    sample_params_unref(params);
    memset(bytes, (int)step, sizeof bytes);
    zmq_msg_init_size(&msg, 1);
    for (int i = 0; i < 2; i++)
        if (fields >> i & 1)
            assert_true(sample_take(sample, i, bytes, i == 0 ? 4 : extent, &msg));
    zmq_msg_close(&msg);
    return sample;
}

static void what_is_handed_over_is_read_in_its_order(void **state)
{
    struct field_set set = {.count = 2};
    static const struct {
        uint64_t member;
        int64_t step;
        unsigned fields;
        size_t extent;
        uint64_t session;
        uint32_t attempt;
        bool drawn;
    } all[] = {{1, 5, 3, 13, 0, 0, false}, {1, 6, 3, 0, 0, 0, true}, {4, 7, 1, 0, 99, 3, false}, {1, 8, 3, 200, 0, 0, false}, {4, 9, 2, 1, 98, 1, false}};
    struct sample_store *store;
    struct handover_item item;
    struct handover *h;
    int lowest = dup(STDIN_FILENO), after; /* the lowest free descriptor */

    close(lowest);

    set.field[0] = (struct field){.name = "a", .dtype = STRETTO_FLOAT32, .count = 1, .bytes = 4, .unit = 4};
    set.field[1] = (struct field){.name = "b", .dtype = STRETTO_UINT8, .ndim = 1, .shape = {EXTENT_VARIES}, .max = 200, .count = 200, .bytes = 200, .unit = 1};
    store = sample_store_create(&set, NULL, 2);
    h = handover_create(in_dir("buffer"), &set, &err);
    assert_non_null(h);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        item = (struct handover_item){
            make_sample(store, all[i].member, all[i].step, (double)all[i].member / 2, all[i].fields, all[i].extent),
            all[i].session, all[i].attempt, all[i].drawn};
        handover_add(h, &item);
        sample_unref(item.sample);
    }
    assert_int_equal(handover_finish(h, &err), 5);
    h = handover_open(in_dir("buffer"), &set, store, &err);
    assert_non_null(h);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sample *s;

        assert_int_equal(handover_next(h, &item, &err), 1);
        s = item.sample;
        assert_true(s->member == all[i].member && s->step == all[i].step && s->have == all[i].fields && s->draws == 0);
        assert_true(item.session == all[i].session && item.drawn == all[i].drawn);
        assert_true(item.drawn || item.attempt == all[i].attempt);
        assert_true(s->params->count == 2 && s->params->value[0] == (double)all[i].member / 2 &&
                    s->params->value[1] == -s->params->value[0]);
        assert_int_equal(sample_is_whole(s), all[i].fields == 3);
        if (all[i].fields & 2) {
            assert_int_equal(sample_bytes(s, 1), all[i].extent);
            for (size_t k = 0; k < all[i].extent; k++)
                assert_int_equal(((const char *)sample_payload(s, 1))[k], all[i].step);
        }
        sample_unref(s);
    }
    assert_int_equal(handover_next(h, &item, &err), 0);
    handover_close(h);
    after = dup(STDIN_FILENO);
    close(after);
    assert_int_equal(after, lowest);
    sample_store_destroy(store);
}

static void of_each_member_there_is_a_tally(void **state)
{
    enum { MEMBERS = 1000 };
    struct tallies t = {.n = 0};

    for (int round = 1; round <= 3; round++)
        for (int64_t member = MEMBERS; member-- > 0;)
            assert_int_equal(tallies_add(&t, member << 20, (double)member * round), 0);
    assert_int_equal(t.n, MEMBERS);
    for (size_t i = 0; i < t.n; i++) {
        int64_t member = MEMBERS - 1 - (int64_t)i;

        assert_true(t.list[i].member == member << 20 && t.list[i].count == 3 && t.list[i].sum == 6.0 * (double)member);
    }
    tallies_fini(&t);
    assert_int_equal(tallies_add(&t, 5, 1), 0); /* it begins anew */
    assert_int_equal(t.n, 1);
    tallies_fini(&t);
}

static void a_sample_is_drawn_once(void **state)
{
    struct drawn *drawn = drawn_create(4);
    struct stepset_run run = {UINT64_C(2) << 32 | 1, 7}, unknown = {UINT64_C(4) << 32, 1};

    assert_int_equal(drawn_add(drawn, 1, 10), 1);
    assert_int_equal(drawn_add(drawn, 1, 10), 1);
    drawn_next_cut(drawn);
    assert_int_equal(drawn_add(drawn, 1, 11), 2);
    assert_int_equal(drawn_cut(drawn), 2);
    assert_true(drawn_count(drawn) == 2 && drawn_of(drawn, 1) == 2 && drawn_of(drawn, 2) == 0);
    assert_int_equal(drawn_add_run(drawn, &run), 0);
    assert_int_equal(drawn_add_run(drawn, &run), 0);
    assert_true(drawn_count(drawn) == 5 && drawn_of(drawn, 2) == 3);
    assert_true(stepset_has(drawn_set(drawn), 2, 66) && !stepset_has(drawn_set(drawn), 2, 67));
    assert_int_equal(drawn_add_run(drawn, &unknown), -1);
    drawn_destroy(drawn);
}

static void sessions_are_found_by_member_and_attempt(void **state)
{
    enum { MEMBERS = 500 };
    struct peers *peers = peers_create();
    struct peer *peer, *spare;

    for (uint64_t member = 0; member < MEMBERS; member++)
        for (uint32_t attempt = 1; attempt <= 3; attempt += 2)
            assert_non_null(peers_add(peers, member, 100 * member + attempt, attempt, sample_params_create(0)));
    for (uint64_t member = 0; member < MEMBERS; member++) {
        peer = peers_find(peers, member, 100 * member + 3);
        assert_true(peer != NULL && peer->member == member && peer->attempt == 3);
        assert_null(peers_find(peers, member, 100 * member + 2));
        assert_ptr_equal(peers_find_later(peers, member, 2), peer);
        assert_null(peers_find_later(peers, member, 3));
        assert_null(peers_find_older(peers, member, 1));
        peer = peers_find_older(peers, member, 2);
        assert_true(peer != NULL && peer->attempt == 1);
        peers_remove(peers, peer);
        assert_null(peers_find_older(peers, member, 2));
        assert_non_null(peers_find(peers, member, 100 * member + 3));
    }
    assert_null(peers_find(peers, MEMBERS, 1));
    for (int i = 1; i < PEERS_SESSIONS_MAX; i++) {
        assert_true(peers_may_add(peers, 7, 3, &spare));
        peers_hear(peers, peers_add(peers, 7, (uint64_t)i, 3, sample_params_create(0)));
    }
    assert_false(peers_may_add(peers, 7, 3, &spare));
    assert_int_equal(spare->session, 703); /* which has never been heard */
    peers_hear(peers, spare);
    assert_false(peers_may_add(peers, 7, 3, &spare));
    assert_int_equal(spare->session, 1);
    assert_true(peers_may_add(peers, 7, 4, &spare)); /* those of earlier attempts will go */
    peers_destroy(peers);
}

static void each_fault_has_a_name_of_its_own(void **state)
{
    assert_null(fault_name(0));
    assert_null(fault_name(FAULTS));
    for (int i = 1; i < FAULTS; i++) {
        assert_non_null(fault_name(i));
        for (int j = 1; j < i; j++)
            assert_string_not_equal(fault_name(i), fault_name(j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings_are_those_of_the_file, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(each_wrong_setting_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_rank_is_one_of_the_training, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(each_rank_and_process_draws_in_its_own_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_state_is_known_by_its_names_and_contents, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_cut_is_read_as_it_was_written, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_handed_over_is_read_in_its_order, make_dir, remove_dir),
        cmocka_unit_test(of_each_member_there_is_a_tally),
        cmocka_unit_test(a_sample_is_drawn_once),
        cmocka_unit_test(samples_are_counted_by_how_often_they_are_drawn),
        cmocka_unit_test(a_batch_is_whole_but_for_the_last_one),
        cmocka_unit_test(sessions_are_found_by_member_and_attempt),
        cmocka_unit_test(each_fault_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
