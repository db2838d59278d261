#include "api/parameter_file.h"

#include "common/xalloc.h"
#include "daemon/spec/ingest.h"

#include <sodium.h>
#include <stdlib.h>

#define AT_ONCE 2 /* files that are read at once, which leaves workers for other files */

static int under_way; /* used on the loop's thread only */
static atomic_bool stop;

struct parameter_file {
    uv_work_t work;
    uv_loop_t *loop;
    struct request *r;
    char *path, *dir, name[33];
    void (*cb)(void *arg, struct parameter_file *file, struct rows *rows, const struct error *err);
    void *arg;
    struct rows *rows;
    struct error err;
};

static void free_file(struct parameter_file *file)
{
    free(file->path);
    free(file->dir);
    free(file);
}

static void read_on_worker(uv_work_t *work)
{
    struct parameter_file *file = work->data;

    file->rows = ingest_file(file->path, file->dir, file->name, &stop, &file->err);
}

static void parameter_rows_read(uv_work_t *work, int status)
{
    struct parameter_file *file = work->data;

    under_way--;
    file->cb(file->arg, file, file->rows, &file->err);
}

int parameter_file_read(struct request *r, const char *path,
                        void (*cb)(void *arg, struct parameter_file *file, struct rows *rows, const struct error *err),
                        void *arg, struct error *err)
{
    struct parameter_file *file;
    unsigned char random[16];

    if (under_way >= AT_ONCE)
        return error_set(err, "busy", "%d files of parameters are being read already: try again soon", under_way);
    file = xcalloc(1, sizeof *file);
    file->work.data = file;
    file->loop = request_config(r)->loop;
    file->r = r;
    file->path = xstrdup(path);
    file->dir = xstrdup(engine_rows_dir(request_config(r)->engine));
    file->cb = cb;
    file->arg = arg;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(file->name, sizeof file->name, random, sizeof random);
    under_way++;
    request_hold(r);
    uv_queue_work(file->loop, &file->work, read_on_worker, parameter_rows_read);
    return 0;
}

void parameter_file_stop_all(void)
{
    atomic_store(&stop, true);
}

static void remove_on_worker(uv_work_t *work)
{
    struct parameter_file *file = work->data;

    rows_remove(file->dir, file->name);
}

static void parameter_file_removed(uv_work_t *work, int status)
{
    free_file(work->data);
}

/* Removes the file on a worker, since removing a large file may take long. */
void parameter_file_drop(struct parameter_file *file)
{
    uv_queue_work(file->loop, &file->work, remove_on_worker, parameter_file_removed);
}

static void parameter_file_committed(void *arg, const struct error *err)
{
    struct parameter_file *file = arg;

    if (err != NULL)
        parameter_file_drop(file);
    else
        free_file(file);
}

void parameter_file_keep_if_committed(struct parameter_file *file, struct turn *turn)
{
    turn_after_commit(turn, parameter_file_committed, file);
}
