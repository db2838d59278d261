#include "tasks/member/checkpoint.h"

#include "common/files.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "tasks/proto/ckptdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool checkpoint_due(const struct environment *env, double needed)
{
    const char *text = getenv("STRETTO_CHECKPOINT_BEFORE");
    double before = text != NULL ? strtod(text, NULL) : 0;

    if (env->deadline <= 0)
        return false;
    return env->deadline - (double)time_now_ms() / 1000 < (needed > before ? needed : before);
}

static int64_t number_in_environment(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static int flush_path(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0)
        return error_errno(err, "checkpoint", "%s", path);
    if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
        rc = error_errno(err, "checkpoint", "%s", path);
    close(fd);
    file_flush_name(path);
    return rc;
}

/* Records a checkpoint; `dir` and `path` contain no links. */
static int record(const char *dir, const char *path, int64_t step, struct error *err)
{
    size_t len = strlen(dir);
    struct ckpt ckpt = {.step = step,
                        .reported = true,
                        .ensemble = number_in_environment("STRETTO_ENSEMBLE"),
                        .attempt = number_in_environment("STRETTO_ATTEMPT")};

    if (strncmp(path, dir, len) != 0 || path[len] != '/')
        return error_set(err, "checkpoint", "%s is not in the checkpoint directory, %s", path, dir);
    ckpt.path = (char *)path + len + 1;
    if (flush_path(path, err) < 0 || ckpt_measure(dir, &ckpt, err) < 0)
        return -1;
    return ckptdir_add(dir, &ckpt, err);
}

int checkpoint_record(const char *path, int64_t step, struct error *err)
{
    const char *dir = getenv("STRETTO_CHECKPOINT_DIR");
    static atomic_bool said;
    char *whole_dir, *whole_path;
    int rc;

    if (step < 0)
        return error_set(err, "checkpoint", "a step cannot be negative: %lld", (long long)step);
    if (dir == NULL || *dir == '\0') {
        if (!atomic_exchange(&said, true))
            log_info("STRETTO_CHECKPOINT_DIR is not set: this is no ensemble member, nobody keeps its checkpoints");
        return 0;
    }
    whole_dir = realpath(dir, NULL);
    whole_path = realpath(path, NULL);
    if (whole_dir == NULL || whole_path == NULL)
        rc = error_errno(err, "checkpoint", "%s", whole_dir == NULL ? dir : path);
    else
        rc = record(whole_dir, whole_path, step, err);
    free(whole_dir);
    free(whole_path);
    return rc;
}
