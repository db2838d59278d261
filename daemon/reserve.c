#include "daemon/reserve.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOOK_MS 1000

enum reserve_state { RESERVE_UNKNOWN, RESERVE_THERE, RESERVE_GONE, RESERVE_IMPOSSIBLE };

struct reserve {
    uv_timer_t timer;
    uv_work_t work;
    char *state_dir, *path;
    enum reserve_state state, made; /* `made` is the worker's */
    int error;                      /* its errno where it is impossible */
    bool under_way, closed, over;
};

static char *path_in(const char *state_dir)
{
    return xasprintf("%s/reserve", state_dir);
}

static bool has_room(const char *state_dir, size_t bytes)
{
    struct statvfs fs;

    return statvfs(state_dir, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= bytes;
}

bool reserve_open_up(const char *state_dir)
{
    char *path = path_in(state_dir);
    bool given_up = !has_room(state_dir, RESERVE_BYTES) && unlink(path) == 0;

    if (given_up)
        log_warn("there is no room in %s: the reserve is given up", state_dir);
    free(path);
    return given_up;
}

/* Random bytes, which no file system stores in less. 0 or an error number. */
static int fill(int fd)
{
    unsigned char bytes[4096];

    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return errno;
    for (size_t n = 0; n < RESERVE_BYTES; n += sizeof bytes) {
        ssize_t written;

        randombytes_buf(bytes, sizeof bytes);
        written = write(fd, bytes, sizeof bytes);
        if (written != (ssize_t)sizeof bytes)
            return written < 0 ? errno : ENOSPC;
    }
    return fsync(fd) < 0 ? errno : 0;
}

static enum reserve_state make(struct reserve *reserve)
{
    int fd = open(reserve->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), rc;

    if (fd < 0)
        rc = errno;
    else if (lseek(fd, 0, SEEK_END) == (off_t)RESERVE_BYTES)
        rc = 0; /* an earlier daemon made it */
    else
        rc = has_room(reserve->state_dir, 2 * RESERVE_BYTES) ? fill(fd) : ENOSPC;
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        return RESERVE_THERE;
    unlink(reserve->path);
    reserve->error = rc;
    return rc == ENOSPC || rc == EDQUOT ? RESERVE_GONE : RESERVE_IMPOSSIBLE;
}

static void on_worker(uv_work_t *work)
{
    struct reserve *reserve = work->data;

    reserve->made = make(reserve);
}

static void free_reserve(struct reserve *reserve)
{
    free(reserve->state_dir);
    free(reserve->path);
    free(reserve);
}

static void after_work(uv_work_t *work, int status)
{
    struct reserve *reserve = work->data;

    reserve->under_way = false;
    if (reserve->over) {
        if (reserve->closed)
            free_reserve(reserve);
        return;
    }
    if (status != 0)
        return;
    if (reserve->made == RESERVE_GONE && reserve->state != RESERVE_GONE)
        log_error("there is no room in %s: nothing new is accepted", reserve->state_dir);
    if (reserve->made == RESERVE_THERE && reserve->state == RESERVE_GONE)
        log_info("there is room in %s again", reserve->state_dir);
    if (reserve->made == RESERVE_IMPOSSIBLE)
        log_warn("no room can be kept in %s: %s", reserve->state_dir, strerror(reserve->error));
    reserve->state = reserve->made;
    if (reserve->state == RESERVE_THERE || reserve->state == RESERVE_IMPOSSIBLE)
        uv_timer_stop(&reserve->timer);
}

static void on_timer(uv_timer_t *timer)
{
    struct reserve *reserve = timer->data;

    if (reserve->under_way)
        return;
    reserve->under_way = true;
    uv_queue_work(timer->loop, &reserve->work, on_worker, after_work);
}

struct reserve *reserve_create(uv_loop_t *loop, const char *state_dir)
{
    struct reserve *reserve = xcalloc(1, sizeof *reserve);

    reserve->state_dir = xstrdup(state_dir);
    reserve->path = path_in(state_dir);
    reserve->work.data = reserve->timer.data = reserve;
    uv_timer_init(loop, &reserve->timer);
    uv_unref((uv_handle_t *)&reserve->timer);
    uv_timer_start(&reserve->timer, on_timer, 0, LOOK_MS);
    return reserve;
}

static void on_close(uv_handle_t *handle)
{
    struct reserve *reserve = handle->data;

    reserve->closed = true;
    if (!reserve->under_way)
        free_reserve(reserve);
}

void reserve_destroy(struct reserve *reserve)
{
    if (reserve == NULL)
        return;
    reserve->over = true;
    uv_close((uv_handle_t *)&reserve->timer, on_close);
}

void reserve_use(struct reserve *reserve)
{
    if (reserve == NULL || reserve->state != RESERVE_THERE || has_room(reserve->state_dir, RESERVE_BYTES) || unlink(reserve->path) < 0)
        return;
    log_warn("there is no room in %s: the reserve is given up, so that work can be stopped", reserve->state_dir);
    reserve->state = RESERVE_GONE;
    uv_timer_start(&reserve->timer, on_timer, LOOK_MS, LOOK_MS);
}

int reserve_check(const struct reserve *reserve, struct error *err)
{
    if (reserve == NULL || reserve->state != RESERVE_GONE)
        return 0;
    return error_set(err, "store_full", "there is no room in %s: nothing new is accepted until there is", reserve->state_dir);
}
