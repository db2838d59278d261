#include "tasks/runner/checkpoints.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTLED_NS 2000000000LL /* nobody has written to it for so long before the end */

static int64_t env_number(const struct jobdesc_task *task, const char *name)
{
    const char *text = json_string_value(json_object_get(task->env, name));

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

int checkpoints_begin(struct checkpoints *c, const struct jobdesc *job, const struct jobdesc_task *task, struct error *err)
{
    const struct ckpt *newest;
    struct ckpt_list list;

    memset(c, 0, sizeof *c);
    c->dir = json_string_value(json_object_get(task->env, "STRETTO_CHECKPOINT_DIR"));
    if (!job->checkpoint.any || c->dir == NULL || c->dir[0] != '/')
        return 0;
    c->chain = (struct ckpt_chain){.ensemble = job->ensemble, .since = task->since};
    c->attempt = env_number(task, "STRETTO_ATTEMPT");
    if (ckptdir_read(c->dir, &list, err) < 0 ||
        (job->checkpoint.glob != NULL && ckptfind(c->dir, job->checkpoint.glob, &c->before, err) < 0)) {
        ckptdir_free(&list);
        return -1;
    }
    c->desc = &job->checkpoint;
    newest = ckptdir_newest(c->dir, &list, &c->chain);
    if (newest != NULL) {
        c->resume = xasprintf("%s/%s", c->dir, newest->path);
        c->resumed = ckpt_json(newest);
        log_info("task %s goes on from %s", task->id, c->resume);
    } else if (list.n > 0) {
        log_info("task %s begins afresh: of %zu checkpoints none %s", task->id, list.n,
                 task->since > 0 ? "is to be gone on from" : "is whole");
    }
    ckptdir_free(&list);
    return 0;
}

/* The time by the clock that gives files theirs, which on a shared file system is another's. */
static int64_t files_now_ns(const char *dir)
{
    char *path = xasprintf("%s/.stretto-clock.%d", dir, (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int64_t now = 0;
    struct stat st;

    if (fd >= 0) {
        if (write(fd, "", 1) == 1 && fsync(fd) == 0 && fstat(fd, &st) == 0)
            now = ckpt_mtime_ns(&st);
        close(fd);
        unlink(path);
    }
    free(path);
    return now;
}

/* Is there a record of the file as it is now? */
static bool is_known(const struct ckpt_list *list, const struct ckpt_file *file)
{
    for (size_t i = list->n; i-- > 0;)
        if (strcmp(list->items[i].path, file->path) == 0 && list->items[i].size == file->size &&
            list->items[i].mtime_ns == file->mtime_ns && list->items[i].inode == file->inode)
            return true;
    return false;
}

static bool is_new(const struct checkpoints *c, const struct ckpt_file *file)
{
    const struct ckpt_file *was = ckptfind_get(&c->before, file->path);

    return was == NULL || was->size != file->size || was->mtime_ns != file->mtime_ns || was->inode != file->inode;
}

static void record_new(struct checkpoints *c, const struct ckpt_list *list, const struct ckpt_files *files, bool clean)
{
    int64_t now = clean || files->n == 0 ? 0 : files_now_ns(c->dir);
    struct error err;

    for (size_t i = 0; i < files->n; i++) {
        const struct ckpt_file *file = &files->items[i];
        struct ckpt ckpt = {.path = file->path, .step = ckptfind_step(file->path), .ensemble = c->chain.ensemble,
                            .attempt = c->attempt};

        if (!is_new(c, file) || is_known(list, file))
            continue;
        if (!clean && now - file->mtime_ns < SETTLED_NS)
            log_info("%s/%s is not taken: it was being written shortly before the end", c->dir, file->path);
        else if (ckpt_measure(c->dir, &ckpt, &err) < 0 || ckptdir_add(c->dir, &ckpt, &err) < 0)
            log_warn("a checkpoint is not taken: %s", err.text);
    }
}

static int find(struct checkpoints *c, bool clean, struct error *err)
{
    struct ckpt_files files = {0};
    struct ckpt_list list;

    if (ckptdir_read(c->dir, &list, err) < 0)
        return -1;
    if (c->desc->glob != NULL && ckptfind(c->dir, c->desc->glob, &files, err) < 0) {
        ckptdir_free(&list);
        return -1;
    }
    record_new(c, &list, &files, clean);
    ckptfind_free(&files);
    ckptdir_free(&list);
    return 0;
}

void checkpoints_end(struct checkpoints *c, bool clean)
{
    struct ckpt_list list = {0};
    struct error err;

    if (c->desc == NULL)
        return;
    if (find(c, clean, &err) < 0 || ckptdir_read(c->dir, &list, &err) < 0) {
        log_warn("it is not known which checkpoints there are: %s", err.text);
        return;
    }
    ckptdir_retain(c->dir, &list, c->desc->keep);
    ckptdir_free(&list);
    c->whole = ckptdir_json(c->dir, &c->chain, &err);
}

void checkpoints_fini(struct checkpoints *c)
{
    ckptfind_free(&c->before);
    free(c->resume);
    json_decref(c->resumed);
    json_decref(c->whole);
    memset(c, 0, sizeof *c);
}
