#include "tasks/runner/restarts.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/proto/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes the memory of a task. Returns its descriptor; -1 with errno. */
static int make_memory(const struct task *t)
{
    struct kept_head head = {.magic = KEPT_MAGIC};
    int fd = memfd_create("stretto-rank", MFD_CLOEXEC);

    snprintf(head.owner, sizeof head.owner, "%s", t->mark);
    if (fd >= 0 && pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void restarts_init(struct restarts *r, struct job *job, const struct task *tasks)
{
    const struct jobdesc_restarts *may = &job->desc->restarts;
    size_t n = job->desc->ntasks;

    *r = (struct restarts){.job = job, .failures = may->failures, .losses = may->losses, .from = may->from};
    if (job->desc->kind != JOBDESC_TRAINING || !may->any || job->shared)
        return;
    r->list = json_array();
    r->memory = xcalloc(n, sizeof *r->memory);
    for (size_t i = 0; i < n; i++) {
        r->memory[i] = make_memory(&tasks[i]);
        if (r->memory[i] < 0)
            log_warn("task %s gets no memory that outlives its process: %s", tasks[i].desc->id, strerror(errno));
    }
    job->restarts = r;
}

void restarts_fini(struct restarts *r)
{
    for (size_t i = 0; r->memory != NULL && i < r->job->desc->ntasks; i++)
        if (r->memory[i] >= 0)
            close(r->memory[i]);
    free(r->memory);
    json_decref(r->list);
}

/* Returns whether the memory of each rank has all that its next process needs. */
static bool is_complete(const struct restarts *r)
{
    struct kept_head head;

    for (size_t i = 0; i < r->job->desc->ntasks; i++)
        if (r->memory[i] < 0 || pread(r->memory[i], &head, sizeof head, 0) != (ssize_t)sizeof head ||
            head.magic != KEPT_MAGIC || head.state != KEPT_COMPLETE)
            return false;
    return true;
}

static const char *training_dir(const struct restarts *r)
{
    return json_string_value(json_object_get(r->job->desc->tasks[0].env, "STRETTO_TRAINING_DIR"));
}

static int64_t number_in(const json_t *item, const char *key)
{
    return json_integer_value(json_object_get(item, key));
}

/* Returns the progress of the ranks' newest checkpoint, or of the one that they began from if they have saved none
 * since. */
static struct learnt restarts_newest_checkpoint(const struct restarts *r)
{
    const char *dir = training_dir(r), *generation = dir != NULL ? strrchr(dir, '/') : NULL;
    char *path = xasprintf("%s/../checkpoints/checkpoints.json", dir != NULL ? dir : ".");
    struct learnt newest = r->from;
    struct error err;
    json_t *file = file_read_json(path, &err); /* usually it is there after some minutes */
    const json_t *item = json_array_get(json_object_get(file, "checkpoints"), 0);

    if (item != NULL && generation != NULL && number_in(item, "generation") == strtoll(generation + 2, NULL, 10))
        newest = (struct learnt){number_in(item, "step"), number_in(item, "batches"), number_in(item, "drawn")};
    json_decref(file);
    free(path);
    return newest;
}

/* Counts the end of the ranks, for which a task is to blame. Returns whether they may begin again. */
static bool restarts_count_end(struct restarts *r, const struct task *t)
{
    struct learnt newest = restarts_newest_checkpoint(r);
    int64_t failures = r->failures, losses = r->losses;
    enum retries_end end = t->rec.end.how != ATTEMPT_KILLED ? RETRIES_OWN_FAULT
                           : learnt_more(&newest, &r->from) ? RETRIES_GOT_FURTHER
                                                            : RETRIES_LOST;

    if (!retries_count(end, r->job->desc->restarts.retries, &failures, &losses))
        return false;
    r->failures = failures;
    r->losses = losses;
    r->from = newest;
    return true;
}

static void restarts_enter(struct restarts *r, const struct task *t)
{
    json_t *item = json_pack("{s:i, s:f, s:I, s:s, s:s, s:I, s:I}", "number", r->number + 1, "time",
                             (double)r->job->machine->unix_ms() / 1000, "rank",
                             (json_int_t)(t->desc - r->job->desc->tasks), "host", t->rec.end.host, "reason",
                             t->rec.end.reason, "failures", (json_int_t)r->failures, "losses", (json_int_t)r->losses);

    if (r->from.batches >= 0)
        json_object_set_new(item, "from",
                            json_pack("{s:I, s:I, s:I}", "step", (json_int_t)r->from.step, "batches",
                                      (json_int_t)r->from.batches, "drawn", (json_int_t)r->from.drawn));
    json_array_append_new(r->list, item);
}

bool restarts_take(struct restarts *r, const struct task *t, bool may)
{
    if (r->wanted)
        return true;
    if (may && r->memory != NULL && !r->given_up && r->recorded == 0 && t->rec.end.outcome == ATTEMPT_FAILED &&
        is_complete(r) && restarts_count_end(r, t)) {
        r->wanted = true;
        log_warn(
            "task %s failed, %s: all ranks begin again from the newest checkpoint, with the samples that they hold",
            t->desc->id, t->rec.end.reason);
        restarts_enter(r, t);
        return true;
    }
    r->recorded++;
    return false;
}

void restarts_begin(struct restarts *r)
{
    const char *dir = training_dir(r);
    json_t *value = json_pack("{s:i, s:O}", "version", 1, "restarts", r->list);
    char *path = xasprintf("%s/restarts.json", dir != NULL ? dir : ".");
    struct error err;

    r->wanted = false;
    r->number++;
    if (dir != NULL && file_write_json(path, value, 0600, &err) < 0)
        log_error("the daemon does not hear that the ranks begin again: %s", err.text);
    json_decref(value);
    free(path);
}

void restarts_give_up(struct restarts *r)
{
    r->wanted = false;
    r->given_up = true;
}
