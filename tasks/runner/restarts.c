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
    size_t n = job->desc->ntasks;

    *r = (struct restarts){.job = job, .left = job->desc->restarts};
    if (job->desc->kind != JOBDESC_TRAINING || job->desc->restarts <= 0 || job->shared)
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

/* Tells whether the memory of each rank has all that its next process needs. */
static bool is_complete(const struct restarts *r)
{
    struct kept_head head;

    for (size_t i = 0; i < r->job->desc->ntasks; i++)
        if (r->memory[i] < 0 || pread(r->memory[i], &head, sizeof head, 0) != (ssize_t)sizeof head ||
            head.magic != KEPT_MAGIC || head.state != KEPT_COMPLETE)
            return false;
    return true;
}

static void enter(struct restarts *r, const struct task *t)
{
    json_array_append_new(r->list, json_pack("{s:i, s:f, s:I, s:s, s:s}", "number", r->number + 1, "time",
                                             (double)r->job->machine->unix_ms() / 1000, "rank",
                                             (json_int_t)(t->desc - r->job->desc->tasks), "host", t->rec.host, "reason",
                                             t->rec.reason));
}

bool restarts_take(struct restarts *r, const struct task *t, bool may)
{
    if (r->wanted)
        return true;
    if (may && r->memory != NULL && r->left > 0 && r->recorded == 0 && t->rec.outcome == EXITREC_FAILED &&
        is_complete(r)) {
        r->wanted = true;
        log_warn(
            "task %s failed, %s: all ranks begin again from the newest checkpoint, with the samples that they hold",
            t->desc->id, t->rec.reason);
        enter(r, t);
        return true;
    }
    r->recorded++;
    return false;
}

void restarts_begin(struct restarts *r)
{
    const char *dir = json_string_value(json_object_get(r->job->desc->tasks[0].env, "STRETTO_TRAINING_DIR"));
    json_t *value = json_pack("{s:i, s:O}", "version", 1, "restarts", r->list);
    char *path = xasprintf("%s/restarts.json", dir != NULL ? dir : ".");
    struct error err;

    r->wanted = false;
    r->left--;
    r->number++;
    if (dir != NULL && file_write_json(path, value, 0600, &err) < 0)
        log_error("the daemon does not hear that the ranks begin again: %s", err.text);
    json_decref(value);
    free(path);
}

void restarts_give_up(struct restarts *r)
{
    r->wanted = false;
    r->left = 0;
}
