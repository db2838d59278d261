/* Parts of a rank's library: its settings, the state that a checkpoint has, and what is counted of draws. */
#include "tasks/train/config.h"
#include "tasks/train/state.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_wrong_setting_is_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_rank_is_one_of_the_training, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(each_rank_and_process_draws_in_its_own_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_state_is_known_by_its_names_and_contents, make_dir, remove_dir),
        cmocka_unit_test(samples_are_counted_by_how_often_they_are_drawn),
        cmocka_unit_test(a_batch_is_whole_but_for_the_last_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
