#include "tasks/runner/artefacts.h"

#include "common/below.h"
#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/ckptfind.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARTEFACTS_MAX 1000 /* of one task */
#define PATH_LEN_MAX 511   /* bytes of a path in the task's directory */
#define CHUNK ((size_t)1 << 20)

struct artefact_taking {
    struct errand errand; /* must be first */
    struct task *task;
    json_t *found; /* NULL: they could not be taken, for the reason in err */
    bool placing;  /* they were read, and could not be placed */
    struct error err;
};

/* Reads a file, which belongs to the task and may be anything, to its end. On failure errno is ECANCELED if the
 * runner does not wait for that any more, with the bytes that were read in *size. */
static int artefact_digest(int fd, int64_t *size, char hex[2 * crypto_hash_sha256_BYTES + 1])
{
    unsigned char sum[crypto_hash_sha256_BYTES], *chunk = xcalloc(1, CHUNK);
    crypto_hash_sha256_state state;
    ssize_t n;
    int saved;

    crypto_hash_sha256_init(&state);
    *size = 0;
    while ((n = read(fd, chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        crypto_hash_sha256_update(&state, chunk, (unsigned long long)n);
        *size += n;
        if ((size_t)n == CHUNK && looker_is_stopped()) { /* small files are read even so */
            errno = ECANCELED;
            n = -1;
            break;
        }
    }
    saved = errno;
    free(chunk);
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(hex, 2 * sizeof sum + 1, sum, sizeof sum);
    errno = saved;
    return n < 0 ? -1 : 0;
}

static json_t *artefact_measure(const char *dir, const char *path, struct error *err)
{
    int fd = below_open(dir, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    char hex[2 * crypto_hash_sha256_BYTES + 1];
    json_t *json = NULL, *name;
    int64_t size;

    if (strlen(path) > PATH_LEN_MAX) {
        error_set(err, "artefact", "the path of the artefact \"%.100s…\" has more than %d bytes", path, PATH_LEN_MAX);
    } else if (fd < 0) {
        error_errno(err, "artefact", "the artefact \"%.200s\" cannot be read", path);
    } else if (artefact_digest(fd, &size, hex) < 0) {
        if (errno == ECANCELED)
            error_set(err, "artefact", "%lld bytes of \"%.200s\" had been read", (long long)size, path);
        else
            error_errno(err, "artefact", "the artefact \"%.200s\" cannot be read", path);
    } else {
        name = json_string(path);
        if (name == NULL)
            error_set(err, "artefact", "the name of an artefact is not UTF-8");
        else
            json = json_pack("{s:o, s:I, s:s}", "path", name, "size", (json_int_t)size, "sha256", hex);
    }
    if (fd >= 0)
        close(fd);
    return json;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the files that match a pattern to the list of paths. */
static int add_matching(const char *dir, const char *pattern, char ***paths, size_t *n, struct error *err)
{
    struct ckpt_files files;
    size_t before = *n;
    bool linked;

    if (ckptfind(dir, pattern, &files, err) < 0)
        return -1;
    for (size_t i = 0; i < files.n && *n <= ARTEFACTS_MAX; i++) {
        if (strcmp(files.items[i].path, TASK_ALIVE) == 0)
            continue;
        *paths = xrealloc(*paths, *n + 1, sizeof **paths);
        (*paths)[(*n)++] = xstrdup(files.items[i].path);
    }
    linked = files.linked != NULL && *n == before;
    if (linked)
        error_set(err, "artefact",
                  "the artefact \"%.200s\" cannot be taken: a symbolic link leads to it, and artefacts must lie in the "
                  "member's directory",
                  files.linked);
    ckptfind_free(&files);
    if (linked)
        return -1;
    if (*n > ARTEFACTS_MAX)
        return error_set(err, "artefact", "more than %d files match the patterns of its artefacts", ARTEFACTS_MAX);
    return *n > before ? 0 : error_set(err, "artefact", "no file matches the artefact \"%.200s\"", pattern);
}

json_t *artefacts_find(const char *dir, const json_t *patterns, struct error *err)
{
    json_t *found = json_array(), *pattern, *json;
    char **paths = NULL;
    size_t n = 0, i;
    int rc = 0;

    json_array_foreach ((json_t *)patterns, i, pattern)
        if (rc == 0)
            rc = add_matching(dir, json_string_value(pattern), &paths, &n, err);
    if (n > 1)
        qsort(paths, n, sizeof *paths, by_path);
    for (i = 0; i < n && rc == 0; i++) {
        if (i > 0 && strcmp(paths[i], paths[i - 1]) == 0)
            continue;
        json = artefact_measure(dir, paths[i], err);
        rc = json != NULL ? json_array_append_new(found, json) : -1;
    }
    for (i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    if (rc == 0)
        return found;
    json_decref(found);
    return NULL;
}

/* Runs on the thread. */
static void taking_run(struct errand *errand)
{
    struct artefact_taking *taking = (struct artefact_taking *)errand;
    const struct jobdesc_task *desc = taking->task->desc;

    taking->found = artefacts_find(desc->dir, jobdesc_artefacts(taking->task->job->desc, desc), &taking->err);
    if (taking->found == NULL || desc->results == NULL ||
        artefacts_place(desc->dir, taking->found, desc->results, desc->owner, &taking->err) == 0)
        return;
    taking->placing = true;
    json_decref(taking->found);
    taking->found = NULL;
}

int artefacts_init(struct artefacts *artefacts, const struct job *job, void (*taken)(void *arg, struct task *t),
                   void *arg, struct error *err)
{
    *artefacts = (struct artefacts){.taken = taken, .arg = arg};
    if (json_array_size(job->desc->artefacts) == 0)
        return 0;
    artefacts->looker = looker_create(err);
    return artefacts->looker != NULL ? 0 : -1;
}

void artefacts_fini(struct artefacts *artefacts)
{
    looker_destroy(artefacts->looker);
}

void artefacts_stop(struct artefacts *artefacts, enum stop why)
{
    if (artefacts->looker == NULL || artefacts->stopped != STOP_NONE)
        return;
    artefacts->stopped = why;
    looker_stop(artefacts->looker);
}

/* Writes into the record why the artefacts of a task that ended well could not be taken. */
static void taking_fail(const struct artefacts *artefacts, const struct artefact_taking *taking)
{
    const struct task *t = taking->task;
    struct attempt_end *end = &taking->task->rec.end;
    const char *why = taking->err.text;

    if (artefacts->stopped == STOP_NONE || taking->placing) {
        end->outcome = ATTEMPT_FAILED;
        end->final = taking->placing; /* nothing is to be computed again for a place that is not there */
        snprintf(end->reason, sizeof end->reason, "exit status 0, but %.480s", why);
        return;
    }
    end->outcome = artefacts->stopped == STOP_TIMEOUT ? ATTEMPT_TIMEOUT : ATTEMPT_CANCELLED;
    end->late = end->outcome == ATTEMPT_TIMEOUT && t->job->late;
    snprintf(end->reason, sizeof end->reason, "exit status 0, but %s while its artefacts were read: %.400s",
             artefacts->stopped == STOP_TIMEOUT ? "its time was over" : "it was cancelled", why);
}

bool artefacts_take(struct artefacts *artefacts, struct task *t)
{
    struct artefact_taking *taking;

    if (artefacts->looker == NULL || t->rec.end.outcome != ATTEMPT_SUCCEEDED)
        return false;
    taking = xcalloc(1, sizeof *taking);
    taking->errand.run = taking_run;
    taking->task = t;
    artefacts->open++;
    looker_add(artefacts->looker, &taking->errand);
    return true;
}

void artefacts_work(struct artefacts *artefacts)
{
    struct errand *errand;

    while (artefacts->looker != NULL && (errand = looker_next(artefacts->looker)) != NULL) {
        struct artefact_taking *taking = (struct artefact_taking *)errand;
        struct attempt_end *end = &taking->task->rec.end;

        end->artefacts = taking->task->artefacts = taking->found;
        if (taking->found == NULL)
            taking_fail(artefacts, taking);
        artefacts->open--;
        artefacts->taken(artefacts->arg, taking->task);
        free(taking);
    }
}

int artefacts_fd(const struct artefacts *artefacts)
{
    return artefacts->looker != NULL ? looker_fd(artefacts->looker) : -1;
}
