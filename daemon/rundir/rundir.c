#include "daemon/rundir/rundir.h"

#include "daemon/rundir/adopt.h"
#include "daemon/rundir/tails.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_MAX ((size_t)1 << 20)
#define LINE_MAX_SIZE ((size_t)256 << 20) /* a pilot hands all records of a packed job back in one line */

/* One request; the worker thread owns it between queueing and its callback. */
struct work {
    uv_work_t req;
    bool failed, taken;
    struct error err;
    char **paths; /* read, claim: files; write, checkpoints: directories; tail: one file */
    struct ckpt_chain *chains;
    struct missing_question question;
    struct whole whole;
    int64_t count;
    size_t n_paths;
    struct rundir_file *files;
    size_t n_files;
    json_t *claim;
    json_t **json;
    int64_t offset;
    char *text;
    size_t size;
    union {
        void (*written)(void *arg, const struct error *err);
        void (*read)(void *arg, json_t **json, const struct error *err);
        void (*tailed)(void *arg, const char *text, size_t size, const struct error *err);
        void (*claimed)(void *arg, bool taken, const struct error *err);
        void (*whole)(void *arg, const struct whole *whole, const struct error *err);
    } cb;
    void *arg;
};

static struct work *work_new(char **paths, size_t n, void *arg)
{
    struct work *work = xcalloc(1, sizeof *work);

    work->req.data = work;
    work->paths = paths;
    work->n_paths = n;
    work->arg = arg;
    return work;
}

static void work_free(struct work *work)
{
    for (size_t i = 0; i < work->n_paths; i++) {
        free(work->paths[i]);
        if (work->json != NULL)
            json_decref(work->json[i]);
    }
    for (size_t i = 0; i < work->n_files; i++) {
        free(work->files[i].path);
        free(work->files[i].json);
        free(work->files[i].checkpoint);
    }
    json_decref(work->claim);
    free(work->paths);
    free(work->files);
    free(work->json);
    free(work->text);
    free(work->chains);
    free(work->question.others);
    free(work->question.unneeded);
    free(work->whole.ends);
    free(work);
}

static void queue_work(uv_loop_t *loop, struct work *work, uv_work_cb run, uv_after_work_cb after)
{
    if (uv_queue_work(loop, &work->req, run, after) != 0)
        abort(); /* only for wrong arguments */
}

static void check_cancelled(struct work *work, int status)
{
    if (status != 0) {
        work->failed = true;
        error_set(&work->err, "run_dir", "the daemon is ending");
    }
}

static void run_write(uv_work_t *req)
{
    struct work *work = req->data;

    for (size_t i = 0; i < work->n_paths && !work->failed; i++)
        work->failed = dir_make(work->paths[i], &work->err) < 0;
    for (size_t i = 0; i < work->n_files && !work->failed; i++) {
        const struct rundir_file *file = &work->files[i];

        work->failed = (file->checkpoint != NULL
                            ? adopt_checkpoint(file->checkpoint, file->path, &work->err)
                            : file_write_whole(file->path, file->json, strlen(file->json), file->mode, &work->err)) < 0;
    }
}

static void work_written(uv_work_t *req, int status)
{
    struct work *work = req->data;

    check_cancelled(work, status);
    work->cb.written(work->arg, work->failed ? &work->err : NULL);
    work_free(work);
}

static void rundir_write(void *loop, char **dirs, size_t n_dirs, struct rundir_file *files, size_t n_files,
                         void (*cb)(void *arg, const struct error *err), void *arg)
{
    struct work *work = work_new(dirs, n_dirs, arg);

    work->files = files;
    work->n_files = n_files;
    work->cb.written = cb;
    queue_work(loop, work, run_write, work_written);
}

static void claim_on_worker(uv_work_t *req)
{
    struct work *work = req->data;

    for (size_t i = 0; i < work->n_paths && !work->failed; i++) {
        char *dir = strndup(work->paths[i], (size_t)(strrchr(work->paths[i], '/') - work->paths[i]));

        work->failed =
            dir_make(dir, &work->err) < 0 || file_create_json(work->paths[i], work->claim, 0600, &work->err) < 0;
        if (work->failed && errno == EEXIST) {
            work->failed = false;
            work->taken = true;
        }
        free(dir);
    }
}

static void after_claim(uv_work_t *req, int status)
{
    struct work *work = req->data;

    check_cancelled(work, status);
    work->cb.claimed(work->arg, work->taken, work->failed ? &work->err : NULL);
    work_free(work);
}

static void rundir_claim(void *loop, char **paths, size_t n, json_t *claim,
                         void (*cb)(void *arg, bool taken, const struct error *err), void *arg)
{
    struct work *work = work_new(paths, n, arg);

    work->claim = claim;
    work->cb.claimed = cb;
    queue_work(loop, work, claim_on_worker, after_claim);
}

static void run_read(uv_work_t *req)
{
    struct work *work = req->data;

    for (size_t i = 0; i < work->n_paths; i++) {
        work->json[i] = file_read_json(work->paths[i], &work->err);
        /* absent, or something else that is no record: there is nothing to learn; other errors are the file system's */
        if (work->json[i] == NULL && errno != ENOENT && errno != ENOTDIR && errno != EBADMSG && errno != EINVAL &&
            errno != EFBIG) {
            work->failed = true;
            return;
        }
    }
}

static void after_read(uv_work_t *req, int status)
{
    struct work *work = req->data;

    check_cancelled(work, status);
    work->cb.read(work->arg, work->json, work->failed ? &work->err : NULL);
    work_free(work);
}

static void rundir_read(void *loop, char **paths, size_t n,
                        void (*cb)(void *arg, json_t **json, const struct error *err), void *arg)
{
    struct work *work = work_new(paths, n, arg);

    work->json = xcalloc(n, sizeof *work->json);
    work->cb.read = cb;
    queue_work(loop, work, run_read, after_read);
}

static void run_checkpoints(uv_work_t *req)
{
    struct work *work = req->data;

    for (size_t i = 0; i < work->n_paths && !work->failed; i++) {
        work->json[i] = ckptdir_json(work->paths[i], &work->chains[i], &work->err);
        work->failed = work->json[i] == NULL;
    }
}

static void rundir_checkpoints(void *loop, char **dirs, struct ckpt_chain *chains, size_t n,
                               void (*cb)(void *arg, json_t **lists, const struct error *err), void *arg)
{
    struct work *work = work_new(dirs, n, arg);

    work->chains = chains;
    work->json = xcalloc(n, sizeof *work->json);
    work->cb.read = cb;
    queue_work(loop, work, run_checkpoints, after_read);
}

static void run_missing(uv_work_t *req)
{
    struct work *work = req->data;

    work->json[0] = missing_count(work->paths, work->n_paths, &work->question, &work->err);
    work->failed = work->json[0] == NULL;
}

static void rundir_missing(void *loop, char **paths, size_t n, struct missing_question question,
                           void (*cb)(void *arg, json_t **json, const struct error *err), void *arg)
{
    struct work *work = work_new(paths, n, arg);

    work->question = question;
    work->json = xcalloc(n, sizeof *work->json);
    work->cb.read = cb;
    queue_work(loop, work, run_missing, after_read);
}

static void run_whole(uv_work_t *req)
{
    struct work *work = req->data;

    work->failed = whole_read(&work->whole, work->paths, work->n_paths, work->count, &work->err) < 0;
}

static void after_whole(uv_work_t *req, int status)
{
    struct work *work = req->data;

    check_cancelled(work, status);
    work->cb.whole(work->arg, !work->failed && work->whole.ends != NULL ? &work->whole : NULL,
                   work->failed ? &work->err : NULL);
    work_free(work);
}

static void rundir_whole(void *loop, char **paths, size_t n, int64_t count,
                         void (*cb)(void *arg, const struct whole *whole, const struct error *err), void *arg)
{
    struct work *work = work_new(paths, n, arg);

    work->count = count;
    work->cb.whole = cb;
    queue_work(loop, work, run_whole, after_whole);
}

static void fail_tail(struct work *work)
{
    work->failed = true;
    error_errno(&work->err, "file_read", "%s", work->paths[0]);
}

static void run_tail(uv_work_t *req)
{
    struct work *work = req->data;
    int fd = open(work->paths[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    size_t first = TAIL_MAX;
    struct stat st;
    ssize_t n = 0;
    char *last = NULL;

    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        fail_tail(work);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size - work->offset < (off_t)TAIL_MAX) /* mostly little is new */
        first = st.st_size > work->offset ? (size_t)(st.st_size - work->offset) : 1;
    work->text = xcalloc(1, 1);
    for (size_t room = first; fd >= 0 && last == NULL && room <= LINE_MAX_SIZE; room *= 4) {
        work->text = xrealloc(work->text, room + 1, 1);
        n = pread(fd, work->text, room, work->offset);
        if (n < 0)
            fail_tail(work);
        last = n > 0 ? memrchr(work->text, '\n', (size_t)n) : NULL; /* a line that is still being written waits */
        if (n < (ssize_t)room)
            break;
    }
    if (fd >= 0)
        close(fd);
    work->size = last ? (size_t)(last - work->text) + 1 : 0;
    work->text[work->size] = '\0';
}

static void after_tail(uv_work_t *req, int status)
{
    struct work *work = req->data;

    check_cancelled(work, status);
    work->cb.tailed(work->arg, work->failed ? "" : work->text, work->failed ? 0 : work->size,
                    work->failed ? &work->err : NULL);
    work_free(work);
}

static void rundir_tail(void *loop, char *path, int64_t offset,
                        void (*cb)(void *arg, const char *text, size_t size, const struct error *err), void *arg)
{
    char **paths = xcalloc(1, sizeof *paths);
    struct work *work;

    paths[0] = path;
    work = work_new(paths, 1, arg);
    work->offset = offset;
    work->cb.tailed = cb;
    queue_work(loop, work, run_tail, after_tail);
}

const struct rundir_ops rundir_ops = {.write = rundir_write,
                                      .claim = rundir_claim,
                                      .read = rundir_read,
                                      .checkpoints = rundir_checkpoints,
                                      .missing = rundir_missing,
                                      .whole = rundir_whole,
                                      .tail = rundir_tail,
                                      .tails = rundir_tails};
