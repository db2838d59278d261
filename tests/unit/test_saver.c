/* Checkpoints that a rank saves, and a rank that goes on from one: which samples it gets again, and which never. */
#include "common/files.h"
#include "tasks/proto/kept.h"
#include "tasks/train/config.h"
#include "tasks/train/cut.h"
#include "tasks/train/resume.h"
#include "tasks/train/saved.h"
#include "tasks/train/state.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit_dir.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEPS 20
#define LIMIT_MS (FIXTURE_LIMIT_SECONDS * 1000)
#define FIFO "{\"policy\": \"fifo\", \"capacity\": 100, \"threshold\": 0, \"batch\": 5, \"seed\": 7}"

static char dir[64];

/* Sets a key of training.json. */
static void configure(const struct fixture *fx, const char *key, json_t *value)
{
    struct error err;
    json_t *json = file_read_json(fixture_path(fx, "training.json"), &err);

    json_object_set_new(json, key, value);
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), json, 0600, &err), 0);
    json_decref(json);
}

static void set_up(struct fixture *fx, int ranks, int members, int keep, double every)
{
    fixture_init_ranks(fx, ranks, 4, 0, members, FIFO);
    unit_dir_make(dir);
    configure(fx, "checkpoint", json_pack("{s:s, s:i, s:f}", "dir", dir, "keep", keep, "every", every));
    unsetenv("STRETTO_CHECKPOINT_SIGNAL");
}

static void tear_down(struct fixture *fx)
{
    static const char *const more[] = {"g2-rank0.json",     "g2-rank1.json",       "g2-rank2.json",   "g3-rank0.json",
                                       "g1-rank2.json",     "done-rank1.json",     "done-rank2.json", "metrics-rank1.jsonl",
                                       "status-rank2.json", "metrics-rank2.jsonl"};

    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        unlink(fixture_path(fx, more[i]));
    fixture_fini(fx);
    state_remove(unit_dir_top(dir));
}

/* Begins another generation of ranks, which goes on from that checkpoint. */
static void begin_anew(const struct fixture *fx, int generation, const char *name, int step)
{
    struct error err;
    json_t *current = json_pack("{s:i, s:i, s:i}", "version", 1, "generation", generation, "ranks", fx->ranks);

    assert_int_equal(file_write_json(fixture_path(fx, "current.json"), current, 0600, &err), 0);
    json_decref(current);
    configure(fx, "generation", json_integer(generation));
    configure(fx, "resume", json_pack("{s:s, s:i}", "name", name, "step", step));
    unlink(fixture_path(fx, "done-rank0.json"));
    unlink(fixture_path(fx, "done-rank1.json"));
}

static int write_state(const char *path, const char *text)
{
    struct error err;

    return file_write_whole(path, text, strlen(text), 0600, &err);
}

static void save(struct stretto_train *t, int64_t step, const char *text, int due)
{
    const char *path = stretto_train_checkpoint_begin(t, step);

    if (path == NULL)
        fail_msg("%s", stretto_train_error(t));
    if (text != NULL)
        assert_int_equal(write_state(path, text), 0);
    if (stretto_train_checkpoint_end(t, due) < 0)
        fail_msg("%s", stretto_train_error(t));
}

/* The names in checkpoints.json, each followed by a blank; to be freed. */
static char *listed(void)
{
    char path[100], *names = strdup("");
    struct error err;
    const json_t *entry;
    json_t *json;
    size_t i;

    snprintf(path, sizeof path, "%s/checkpoints.json", dir);
    json = file_read_json(path, &err);
    json_array_foreach (json_object_get(json, "checkpoints"), i, entry) {
        char *longer = NULL;

        assert_true(asprintf(&longer, "%s%s ", names, json_string_value(json_object_get(entry, "name"))) > 0);
        free(names);
        names = longer;
    }
    json_decref(json);
    return names;
}

static int lists(void *arg)
{
    char *names = listed();
    int same = strcmp(names, arg) == 0;

    free(names);
    return same;
}

#define WAIT_FOR_LIST(names) assert_true(fixture_wait(lists, (void *)(uintptr_t)(names), LIMIT_MS))

static void send_steps(const struct fixture *fx, int member, int attempt, int from, int to)
{
    struct stretto *s = fixture_member(member, attempt);

    for (int step = from; step < to; step++)
        assert_int_equal(fixture_send(fx, s, member, step), 0);
    assert_int_equal(stretto_close(s), 0);
}

static int has_received(void *arg)
{
    struct stretto_train *t = ((void **)arg)[0];

    return fixture_stats(t).received >= *(uint64_t *)((void **)arg)[1];
}

static void wait_for_samples(struct stretto_train *t, uint64_t n)
{
    assert_true(fixture_wait(has_received, (void *[]){t, &n}, LIMIT_MS));
}

static void what_was_drawn_before_the_checkpoint_never_comes_again_and_all_else_does(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct cut cut;
    struct error err;
    char from[100];
    int first[2 * STEPS] = {0}, lost[2 * STEPS] = {0}, second[2 * STEPS] = {0};

    set_up(&fx, 1, 2, 2, 0);
    t = fixture_rank(0);
    assert_null(stretto_train_resume(t));
    assert_int_equal(stretto_train_resume_step(t), -1);
    assert_int_equal(stretto_train_resume_ranks(t), 0);
    send_steps(&fx, 0, 1, 0, STEPS);
    send_steps(&fx, 1, 1, 0, STEPS);
    for (int batch = 0; batch < 5; batch++) /* all of member 0, and 5 of member 1 */
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, first), 5);
    save(t, 5, "weights", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s5 ");
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, lost), 5);
    stretto_train_close(t);

    snprintf(from, sizeof from, "%s/g1-s5", dir);
    assert_int_equal(cut_read(&cut, from, 0, 2, &err), 0);
    assert_int_equal(cut.drawn, 25);
    assert_int_equal(cut.ended[0], 1);
    assert_int_equal(cut.ended[1], 0);
    cut_fini(&cut);

    begin_anew(&fx, 2, "g1-s5", 5);
    t = fixture_rank(0);
    snprintf(from, sizeof from, "%s/g1-s5/state-rank0", dir);
    assert_string_equal(stretto_train_resume(t), from);
    assert_int_equal(stretto_train_resume_step(t), 5);
    assert_int_equal(stretto_train_resume_ranks(t), 1);
    assert_int_equal(fixture_stats(t).drawn, 25);
    assert_int_equal(fixture_stats(t).unique, 25);
    assert_int_equal(fixture_stats(t).batches, 5);
    assert_int_equal(fixture_stats(t).finalized, 1);
    send_steps(&fx, 1, 2, 0, STEPS); /* the member that was not whole, and no other */
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, second);
    for (int i = 0; i < 2 * STEPS; i++)
        assert_int_equal(first[i] + second[i], 1);
    assert_int_equal(fixture_stats(t).unique, 2 * STEPS);
    assert_int_equal(fixture_stats(t).duplicates, 0);
    assert_int_equal(fixture_stats(t).skipped, 5);
    assert_int_equal(fixture_stats(t).drawn, 2 * STEPS);
    assert_int_equal(fixture_stats(t).batches, 8);
    assert_int_equal(stretto_train_done(t), 0);
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_member_is_whole_once_its_end_has_come_and_all_of_it_was_drawn(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct cut cut;
    struct error err;
    char from[100];
    int times[3 * STEPS] = {0};
    struct stretto *s;

    set_up(&fx, 1, 3, 2, 0);
    t = fixture_rank(0);
    s = fixture_member(0, 1); /* its end does not come */
    for (int step = 0; step < 5; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    wait_for_samples(t, 5);
    send_steps(&fx, 1, 1, 0, 5);
    send_steps(&fx, 2, 1, 0, 5);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    save(t, 1, "a", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s1 ");
    snprintf(from, sizeof from, "%s/g1-s1", dir);
    assert_int_equal(cut_read(&cut, from, 0, 3, &err), 0);
    assert_false(cut_is_whole(&cut, 0)); /* it may send more */
    assert_true(cut_is_whole(&cut, 1));
    assert_false(cut_is_whole(&cut, 2)); /* its samples are still in the buffer */
    cut_fini(&cut);
    stretto_abort(s);
    stretto_train_close(t);
    tear_down(&fx);
}

static void only_the_newest_are_kept(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    char path[100];

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    for (int step = 1; step <= 4; step++)
        save(t, step, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s4 g1-s3 ");
    stretto_train_close(t);
    snprintf(path, sizeof path, "%s/g1-s2", dir);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/g1-s3/state-rank0", dir);
    assert_int_equal(access(path, F_OK), 0);
    begin_anew(&fx, 2, "g1-s3", 3); /* a user did not want the newest */
    t = fixture_rank(0);
    save(t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s3 g1-s3 ");
    save(t, 4, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s4 g2-s3 ");
    snprintf(path, sizeof path, "%s/g1-s4", dir);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/g1-s3/state-rank0", dir);
    assert_int_equal(access(path, F_OK), 0); /* it may still be read */
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_checkpoint_counts_once_the_parts_of_all_ranks_are_there(void **state)
{
    struct fixture fx;
    struct stretto_train *t0, *t1;
    char path[100];

    set_up(&fx, 2, 1, 2, 0);
    t0 = fixture_rank(0);
    t1 = fixture_rank(1);
    save(t0, 1, "zero", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t0, 2, "zero", STRETTO_TRAIN_CHECKPOINT_DUE); /* so the part of step 1 is written */
    assert_true(lists(""));
    save(t1, 2, NULL, STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s2 ");
    assert_int_equal(stretto_train_done(t1), 0);
    save(t0, 3, "zero", STRETTO_TRAIN_CHECKPOINT_DUE); /* rank 1 has finished without it */
    assert_int_equal(stretto_train_done(t0), 0);
    assert_true(lists("g1-s2 "));
    stretto_train_close(t0);
    stretto_train_close(t1);

    begin_anew(&fx, 2, "g1-s2", 2);
    t1 = fixture_rank(1);
    snprintf(path, sizeof path, "%s/g1-s2/state-rank0", dir);
    assert_string_equal(stretto_train_resume(t1), path); /* it had saved nothing of its own */
    stretto_train_close(t1);
    tear_down(&fx);
}

static void damage(const char *name, const char *file)
{
    char path[120], byte;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s/%s", dir, name, file);
    f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fread(&byte, 1, 1, f), 1);
    byte ^= 1;
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fwrite(&byte, 1, 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

static void a_damaged_checkpoint_is_not_taken_and_leaves_the_list(void **state)
{
    static const char *const files[] = {"state-rank0", "stream-rank0.bin"};
    struct fixture fx;
    struct stretto_train *t;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        set_up(&fx, 1, 1, 2, 0);
        t = fixture_rank(0);
        save(t, 1, "older", STRETTO_TRAIN_CHECKPOINT_DUE);
        save(t, 2, "newer", STRETTO_TRAIN_CHECKPOINT_DUE);
        WAIT_FOR_LIST("g1-s2 g1-s1 ");
        stretto_train_close(t);
        damage("g1-s2", files[i]);
        begin_anew(&fx, 2, "g1-s2", 2);
        assert_int_equal(stretto_train_open(&t), -1);
        assert_non_null(strstr(stretto_train_error(t), "damaged"));
        assert_non_null(strstr(stretto_train_error(t), files[i]));
        stretto_train_close(t);
        assert_true(lists("g1-s1 "));
        begin_anew(&fx, 3, "g1-s1", 1);
        t = fixture_rank(0);
        stretto_train_close(t);
        tear_down(&fx);
    }
}

/* Returns the memory of a rank, as the runner makes it. */
static int make_memory(void)
{
    struct kept_head head = {.magic = KEPT_MAGIC, .owner = "st-1/1.training.0"};
    int memory = memfd_create("kept", MFD_CLOEXEC);
    char path[64];

    assert_true(memory >= 0);
    assert_int_equal(pwrite(memory, &head, sizeof head, 0), sizeof head);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    setenv("STRETTO_KEPT", path, 1);
    setenv("STRETTO_TASK", head.owner, 1);
    return memory;
}

static void names_of_checkpoints_have_an_order(void **state)
{
    static const char *const names[] = {"g1-s2",   "g1-s2-b", "g1-s10",  "g1-s10-b", "g1.1-s3", "g1.1-s3-b",
                                        "g1.2-s1", "g2-s1",   "g2-s1-b", "g9-s1",    "g10-s1",  "g10.1-s0"};
    static const char *const others[] = {"", "g1", "g1-s", "s1", "g1-s1-c", "g1-s1.tmp", "g1-s1-b-b", "x"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            assert_int_equal(saved_is_older(names[i], names[j]), i < j);
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            assert_false(saved_is_older(others[j], names[i]) || saved_is_older(names[i], others[j]));
    }
}

/* A checkpoint is taken out of the list for what is wrong with it, and for nothing else, such as memory that is short. */
static void only_a_damaged_checkpoint_leaves_the_list(void **state)
{
    struct train_config config;
    struct fixture fx;
    struct stretto_train *t;
    struct error err;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    save(t, 1, "older", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 2, "newer", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s2 g1-s1 ");
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s2", 2);
    assert_int_equal(train_config_read(&config, &err), 0);
    error_set(&err, "train_memory", "no memory for it");
    resume_give_up(&config, &err);
    assert_true(lists("g1-s2 g1-s1 "));
    error_set(&err, "train_resume", "it is damaged");
    resume_give_up(&config, &err);
    assert_true(lists("g1-s1 "));
    train_config_fini(&config);
    tear_down(&fx);
}

static int count_lines(const char *path)
{
    FILE *file = fopen(path, "re");
    int n = 0, c;

    assert_non_null(file);
    while ((c = fgetc(file)) != EOF)
        n += c == '\n';
    fclose(file);
    return n;
}

static int count_entries(const char *path)
{
    DIR *list = opendir(path);
    int n = 0;

    assert_non_null(list);
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

/* The kernel may list a thread for a moment longer than it runs. */
static int has_no_more_threads(void *arg)
{
    return count_entries("/proc/self/task") <= *(int *)arg;
}

/* A program may open trainings one after the other: no descriptor, thread or mapping stays, whatever the rank had. */
static void a_rank_that_is_closed_leaves_nothing(void **state)
{
    int descriptors = 0, threads = 0, mappings = 0, memory = make_memory();
    struct fixture fx;
    struct stretto_train *t;
    char restart[16];

    set_up(&fx, 1, 1, 2, 0);
    for (int i = 0; i < 33; i++) {
        snprintf(restart, sizeof restart, "%d", i);
        setenv("STRETTO_RESTART", restart, 1);
        t = fixture_rank(0);
        if (i == 0)
            send_steps(&fx, 0, 1, 0, 5);
        save(t, 1 + i, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
        stretto_train_close(t);
        if (i == 2) { /* what libraries keep is there by now */
            descriptors = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
            mappings = count_lines("/proc/self/maps");
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_true(fixture_wait(has_no_more_threads, &threads, LIMIT_MS));
    assert_in_range(count_lines("/proc/self/maps"), 0, mappings + 20); /* the heap may have grown, but not each time */
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_RESTART");
    close(memory);
    tear_down(&fx);
}

static void the_last_one_ends_the_batches_and_the_training_is_unfinished(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    char *done;
    size_t size;
    int times[STEPS] = {0};

    set_up(&fx, 1, 1, 2, 0);
    configure(&fx, "checkpoint", json_pack("{s:s, s:f}", "dir", dir, "before", 60.0));
    setenv("STRETTO_DEADLINE", "1", 1); /* long ago */
    t = fixture_rank(0);
    unsetenv("STRETTO_DEADLINE");
    send_steps(&fx, 0, 1, 0, STEPS);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    assert_int_equal(stretto_train_checkpoint_due(t), STRETTO_TRAIN_CHECKPOINT_LAST);
    save(t, 1, "state", stretto_train_checkpoint_due(t));
    assert_true(lists("g1-s1 ")); /* it was waited for */
    assert_int_equal(stretto_train_checkpoint_due(t), 0);
    assert_int_equal(stretto_train_unfinished(t), 1);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), STRETTO_TRAIN_END);
    assert_int_equal(stretto_train_done(t), 0);
    assert_int_equal(file_read(fixture_path(&fx, "done-rank0.json"), 100000, &done, &size, &err), 0);
    assert_non_null(strstr(done, "\"state\":\"unfinished\""));
    free(done);
    stretto_train_close(t);
    tear_down(&fx);
}

/* A generation ends as planned with `before` ranks, having drawn a batch on each; the next one has `after` ranks,
 * and this buffer unless NULL, and gets what was not drawn without anybody sending it again. A Reservoir gets what
 * was drawn, too, since it may draw it again. */
static void hand_over(int before, int after, const char *buffer)
{
    struct fixture fx;
    struct stretto_train *t[3];
    bool keeps = buffer != NULL && strstr(buffer, "reservoir") != NULL;
    uint64_t drawn = 0, received = 0, repeats = 0;
    int first[2 * STEPS] = {0}, second[2 * STEPS] = {0}, draws = 0;

    set_up(&fx, before, 2, 2, 0);
    if (keeps)
        configure(&fx, "buffer", json_loads(buffer, 0, NULL));
    for (int rank = 0; rank < before; rank++)
        t[rank] = fixture_rank(rank);
    send_steps(&fx, 0, 1, 0, STEPS);
    send_steps(&fx, 1, 1, 0, STEPS);
    for (int rank = 0; rank < before; rank++)
        assert_int_equal(fixture_draw(&fx, t[rank], LIMIT_MS, STEPS, first), 5);
    for (int rank = before - 1; rank >= 0; rank--) { /* rank 0 waits for the parts of the others */
        save(t[rank], 1, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
        assert_int_equal(stretto_train_done(t[rank]), 0);
        stretto_train_close(t[rank]);
    }
    begin_anew(&fx, 2, "g1-s1", 1);
    configure(&fx, "ranks", json_integer(after));
    if (buffer != NULL)
        configure(&fx, "buffer", json_loads(buffer, 0, NULL));
    fixture_over(&fx);
    for (int rank = 0; rank < after; rank++)
        t[rank] = fixture_rank(rank);
    for (int rank = 0; rank < after; rank++) {
        fixture_draw_all(&fx, t[rank], STEPS, second);
        drawn += fixture_stats(t[rank]).drawn;
        received += fixture_stats(t[rank]).received;
        repeats += fixture_stats(t[rank]).repeats;
        assert_int_equal(fixture_stats(t[rank]).finalized, 2);
    }
    for (int i = 0; i < 2 * STEPS; i++) {
        if (first[i] != 0 && !keeps ? second[i] != 0 : second[i] == 0)
            fail_msg("sample %d was drawn %d times by the first generation, %d by the second", i, first[i], second[i]);
        draws += first[i] + second[i];
    }
    assert_int_equal(drawn, 2 * STEPS);
    assert_int_equal(repeats, (uint64_t)draws - drawn);
    assert_int_equal(received, 2 * STEPS);
    for (int rank = 0; rank < after; rank++)
        stretto_train_close(t[rank]);
    tear_down(&fx);
}

static void what_was_not_drawn_is_handed_over(void **state)
{
    hand_over(1, 1, NULL);
    hand_over(1, 1, RESERVOIR(100, 5, 5));
    hand_over(2, 2, NULL);
}

static void another_number_of_ranks_shares_it_out(void **state)
{
    hand_over(1, 2, NULL);
    hand_over(2, 1, NULL);
    hand_over(2, 3, RESERVOIR(100, 5, 5));
    hand_over(3, 2, NULL);
}

/* A rank is killed after a checkpoint and a batch more. What it had drawn before the checkpoint may be drawn again
 * by its next process, which has a buffer of that capacity, beside what is not learnt; if there is place. */
static void dies(int capacity)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto_train_stats stats;
    char from[100];
    struct error err;
    struct cut cut;
    int first[STEPS] = {0}, lost[STEPS] = {0}, second[STEPS] = {0}, draws = 0, memory = make_memory();
    uint64_t again = 0;

    set_up(&fx, 1, 1, 2, 0);
    configure(&fx, "buffer", json_loads(RESERVOIR(100, 5, 5), 0, NULL));
    t = fixture_rank(0);
    send_steps(&fx, 0, 1, 0, STEPS);
    wait_for_samples(t, STEPS);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, first), 5);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s1 ");
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, lost), 5);
    stretto_train_close(t);

    snprintf(from, sizeof from, "%s/g1-s1", dir);
    assert_int_equal(cut_read(&cut, from, 0, 1, &err), 0);
    setenv("STRETTO_RESTART", "1", 1);
    configure(&fx, "buffer", json_pack("{s:s, s:i, s:i, s:i, s:i}", "policy", "reservoir", "capacity", capacity,
                                       "threshold", 5, "batch", 5, "seed", 7));
    fixture_over(&fx);
    t = fixture_rank(0);
    fixture_draw_all(&fx, t, STEPS, second);
    stats = fixture_stats(t);
    for (int i = 0; i < STEPS; i++) {
        assert_true(second[i] > 0 || first[i] > 0);
        again += second[i] > 0 && first[i] > 0;
        draws += first[i] + second[i];
    }
    assert_int_equal(again, capacity >= STEPS ? cut.drawn : 0);
    assert_int_equal(stats.drawn, STEPS);
    assert_int_equal(stats.repeats, draws - STEPS);
    cut_fini(&cut);
    stretto_train_close(t);
    unsetenv("STRETTO_RESTART");
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_TASK");
    close(memory);
    tear_down(&fx);
}

/* The attempt of the member that had told its end by a checkpoint. */
static uint32_t ended_by(const char *checkpoint, int member, uint64_t members)
{
    struct error err;
    struct cut cut;
    char from[100];
    uint32_t attempt;

    snprintf(from, sizeof from, "%s/%s", dir, checkpoint);
    assert_int_equal(cut_read(&cut, from, 0, members, &err), 0);
    attempt = cut.ended[member];
    cut_fini(&cut);
    return attempt;
}

static void a_checkpoint_tells_which_attempt_had_told_its_end(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    int times[STEPS] = {0};

    set_up(&fx, 1, 1, 4, 0);
    t = fixture_rank(0);
    for (int attempt = 1; attempt <= 2; attempt++) { /* the first one leaves steps to the second */
        send_steps(&fx, 0, attempt, 0, 5 * attempt);
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
        save(t, attempt, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    }
    WAIT_FOR_LIST("g1-s2 g1-s1 ");
    assert_int_equal(ended_by("g1-s1", 0, 1), 1);
    assert_int_equal(ended_by("g1-s2", 0, 1), 2);
    stretto_train_close(t);

    begin_anew(&fx, 2, "g1-s1", 1); /* where the second attempt is to run again, as the third */
    t = fixture_rank(0);
    assert_int_equal(fixture_stats(t).finalized, 1);
    save(t, 2, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    send_steps(&fx, 0, 3, 0, 10);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    save(t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s3 g2-s2 g1-s1 ");
    assert_int_equal(ended_by("g2-s2", 0, 1), 1);
    assert_int_equal(ended_by("g2-s3", 0, 1), 3);
    stretto_train_close(t);
    tear_down(&fx);
}

static int is_complete(void *arg)
{
    struct kept_head head;

    assert_int_equal(pread(*(int *)arg, &head, sizeof head, 0), sizeof head);
    return head.state == KEPT_COMPLETE;
}

/* A generation goes on from a checkpoint, and a rank of it is killed. */
static void what_was_told_before_the_checkpoint_outlives_the_next_process(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    int times[STEPS] = {0}, memory;

    set_up(&fx, 1, 2, 3, 0);
    t = fixture_rank(0);
    send_steps(&fx, 0, 2, 0, 5);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s1 ");
    stretto_train_close(t);

    begin_anew(&fx, 2, "g1-s1", 1);
    memory = make_memory();
    t = fixture_rank(0);
    assert_true(fixture_wait(is_complete, &memory, LIMIT_MS));
    stretto_train_close(t);
    setenv("STRETTO_RESTART", "1", 1);
    t = fixture_rank(0);
    assert_int_equal(fixture_stats(t).finalized, 1);
    save(t, 2, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2.1-s2 g1-s1 ");
    assert_int_equal(ended_by("g2.1-s2", 0, 2), 2);
    assert_int_equal(ended_by("g2.1-s2", 1, 2), 0);
    stretto_train_close(t);
    unsetenv("STRETTO_RESTART");
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_TASK");
    close(memory);
    tear_down(&fx);
}

static void what_a_reservoir_may_draw_again_outlives_its_process(void **state)
{
    dies(100);
    dies(10);
}

/* The buffer of one rank has room for less than two have handed over. */
static void more_than_has_room_waits_its_turn(void **state)
{
    hand_over(2, 1, "{\"policy\": \"fifo\", \"capacity\": 15, \"threshold\": 0, \"batch\": 5, \"seed\": 7}");
}

static void what_waited_its_turn_is_handed_over_again(void **state)
{
    static const char small[] = "{\"policy\": \"fifo\", \"capacity\": 5, \"threshold\": 0, \"batch\": 5, \"seed\": 7}";
    struct fixture fx;
    struct stretto_train *t;
    int times[2 * STEPS] = {0};

    set_up(&fx, 1, 2, 1, 0);
    t = fixture_rank(0);
    send_steps(&fx, 0, 1, 0, STEPS);
    send_steps(&fx, 1, 1, 0, STEPS);
    save(t, 11, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    stretto_train_close(t);
    for (int generation = 2; generation <= 4; generation++) {
        char name[40];

        snprintf(name, sizeof name, "g%d-s%d", generation - 1, 10 * (generation - 1) + 1);
        begin_anew(&fx, generation, name, 10 * (generation - 1) + 1);
        configure(&fx, "buffer", json_loads(small, 0, NULL));
        t = fixture_rank(0);
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
        save(t, 10 * generation, "state", STRETTO_TRAIN_CHECKPOINT_DUE); /* the only one that is kept */
        snprintf(name, sizeof name, "g%d-s%d ", generation, 10 * generation);
        WAIT_FOR_LIST(name);
        save(t, 10 * generation + 1, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
        stretto_train_close(t);
    }
    begin_anew(&fx, 5, "g4-s41", 41);
    fixture_over(&fx);
    t = fixture_rank(0);
    fixture_draw_all(&fx, t, STEPS, times);
    for (int i = 0; i < 2 * STEPS; i++)
        assert_int_equal(times[i], 1);
    stretto_train_close(t);
    for (int generation = 3; generation <= 5; generation++) {
        char name[40];

        snprintf(name, sizeof name, "g%d-rank0.json", generation);
        unlink(fixture_path(&fx, name));
    }
    tear_down(&fx);
}

static void a_damaged_handover_is_not_taken(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    send_steps(&fx, 0, 1, 0, STEPS);
    save(t, 1, "older", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 2, "newer", STRETTO_TRAIN_CHECKPOINT_LAST);
    assert_true(lists("g1-s2 g1-s1 "));
    stretto_train_close(t);
    damage("g1-s2", "buffer-rank0.bin");
    begin_anew(&fx, 2, "g1-s2", 2);
    assert_int_equal(stretto_train_open(&t), -1);
    assert_non_null(strstr(stretto_train_error(t), "buffer-rank0.bin"));
    stretto_train_close(t);
    assert_true(lists("g1-s1 "));
    tear_down(&fx);
}

static void samples_of_another_spec_are_not_taken(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    send_steps(&fx, 0, 1, 0, STEPS);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s1", 1);
    configure(&fx, "parameters", json_pack("[s]", "a"));
    assert_int_equal(stretto_train_open(&t), -1);
    assert_string_equal(stretto_train_error_code(t), "train_resume");
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_last_one_that_cannot_be_written_is_reported(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    const char *path;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    path = stretto_train_checkpoint_begin(t, 1);
    assert_non_null(path);
    assert_int_equal(symlink("/nowhere", path), 0); /* neither a file nor a directory */
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_LAST), -1);
    assert_non_null(strstr(stretto_train_error(t), path));
    assert_int_equal(stretto_train_unfinished(t), 0);
    path = stretto_train_checkpoint_begin(t, 2);
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_LAST), -1); /* nothing at all was saved */
    assert_true(lists(""));
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_state_that_could_not_be_saved_leaves_nothing_and_may_be_tried_again(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    char path[100];
    const char *given;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    given = stretto_train_checkpoint_begin(t, 7);
    assert_non_null(given);
    snprintf(path, sizeof path, "%s", given);
    assert_int_equal(write_state(path, "half"), 0);
    assert_int_equal(stretto_train_checkpoint_end(t, 0), 0);
    assert_int_equal(access(path, F_OK), -1);
    save(t, 7, "whole", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s7 ");
    assert_null(stretto_train_checkpoint_begin(t, 6));
    assert_non_null(strstr(stretto_train_error(t), "above"));
    stretto_train_close(t);
    tear_down(&fx);
}

static void nothing_learnt_since_the_one_before_is_no_hindrance(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    save(t, 7, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 7, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    assert_true(lists("g1-s7-b g1-s7 "));
    assert_null(stretto_train_checkpoint_begin(t, 7));
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s7-b", 7);
    t = fixture_rank(0);
    save(t, 8, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s8 g1-s7-b ");
    stretto_train_close(t);
    tear_down(&fx);
}

static int is_due(void *arg)
{
    return stretto_train_checkpoint_due(arg) == STRETTO_TRAIN_CHECKPOINT_DUE;
}

static void one_is_due_by_time_and_the_last_by_the_signal(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0.05);
    setenv("STRETTO_CHECKPOINT_SIGNAL", "10", 1); /* SIGUSR1 */
    t = fixture_rank(0);
    assert_true(fixture_wait(is_due, t, LIMIT_MS));
    raise(SIGUSR1);
    assert_int_equal(stretto_train_checkpoint_due(t), STRETTO_TRAIN_CHECKPOINT_LAST);
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_directory_is_a_state_too(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    const char *path;
    char file[200];

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    path = stretto_train_checkpoint_begin(t, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/shard%d", path, i);
        assert_int_equal(write_state(file, "weights"), 0);
    }
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_DUE), 0);
    WAIT_FOR_LIST("g1-s1 ");
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s1", 1);
    t = fixture_rank(0);
    assert_non_null(stretto_train_resume(t));
    stretto_train_close(t);
    damage("g1-s1", "state-rank0/shard1");
    begin_anew(&fx, 3, "g1-s1", 1);
    assert_int_equal(stretto_train_open(&t), -1);
    stretto_train_close(t);
    tear_down(&fx);
}

/* A process that ended while the program wrote its state leaves nothing to the next one. */
static void a_state_that_is_begun_anew_begins_empty(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    const char *path;
    char file[200];

    set_up(&fx, 1, 1, 2, 0);
    for (int i = 0; i < 3; i++) {
        t = fixture_rank(0);
        path = stretto_train_checkpoint_begin(t, 1);
        assert_non_null(path);
        assert_int_equal(access(path, F_OK), -1);
        if (i == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        snprintf(file, sizeof file, "%s%s", path, i == 1 ? "/shard" : "");
        assert_int_equal(write_state(file, "half"), 0);
        if (i < 2)
            stretto_train_close(t);
    }
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_DUE), 0);
    WAIT_FOR_LIST("g1-s1 ");
    stretto_train_close(t);
    tear_down(&fx);
}

/* The first field of a step has come, and the rank ends twice before the second one does: the step is whole all the same. */
static void half_a_sample_is_handed_over_again_and_again(void **state)
{
    int64_t shape[] = {4}, n = 0;
    double u[] = {0, 1, 2, 3};
    int times[STEPS] = {0};
    struct stretto *s;
    struct fixture fx;
    struct stretto_train *t;
    char name[40];

    fixture_init_ranks(&fx, 1, 4, 1, 1, FIFO);
    unit_dir_make(dir);
    configure(&fx, "checkpoint", json_pack("{s:s, s:i, s:f}", "dir", dir, "keep", 2, "every", 0.0));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), 0, &n), 0);
    assert_int_equal(stretto_checkpointed(s, "none", 0), 0); /* it is held */
    for (int generation = 1; generation <= 3; generation++) {
        save(t, generation, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
        stretto_train_close(t);
        snprintf(name, sizeof name, "g%d-s%d", generation, generation);
        begin_anew(&fx, generation + 1, name, generation);
        fx.generation = generation + 1;
        fixture_announce(&fx, 1);
        t = fixture_rank(0);
    }
    assert_int_equal(stretto_send(s, stretto_field(s, "u", STRETTO_FLOAT64, 1, shape), 0, u), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    assert_int_equal(times[0], 1);
    stretto_train_close(t);
    fx.generation = 1;
    for (int generation = 3; generation <= 4; generation++) {
        snprintf(name, sizeof name, "g%d-rank0.json", generation);
        unlink(fixture_path(&fx, name));
    }
    tear_down(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_drawn_before_the_checkpoint_never_comes_again_and_all_else_does),
        cmocka_unit_test(a_member_is_whole_once_its_end_has_come_and_all_of_it_was_drawn),
        cmocka_unit_test(only_the_newest_are_kept),
        cmocka_unit_test(a_checkpoint_counts_once_the_parts_of_all_ranks_are_there),
        cmocka_unit_test(a_damaged_checkpoint_is_not_taken_and_leaves_the_list),
        cmocka_unit_test(names_of_checkpoints_have_an_order),
        cmocka_unit_test(only_a_damaged_checkpoint_leaves_the_list),
        cmocka_unit_test(a_rank_that_is_closed_leaves_nothing),
        cmocka_unit_test(the_last_one_ends_the_batches_and_the_training_is_unfinished),
        cmocka_unit_test(what_was_not_drawn_is_handed_over),
        cmocka_unit_test(another_number_of_ranks_shares_it_out),
        cmocka_unit_test(a_checkpoint_tells_which_attempt_had_told_its_end),
        cmocka_unit_test(what_was_told_before_the_checkpoint_outlives_the_next_process),
        cmocka_unit_test(what_a_reservoir_may_draw_again_outlives_its_process),
        cmocka_unit_test(more_than_has_room_waits_its_turn),
        cmocka_unit_test(what_waited_its_turn_is_handed_over_again),
        cmocka_unit_test(a_damaged_handover_is_not_taken),
        cmocka_unit_test(samples_of_another_spec_are_not_taken),
        cmocka_unit_test(a_last_one_that_cannot_be_written_is_reported),
        cmocka_unit_test(a_state_that_could_not_be_saved_leaves_nothing_and_may_be_tried_again),
        cmocka_unit_test(nothing_learnt_since_the_one_before_is_no_hindrance),
        cmocka_unit_test(a_directory_is_a_state_too),
        cmocka_unit_test(a_state_that_is_begun_anew_begins_empty),
        cmocka_unit_test(half_a_sample_is_handed_over_again_and_again),
        cmocka_unit_test(one_is_due_by_time_and_the_last_by_the_signal),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
