/* Checkpoints on the disk: the parts of all ranks, the list of those that are whole, and what the next ranks take
 * over. */
#include "tasks/train/saved.h"

#include "common/files.h"
#include "tasks/train/resume.h"
#include "tests/unit/unit_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBERS 3

static char dir[64];
static struct error err;

static int set_up(void **state)
{
    unit_dir_make(dir);
    return 0;
}

static int tear_down(void **state)
{
    state_remove(unit_dir_top(dir));
    return 0;
}

static struct train_config config_of(int rank, int ranks, int generation, const char *resume)
{
    static struct dealing *to[10];

    if (ranks > 0 && ranks < 10 && to[ranks] == NULL)
        to[ranks] = dealing_create(ranks);
    return (struct train_config){.dir = dir, .rank = rank, .ranks = ranks, .dealing = ranks < 10 ? to[ranks] : NULL, .count = MEMBERS,
                                 .generation = (uint32_t)generation,
                                 .checkpoint = {.dir = dir, .keep = 9, .resume = resume}};
}

static const char *in_dir(const char *name, const char *file)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s%s%s", dir, name, *file != '\0' ? "/" : "", file);
    return path;
}

static void write_part(int rank, int ranks, const char *name, struct saved_part part)
{
    struct train_config config = config_of(rank, ranks, 1, NULL);

    mkdir(in_dir(name, ""), 0700);
    assert_int_equal(saved_part_write(&config, name, &part, &err), 0);
}

static void a_part_is_read_as_it_was_written(void **state)
{
    struct train_config config = config_of(7, 9, 1, NULL);
    struct saved_part part;

    write_part(7, 9, "g1-s1", (struct saved_part){.step = 1, .batches = 2, .drawn = 3, .whole = 4, .time = 5.5, .last = true,
                                                  .state = true, .size = 6, .digest = "00ff"});
    write_part(8, 9, "g1-s1", (struct saved_part){.step = 11, .size = 16, .digest = "11ff"});
    assert_int_equal(saved_part_read(&config, "g1-s1", 7, &part, &err), 0);
    assert_true(part.ranks == 9 && part.step == 1 && part.batches == 2 && part.drawn == 3 && part.whole == 4 &&
                part.time == 5.5);
    assert_true(part.last && part.state && part.size == 6);
    assert_string_equal(part.digest, "00ff");
    assert_int_equal(saved_part_read(&config, "g1-s1", 8, &part, &err), 0);
    assert_true(part.step == 11 && !part.last && !part.state && part.size == 0); /* it has saved nothing of its own */
    assert_string_equal(part.digest, "");
    assert_int_equal(saved_part_read(&config, "g1-s1", 6, &part, &err), -1);
    assert_int_equal(errno, ENOENT);
}

/* Returns the list, to be freed. */
static json_t *read_list(void)
{
    json_t *file = file_read_json(in_dir("checkpoints.json", ""), &err),
           *list = json_incref(json_object_get(file, "checkpoints"));

    json_decref(file);
    return list;
}

static void assert_list(const char *wanted)
{
    json_t *list = read_list();
    const json_t *entry;
    char names[200] = "";
    size_t i;

    json_array_foreach (list, i, entry)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s ",
                 json_string_value(json_object_get(entry, "name")));
    assert_string_equal(names, wanted);
    json_decref(list);
}

static int64_t number(const json_t *entry, const char *key)
{
    return json_integer_value(json_object_get(entry, key));
}

static void the_list_tells_what_all_ranks_have(void **state)
{
    static const double times[] = {30.5, 10.5, 20.5};

    for (int last = 0; last <= 3; last++) { /* the rank that does not end with it; 3: all do */
        struct train_config config = config_of(0, 3, 4, NULL);
        json_t *list, *entry;
        char name[20];

        snprintf(name, sizeof name, "g4-s%d", 10 + last);
        for (int rank = 0; rank < 3; rank++) {
            assert_false(saved_is_written(&config, name));
            assert_int_equal(saved_add(&config, name, &err), 0);
            assert_false(saved_is_whole(&config, name));
            write_part(rank, 3, name, (struct saved_part){.step = 10 + last + 100 * rank, .batches = 5 + (uint64_t)rank, .time = times[rank],
                                                          .drawn = (uint64_t)1 << rank, .size = 1000 << rank, .last = rank != last, .state = true,
                                                          .digest = {'a' + (char)rank}});
        }
        assert_true(saved_is_written(&config, name));
        assert_int_equal(saved_add(&config, name, &err), 1);
        assert_true(saved_is_whole(&config, name));
        list = read_list();
        assert_int_equal(json_array_size(list), last + 1);
        entry = json_array_get(list, 0);
        assert_string_equal(json_string_value(json_object_get(entry, "name")), name);
        assert_string_equal(json_string_value(json_object_get(entry, "digest")), "a");
        assert_true(number(entry, "generation") == 4 && number(entry, "step") == 10 + last &&
                    number(entry, "batches") == 5);
        assert_true(number(entry, "ranks") == 3 && number(entry, "drawn") == 7 && number(entry, "size") == 7000);
        assert_true(json_real_value(json_object_get(entry, "time")) == 10.5);
        assert_int_equal(json_is_true(json_object_get(entry, "last")), last == 3);
        json_decref(list);
    }
}

/* Saves a checkpoint of one rank, and adds it. */
static void add(int generation, const char *resume, int64_t keep, const char *name)
{
    struct train_config config = config_of(0, 1, generation, resume);

    config.checkpoint.keep = keep;
    write_part(0, 1, name, (struct saved_part){.step = atoi(strstr(name, "-s") + 2), .state = true});
    assert_int_equal(saved_add(&config, name, &err), 1);
}

static bool is_there(const char *name)
{
    return access(in_dir(name, ""), F_OK) == 0;
}

static void assert_newest(int generation, const char *wanted, int64_t wanted_step)
{
    struct train_config config = config_of(0, 1, generation, NULL);
    int64_t step = -1;
    char *name = saved_newest(&config, &step, &err);

    assert_non_null(name);
    assert_string_equal(name, wanted);
    assert_int_equal(step, wanted_step);
    free(name);
}

static void what_falls_out_of_the_list_is_removed(void **state)
{
    static const char *const more[] = {"g1-s1", "g2-s7", "g3-s1", "notes"};
    struct train_config config;

    assert_newest(1, "", 0); /* there is no list yet */
    add(1, NULL, 9, "g1-s3");
    add(1, NULL, 9, "g1-s5");
    add(1, NULL, 9, "g1-s9");
    assert_list("g1-s9 g1-s5 g1-s3 ");
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        assert_int_equal(mkdir(in_dir(more[i], ""), 0700), 0);
    add(2, "g1-s5", 2, "g2-s4"); /* somebody chose to go on from there, and not from the newest */
    assert_list("g2-s4 g1-s5 ");
    assert_false(is_there("g1-s9") || is_there("g1-s3") || is_there("g1-s1"));
    assert_true(is_there("g2-s4") && is_there("g1-s5"));
    for (size_t i = 1; i < sizeof more / sizeof *more; i++)
        assert_true(is_there(more[i]));
    add(2, "g1-s5", 1, "g2-s6");
    add(2, "g1-s5", 1, "g2-s6");
    assert_list("g2-s6 ");
    assert_true(is_there("g1-s5") && !is_there("g2-s4")); /* it is still read */
    add(2, "g1-s5", 3, "g2-s8");
    add(2, "g1-s5", 3, "g2-s6"); /* again */
    assert_list("g2-s6 g2-s8 ");
    assert_newest(2, "g2-s6", 6);
    assert_newest(1, "", 0);
    add(3, "g2-s6", 9, "g3-s2");
    assert_list("g3-s2 g2-s6 g2-s8 ");
    assert_newest(2, "g2-s6", 6);
    add(4, NULL, 9, "g4-s1"); /* from the start */
    assert_list("g4-s1 ");
    add(4, NULL, 9, "g4-s2");
    config = config_of(0, 1, 4, NULL);
    assert_int_equal(saved_drop(&config, "g4-s2", &err), 0);
    assert_list("g4-s1 ");
    assert_true(is_there("g4-s2"));
    assert_false(saved_is_whole(&config, "g4-s2"));
    assert_true(saved_is_whole(&config, "g4-s1"));
}

/* Samples that the two ranks of generation 1 have drawn. */
struct one {
    uint64_t member;
    int64_t step;
};
static const struct one drawn[2][4] = {{{0, 0}, {0, 62}, {1, 1}, {2, 640}}, {{0, 1}, {1, 0}, {1, 64}, {2, 65}}};

static struct stepset_run *runs_of(const struct one *one, size_t n)
{
    struct stepset_run *runs = calloc(n, sizeof *runs);

    for (size_t i = 0; i < n; i++)
        runs[i] =
            (struct stepset_run){one[i].member << 32 | (uint64_t)one[i].step / 64, UINT64_C(1) << one[i].step % 64};
    return runs;
}

/* Saves the last checkpoint of two ranks, of which rank 1 has no state of its own unless `own`. */
static void save_by_two(const char *name, bool own)
{
    for (int rank = 0; rank < 2; rank++) {
        uint32_t ended[MEMBERS] = {rank == 0 ? 2 : 3, rank == 0 ? 0 : 1, 4};
        struct cut cut = {.members = MEMBERS, .drawn = 4, .batches = 10 + (uint64_t)rank, .repeats = 20 + (uint64_t)rank, .n_runs = 4,
                          .runs = runs_of(drawn[rank], 4), .ended = ended};
        struct saved_part part = {.step = 5, .last = true};
        char state[32];

        for (size_t i = 0; i < POOL_DRAWS; i++)
            cut.draws[i] = 100 * (i + 1) + (uint64_t)rank;
        mkdir(in_dir(name, ""), 0700);
        snprintf(state, sizeof state, "state-rank%d", rank);
        if (rank == 0 || own) {
            assert_int_equal(file_write_whole(in_dir(name, state), "state", 4 + (size_t)rank, 0600, &err), 0);
            assert_int_equal(state_measure(in_dir(name, state), false, &part.size, part.digest, &err), 0);
            part.state = true;
        }
        assert_int_equal(cut_write(&cut, in_dir(name, ""), rank, &err), 0);
        write_part(rank, 2, name, part);
        free(cut.runs);
    }
}

static bool has(const struct stepset_run *runs, size_t n, struct one one)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i].key == (one.member << 32 | (uint64_t)one.step / 64) && runs[i].bits >> one.step % 64 & 1)
            return true;
    return false;
}

static uint64_t count(const struct stepset_run *runs, size_t n)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < n; i++)
        bits += (uint64_t)__builtin_popcountll(runs[i].bits);
    return bits;
}

/* Tells whether that rank has what one of the two had: its own, or, where there are more or fewer, what is dealt to it. */
static bool is_share(const struct train_config *config, int of, struct one one)
{
    return (config->ranks == 2 ? of : dealing_rank(config->dealing, one.member, one.step)) == config->rank;
}

static void assert_share(const struct train_config *config, const struct cut *cut)
{
    uint64_t n = 0;

    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < 4; i++) {
            bool ours = is_share(config, rank, drawn[rank][i]);

            assert_int_equal(has(cut->runs, cut->n_runs, drawn[rank][i]), ours);
            n += ours;
        }
    assert_int_equal(cut->drawn, n);
    assert_int_equal(count(cut->runs, cut->n_runs), n);
}

static void another_number_of_ranks_shares_what_was_drawn(void **state)
{
    save_by_two("g1-s5", true);
    for (int ranks = 1; ranks <= 5; ranks++)
        for (int rank = 0; rank < ranks; rank++) {
            struct train_config config = config_of(rank, ranks, 2, "g1-s5");
            struct resume resume;

            if (resume_load(&config, &resume, &err) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(resume.ranks, 2);
            assert_string_equal(strrchr(resume.state, '/'), rank == 1 ? "/state-rank1" : "/state-rank0");
            assert_share(&config, &resume.cut);
            assert_int_equal(resume.handovers, ranks == 2 ? 1 : 2);
            assert_true(strstr(resume.handover[0], ranks == 2 && rank == 1 ? "buffer-rank1.bin" : "buffer-rank0.bin") != NULL);
            if (ranks != 2) {
                assert_non_null(strstr(resume.handover[1], "buffer-rank1.bin"));
                assert_true(resume.cut.ended[0] == 2 && resume.cut.ended[1] == 0 && resume.cut.ended[2] == 4);
                assert_true(resume.cut.batches == (rank == 0 ? 21 : 0) && resume.cut.repeats == (rank == 0 ? 41 : 0));
                for (size_t i = 0; i < POOL_DRAWS; i++)
                    assert_int_equal(resume.cut.draws[i], rank == 0 ? 200 * (i + 1) + 1 : 0);
            } else {
                assert_true(resume.cut.ended[0] == 2 + (uint32_t)rank && resume.cut.batches == 10 + (uint64_t)rank);
            }
            resume_fini(&resume);
            config.restart = 1; /* what was handed over is in the memory of the rank by now */
            assert_int_equal(resume_load(&config, &resume, &err), 0);
            assert_int_equal(resume.handovers, 0);
            resume_fini(&resume);
        }
}

static void assert_damaged(const struct train_config *config)
{
    struct resume resume;

    assert_int_equal(resume_load(config, &resume, &err), -1);
    assert_string_equal(err.code, "train_resume");
    assert_null(resume.state);
}

static void a_state_is_that_of_the_rank_or_of_rank_0(void **state)
{
    struct train_config first = config_of(0, 2, 2, "g1-s5"), second = config_of(1, 2, 2, "g1-s5");
    struct resume resume;

    save_by_two("g1-s5", false);
    assert_int_equal(resume_load(&second, &resume, &err), 0);
    assert_string_equal(strrchr(resume.state, '/'), "/state-rank0");
    resume_fini(&resume);
    assert_int_equal(file_write_whole(in_dir("g1-s5", "state-rank0"), "stat!", 4, 0600, &err), 0);
    assert_int_equal(resume_load(&second, &resume, &err), 0); /* the fifth byte is not written */
    resume_fini(&resume);
    assert_int_equal(file_write_whole(in_dir("g1-s5", "state-rank0"), "stut", 4, 0600, &err), 0);
    assert_damaged(&first);
    assert_damaged(&second);
    assert_int_equal(file_write_whole(in_dir("g1-s5", "state-rank0"), "state", 5, 0600, &err), 0);
    assert_damaged(&second);
    unlink(in_dir("g1-s5", "state-rank0"));
    assert_damaged(&second);
    save_by_two("g1-s5", true);
    unlink(in_dir("g1-s5", "rank1.json"));
    assert_damaged(&second);
    first.count++;
    assert_damaged(&first);
    first.count--;
    assert_int_equal(resume_load(&first, &resume, &err), 0);
    resume_fini(&resume);
    for (int ranks = 0; ranks <= 65537; ranks += 65537) {
        write_part(0, ranks, "g1-s5", (struct saved_part){.step = 5});
        assert_damaged(&first);
    }
}

/* Of a checkpoint of another ensemble's training, only the program's state is taken over. */
static void another_ensemble_s_state_is_taken_alone(void **state)
{
    struct train_config config = config_of(1, 3, 1, NULL);
    struct resume resume;

    save_by_two("g1-s5", true);
    config.checkpoint.dir = "/nowhere";
    assert_int_equal(resume_load(&config, &resume, &err), 0);
    assert_true(resume.state == NULL && resume.ranks == 0);
    config.checkpoint.from.dir = dir;
    config.checkpoint.from.name = "g1-s5";
    assert_int_equal(resume_load(&config, &resume, &err), 0);
    assert_string_equal(strrchr(resume.state, '/'), "/state-rank1");
    assert_true(resume.ranks == 2 && resume.step == 5 && resume.cut.n_runs == 0 && resume.cut.ended == NULL &&
                resume.handovers == 0);
    assert_string_equal(config.checkpoint.dir, "/nowhere");
    resume_fini(&resume);
}

/* A process that takes the place of another one goes on from what this generation has saved, if it has. */
static void the_next_process_goes_on_from_the_newest_of_its_generation(void **state)
{
    struct train_config config = config_of(0, 1, 2, "g1-s5");

    add(1, NULL, 9, "g1-s5");
    config.restart = 1;
    assert_int_equal(resume_choose(&config, &err), 0);
    assert_string_equal(config.checkpoint.resume, "g1-s5");
    free(config.checkpoint.newest);
    config.checkpoint.newest = NULL;
    add(2, "g1-s5", 9, "g2-s7");
    add(2, "g1-s5", 9, "g2-s8");
    config.restart = 0;
    assert_int_equal(resume_choose(&config, &err), 0);
    assert_string_equal(config.checkpoint.resume, "g1-s5");
    config.restart = 1;
    assert_int_equal(resume_choose(&config, &err), 0);
    assert_string_equal(config.checkpoint.resume, "g2-s8");
    assert_int_equal(config.checkpoint.resume_step, 8);
    free(config.checkpoint.newest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_part_is_read_as_it_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_list_tells_what_all_ranks_have, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_falls_out_of_the_list_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_number_of_ranks_shares_what_was_drawn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_state_is_that_of_the_rank_or_of_rank_0, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_ensemble_s_state_is_taken_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_next_process_goes_on_from_the_newest_of_its_generation, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
