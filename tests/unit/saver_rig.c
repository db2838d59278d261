#include "tests/unit/saver_rig.h"

#include "common/files.h"
#include "tasks/proto/kept.h"
#include "tasks/train/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char dir[64];

void configure(const struct fixture *fx, const char *key, json_t *value)
{
    struct error err;
    json_t *json = file_read_json(fixture_path(fx, "training.json"), &err);

    json_object_set_new(json, key, value);
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), json, 0600, &err), 0);
    json_decref(json);
}

void set_up(struct fixture *fx, int ranks, int members, int keep, double every)
{
    fixture_init_ranks(fx, ranks, 4, 0, members, FIFO);
    unit_dir_make(dir);
    configure(fx, "checkpoint", json_pack("{s:s, s:i, s:f}", "dir", dir, "keep", keep, "every", every));
    unsetenv("STRETTO_CHECKPOINT_SIGNAL");
}

void tear_down(struct fixture *fx)
{
    static const char *const more[] = {"g2-rank0.json",     "g2-rank1.json",       "g2-rank2.json",   "g3-rank0.json",
                                       "g1-rank2.json",     "done-rank1.json",     "done-rank2.json", "metrics-rank1.jsonl",
                                       "status-rank2.json", "metrics-rank2.jsonl"};

    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        unlink(fixture_path(fx, more[i]));
    fixture_fini(fx);
    state_remove(unit_dir_top(dir));
}

void begin_anew(const struct fixture *fx, int generation, const char *name, int step)
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

int write_state(const char *path, const char *text)
{
    struct error err;

    return file_write_whole(path, text, strlen(text), 0600, &err);
}

void save(struct stretto_train *t, int64_t step, const char *text, int due)
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

int lists(void *arg)
{
    char *names = listed();
    int same = strcmp(names, arg) == 0;

    free(names);
    return same;
}

void send_steps(const struct fixture *fx, int member, int attempt, int from, int to)
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

void wait_for_samples(struct stretto_train *t, uint64_t n)
{
    assert_true(fixture_wait(has_received, (void *[]){t, &n}, LIMIT_MS));
}

void damage(const char *name, const char *file)
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

int make_memory(void)
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

int is_complete(void *arg)
{
    struct kept_head head;

    assert_int_equal(pread(*(int *)arg, &head, sizeof head, 0), sizeof head);
    return head.state == KEPT_COMPLETE;
}
