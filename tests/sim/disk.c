/* The run directory as an object of JSON documents: it is slow, sometimes fails, and is shared with the cluster. */
#include "tests/sim/pilots.h"

#include "common/xalloc.h"
#include "tasks/proto/ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct request {
    struct request *prev, *next; /* in the list of requests without an answer */
    bool dropped;         /* its daemon has crashed */
    char **paths;
    size_t n_paths;
    struct rundir_file *files;
    size_t n_files;
    size_t n_dirs; /* directories that are made with the files */
    void (*written)(void *arg, const struct error *err);
    void (*read)(void *arg, json_t **json, const struct error *err);
    struct ckpt_chain *chains; /* read: of directories with checkpoints; NULL: files are read */
    void (*tailed)(void *arg, const char *text, size_t size, const struct error *err);
    int64_t offset;
    void (*many)(void *arg, const struct rundir_tail *files, size_t n);
    struct rundir_tail *tails;
    size_t n_tails;
    void (*claimed)(void *arg, bool taken, const struct error *err);
    void (*whole)(void *arg, const struct whole *whole, const struct error *err);
    int64_t count;
    json_t *claim;
    void *arg;
};

static void request_free(struct request *r)
{
    for (size_t i = 0; i < r->n_paths; i++)
        free(r->paths[i]);
    for (size_t i = 0; i < r->n_files; i++) {
        free(r->files[i].path);
        free(r->files[i].json);
        free(r->files[i].checkpoint);
    }
    for (size_t i = 0; i < r->n_tails; i++)
        free(r->tails[i].path);
    free(r->tails);
    json_decref(r->claim);
    free(r->chains);
    free(r->paths);
    free(r->files);
    free(r);
}

static struct request *pending; /* only one simulation runs at a time */

static void forget(struct request *r)
{
    if (!r->dropped)
        DL_DELETE(pending, r);
}

void disk_drop_all(void)
{
    while (pending != NULL) {
        struct request *r = pending;
        struct error err;
        json_t **json = xcalloc(r->n_paths + 1, sizeof *json);

        forget(r);
        r->dropped = true;
        error_set(&err, "dropped", "the daemon is gone");
        if (r->written != NULL)
            r->written(r->arg, &err);
        else if (r->read != NULL)
            r->read(r->arg, json, &err);
        else if (r->claimed != NULL)
            r->claimed(r->arg, false, &err);
        else if (r->whole != NULL)
            r->whole(r->arg, NULL, &err);
        else if (r->many != NULL)
            r->many(r->arg, r->tails, r->n_tails);
        else
            r->tailed(r->arg, "", 0, &err);
        free(json);
    }
}

static void do_write(struct sim *sim, struct request *r, bool alive)
{
    struct error err;
    bool failed = sim_chance(sim, sim_faults_of(sim)->write_fails);
    /* a write that failed may still have taken effect */
    bool done = !failed || (r->n_dirs == 0 && sim_chance(sim, 300));

    for (size_t i = 0; i < r->n_files && done; i++)
        if (r->files[i].json != NULL && !pilots_take(sim, r->files[i].path, r->files[i].json))
            json_object_set_new(sim_files(sim), r->files[i].path, json_loads(r->files[i].json, 0, NULL));
    error_set(&err, "file_write", "simulated");
    sim_enter(sim);
    if (alive)
        r->written(r->arg, failed ? &err : NULL);
    sim_leave(sim);
}

static void do_claim(struct sim *sim, struct request *r, bool alive)
{
    struct error err;
    bool failed = false, taken = false;

    for (size_t i = 0; i < r->n_paths && !failed; i++) {
        failed = sim_chance(sim, sim_faults_of(sim)->write_fails);
        if (json_object_get(sim_files(sim), r->paths[i]) != NULL)
            taken = true;
        else if (!failed)
            json_object_set(sim_files(sim), r->paths[i], r->claim);
    }
    error_set(&err, "file_write", "simulated");
    sim_enter(sim);
    if (alive)
        r->claimed(r->arg, taken, failed ? &err : NULL);
    sim_leave(sim);
}

/* Returns the checkpoints of a directory that count, as a new reference. The cluster keeps them as an array, the newest
 * first. */
static json_t *chain_of(struct sim *sim, const char *dir, const struct ckpt_chain *chain)
{
    json_t *all = json_object_get(sim_files(sim), dir), *list = json_array(), *item;
    struct ckpt ckpt;
    size_t i;

    json_array_foreach (all, i, item) {
        if (!ckpt_parse(item, &ckpt))
            continue;
        if (ckpt_counts(chain, ckpt.ensemble, ckpt.attempt))
            json_array_append(list, item);
        ckpt_fini(&ckpt);
    }
    return list;
}

static void do_read(struct sim *sim, struct request *r, bool alive)
{
    struct error err;
    bool failed = sim_chance(sim, sim_faults_of(sim)->read_fails);
    json_t **json = xcalloc(r->n_paths, sizeof *json);

    for (size_t i = 0; i < r->n_paths && !failed; i++)
        json[i] = r->chains != NULL ? chain_of(sim, r->paths[i], &r->chains[i])
                                    : json_incref(json_object_get(sim_files(sim), r->paths[i]));
    error_set(&err, "file_read", "simulated");
    sim_enter(sim);
    if (alive)
        r->read(r->arg, json, failed ? &err : NULL);
    sim_leave(sim);
    for (size_t i = 0; i < r->n_paths; i++)
        json_decref(json[i]);
    free(json);
}

/* Reads which members are whole, which the cluster keeps as a list of [member, attempt]. There is one rank. */
static void do_whole(struct sim *sim, struct request *r)
{
    const json_t *members = json_object_get(sim_files(sim), r->paths[0]), *pair;
    struct whole whole = {.members = (int64_t)json_array_size(members)};
    uint32_t *ended = xcalloc((size_t)r->count, sizeof *ended);
    struct error err;
    size_t i;

    json_array_foreach (members, i, pair)
        ended[json_integer_value(json_array_get(pair, 0))] = (uint32_t)json_integer_value(json_array_get(pair, 1));
    whole.ends = ends_pack(ended, (size_t)r->count, &whole.size);
    error_set(&err, "file_read", "simulated");
    sim_enter(sim);
    if (sim_chance(sim, sim_faults_of(sim)->read_fails))
        r->whole(r->arg, NULL, &err);
    else
        r->whole(r->arg, members != NULL ? &whole : NULL, NULL);
    sim_leave(sim);
    free(whole.ends);
    free(ended);
}

/* Returns whole lines of a journal, or of points, from an offset on, and not always all of them. */
static char *lines_from(struct sim *sim, const char *path, int64_t offset)
{
    const struct text *journal = pilots_journal(sim, path);
    char *points = journal == NULL ? points_text(sim, path) : NULL;
    const char *whole = journal != NULL ? journal->data : points;
    size_t end = journal != NULL ? journal->size : points != NULL ? strlen(points) : 0;
    size_t size = (int64_t)end > offset ? end - (size_t)offset : 0;
    char *text = size > 0 ? xasprintf("%.*s", (int)size, whole + offset) : xstrdup("");

    if (size > 0 && sim_chance(sim, 200))
        strchr(text, '\n')[1] = '\0';
    free(points);
    return text;
}

static void do_tails(struct sim *sim, struct request *r)
{
    for (size_t i = 0; i < r->n_tails; i++) {
        struct rundir_tail *file = &r->tails[i];

        file->failed = sim_chance(sim, sim_faults_of(sim)->read_fails) ? EIO : 0;
        file->left = file->failed == 0 && i > 0 && sim_chance(sim, 100);
        if (file->failed != 0 || file->left)
            continue;
        file->text = lines_from(sim, file->path, file->offset);
        file->size = strlen(file->text);
    }
    sim_enter(sim);
    r->many(r->arg, r->tails, r->n_tails);
    sim_leave(sim);
    for (size_t i = 0; i < r->n_tails; i++)
        free((char *)r->tails[i].text);
}

static void do_tail(struct sim *sim, struct request *r)
{
    char *text = lines_from(sim, r->paths[0], r->offset);
    struct error err;

    error_set(&err, "file_read", "simulated");
    sim_enter(sim);
    if (sim_chance(sim, sim_faults_of(sim)->read_fails))
        r->tailed(r->arg, "", 0, &err);
    else
        r->tailed(r->arg, text, strlen(text), NULL);
    sim_leave(sim);
    free(text);
}

/* Serves a request. A daemon that has crashed meanwhile gets no answer, but its write may have reached the disk. */
static void serve(struct sim *sim, void *arg)
{
    struct request *r = arg;

    forget(r);
    if (r->written != NULL)
        do_write(sim, r, !r->dropped);
    else if (r->read != NULL)
        do_read(sim, r, !r->dropped);
    else if (r->claimed != NULL)
        do_claim(sim, r, !r->dropped);
    else if (r->whole != NULL && !r->dropped)
        do_whole(sim, r);
    else if (r->many != NULL && !r->dropped)
        do_tails(sim, r);
    else if (r->many == NULL && !r->dropped)
        do_tail(sim, r);
    request_free(r);
}

static struct request *ask(struct sim *sim, char **paths, size_t n, void *arg)
{
    const struct sim_faults *weather = sim_faults_of(sim);
    struct request *r = xcalloc(1, sizeof *r);

    DL_PREPEND(pending, r);
    r->paths = paths;
    r->n_paths = n;
    r->arg = arg;
    sim_at(sim,
           sim_now(sim) + (int64_t)sim_random(sim, sim_chance(sim, weather->slow) ? 20000 : (uint64_t)weather->disk_ms),
           serve, r);
    return r;
}

static void disk_write(void *sim, char **dirs, size_t n_dirs, struct rundir_file *files, size_t n_files,
                       void (*cb)(void *arg, const struct error *err), void *arg)
{
    struct request *r = ask(sim, dirs, n_dirs, arg);

    for (size_t i = 0; i < n_files; i++)
        if (files[i].json != NULL)
            watch_hosts_written(sim, files[i].path, files[i].json);
    r->files = files;
    r->n_files = n_files;
    r->n_dirs = n_dirs;
    r->written = cb;
}

static void disk_read(void *sim, char **paths, size_t n, void (*cb)(void *arg, json_t **json, const struct error *err),
                      void *arg)
{
    ask(sim, paths, n, arg)->read = cb;
}

static void disk_checkpoints(void *sim, char **dirs, struct ckpt_chain *chains, size_t n,
                             void (*cb)(void *arg, json_t **lists, const struct error *err), void *arg)
{
    struct request *r = ask(sim, dirs, n, arg);

    r->chains = chains;
    r->read = cb;
}

static void disk_claim(void *sim, char **paths, size_t n, json_t *claim,
                       void (*cb)(void *arg, bool taken, const struct error *err), void *arg)
{
    struct request *r = ask(sim, paths, n, arg);

    r->claim = claim;
    r->claimed = cb;
}

static void disk_tail(void *sim, char *path, int64_t offset,
                      void (*cb)(void *arg, const char *text, size_t size, const struct error *err), void *arg)
{
    char **paths = xcalloc(1, sizeof *paths);
    struct request *r;

    paths[0] = path;
    r = ask(sim, paths, 1, arg);
    r->offset = offset;
    r->tailed = cb;
}

static void disk_tails(void *sim, struct rundir_tail *files, size_t n,
                       void (*cb)(void *arg, const struct rundir_tail *files, size_t n), void *arg)
{
    struct request *r = ask(sim, NULL, 0, arg);

    r->tails = files;
    r->n_tails = n;
    r->many = cb;
}

/* No spec of a simulation tells how many steps its members send, so this is never called. */
static void disk_missing(void *sim, char **paths, size_t n, struct missing_question question,
                         void (*cb)(void *arg, json_t **json, const struct error *err), void *arg)
{
    abort();
}

static void disk_whole(void *sim, char **paths, size_t n, int64_t count,
                       void (*cb)(void *arg, const struct whole *whole, const struct error *err), void *arg)
{
    struct request *r = ask(sim, paths, n, arg);

    r->count = count;
    r->whole = cb;
}

const struct rundir_ops sim_disk_ops = {.write = disk_write, .claim = disk_claim, .read = disk_read,
                                        .checkpoints = disk_checkpoints, .missing = disk_missing, .whole = disk_whole,
                                        .tail = disk_tail, .tails = disk_tails};

void sim_remove_state(const char *dir)
{
    static const char *const files[] = {"stretto.db", "stretto.db-wal", "stretto.db-shm", "lock"};
    char path[200];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        remove(path);
    }
}
