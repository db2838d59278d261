#include "tasks/runner/checkpoints.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTLED_MS 2000    /* a file that nobody has written to for so long has come to rest */
#define LOOK_AGAIN_MS 5000 /* at least, between two looks while a task runs */

static int64_t env_number(const struct jobdesc_task *task, const char *name)
{
    const char *text = json_string_value(json_object_get(task->env, name));

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

int checkpoints_begin(struct checkpoints *c, const struct jobdesc *job, const struct jobdesc_task *task,
                      struct error *err)
{
    const struct ckpt *newest;
    struct ckpt_list list;

    memset(c, 0, sizeof *c);
    c->dir = json_string_value(json_object_get(task->env, "STRETTO_CHECKPOINT_DIR"));
    if (!job->checkpoint.any || job->kind != JOBDESC_MEMBERS || c->dir == NULL || c->dir[0] != '/')
        return 0;
    c->chain = (struct ckpt_chain){.ensemble = task->since_in > 0 ? task->since_in : job->ensemble,
                                   .since = task->since,
                                   .generation = env_number(task, "STRETTO_STREAM_GENERATION")};
    c->ensemble = job->ensemble;
    c->glob = jobdesc_glob(job, task);
    c->attempt = env_number(task, "STRETTO_ATTEMPT");
    if (ckptdir_make(c->dir, err) < 0)
        return -1;
    if (ckptdir_read(c->dir, &list, err) < 0 || (c->glob != NULL && ckptfind(c->dir, c->glob, &c->before, err) < 0)) {
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

/* Returns the time of the clock that gives files their times, which on a shared file system is another host's. */
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

/* Returns whether there is a record of the file as it is now. */
static bool ckpt_file_is_known(const struct ckpt_list *list, const struct ckpt_file *file)
{
    for (size_t i = list->n; i-- > 0;)
        if (strcmp(list->items[i].path, file->path) == 0 && list->items[i].size == file->size &&
            list->items[i].mtime_ns == file->mtime_ns && list->items[i].inode == file->inode)
            return true;
    return false;
}

static bool ckpt_file_is_new(const struct checkpoints *c, const struct ckpt_file *file)
{
    const struct ckpt_file *was = ckptfind_get(&c->before, file->path);

    return was == NULL || was->size != file->size || was->mtime_ns != file->mtime_ns || was->inode != file->inode;
}

static struct sighting *find_sighting(const struct sightings *seen, const char *path)
{
    for (size_t i = 0; i < seen->n; i++)
        if (strcmp(seen->items[i].path, path) == 0)
            return &seen->items[i];
    return NULL;
}

static void sightings_free(struct sightings *seen)
{
    for (size_t i = 0; i < seen->n; i++)
        free(seen->items[i].path);
    free(seen->items);
    *seen = (struct sightings){0};
}

void checkpoints_saw(struct checkpoints *c, const char *name, bool renamed, int64_t now_ms)
{
    struct sighting *s;
    struct stat st;
    char *path;

    if (c->desc == NULL || c->glob == NULL || fnmatch(c->glob, name, FNM_PATHNAME | FNM_PERIOD) != 0)
        return;
    path = xasprintf("%s/%s", c->dir, name);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        s = find_sighting(&c->seen, name);
        if (s == NULL) {
            c->seen.items = xrealloc(c->seen.items, c->seen.n + 1, sizeof *s);
            s = &c->seen.items[c->seen.n++];
            *s = (struct sighting){.path = xstrdup(name)};
        }
        *s = (struct sighting){.path = s->path,
                               .renamed = renamed,
                               .at_ms = now_ms,
                               .size = (int64_t)st.st_size,
                               .mtime_ns = ckpt_mtime_ns(&st),
                               .inode = (int64_t)st.st_ino};
    }
    free(path);
}

void checkpoints_recorded(struct checkpoints *c, int64_t now_ms)
{
    if (c->recorded_ms == 0)
        c->recorded_ms = now_ms;
}

static int64_t rest_ms(const struct sighting *s)
{
    return s->renamed ? s->at_ms : s->at_ms + SETTLED_MS;
}

int64_t checkpoints_due(const struct checkpoints *c)
{
    int64_t due = c->recorded_ms != 0 ? c->recorded_ms : INT64_MAX;

    if (c->desc == NULL || c->looking)
        return INT64_MAX;
    for (size_t i = 0; i < c->seen.n; i++)
        due = rest_ms(&c->seen.items[i]) < due ? rest_ms(&c->seen.items[i]) : due;
    if (due < INT64_MAX && c->looked_ms != 0 && due < c->looked_ms + LOOK_AGAIN_MS)
        due = c->looked_ms + LOOK_AGAIN_MS;
    return due;
}

static void look_errand_run(struct errand *errand)
{
    look_run((struct look *)errand);
}

struct look *look_create(struct checkpoints *c, enum look_when when, int64_t now_ms)
{
    struct look *look = xcalloc(1, sizeof *look);
    struct sightings later = {0};

    look->errand.run = look_errand_run;
    look->of = c;
    look->when = when;
    look->now_ms = now_ms;
    c->looking = true;
    c->recorded_ms = 0;
    if (when != LOOK_RUNNING) {
        look->seen = c->seen;
        c->seen = later;
        return look;
    }
    for (size_t i = 0; i < c->seen.n; i++) { /* a file that has not come to rest is left for a later look */
        struct sightings *to = rest_ms(&c->seen.items[i]) <= now_ms ? &look->seen : &later;

        to->items = xrealloc(to->items, to->n + 1, sizeof *to->items);
        to->items[to->n++] = c->seen.items[i];
    }
    free(c->seen.items);
    c->seen = later;
    return look;
}

/* Returns whether nobody has touched the file since it came to rest. The file's own time decides if nothing was
 * seen, because it was written from another host, or deeper in the directory. */
static bool is_at_rest(const struct look *look, const struct ckpt_file *file, int64_t files_now)
{
    const struct sighting *s = find_sighting(&look->seen, file->path);

    if (s != NULL && s->size == file->size && s->mtime_ns == file->mtime_ns && s->inode == file->inode)
        return rest_ms(s) <= look->now_ms;
    return look->when != LOOK_RUNNING && files_now - file->mtime_ns >= (int64_t)SETTLED_MS * 1000000;
}

static void look_note(struct look *look, const char *text, const char *path)
{
    snprintf(look->note, sizeof look->note, "%.400s%s%.100s", text, path[0] ? ": " : "", path);
}

static void record_new(struct look *look, const struct ckpt_list *list, const struct ckpt_files *files)
{
    const struct checkpoints *c = look->of;
    int64_t now = look->when == LOOK_ENDED && files->n > 0 ? files_now_ns(c->dir) : 0;
    struct error err;

    for (size_t i = 0; i < files->n; i++) {
        const struct ckpt_file *file = &files->items[i];
        struct ckpt ckpt = {
            .path = file->path, .step = ckptfind_step(file->path), .ensemble = c->ensemble, .attempt = c->attempt};

        if (!ckpt_file_is_new(c, file) || ckpt_file_is_known(list, file))
            continue;
        if (look->when != LOOK_CLEAN && !is_at_rest(look, file, now)) {
            if (look->when == LOOK_ENDED)
                look_note(look, "not taken, since it was being written shortly before the end", file->path);
        } else if (ckpt_measure(c->dir, &ckpt, &err) < 0 || ckptdir_add(c->dir, &ckpt, &err) < 0) {
            if (looker_is_stopped())
                look_note(look, "not taken, since the job's time was over before it was read", file->path);
            else
                look_note(look, err.text, "");
        }
    }
}

static int look_find(struct look *look, struct error *err)
{
    const struct checkpoints *c = look->of;
    struct ckpt_files files = {0};
    struct ckpt_list list;

    if (ckptdir_read(c->dir, &list, err) < 0)
        return -1;
    if (c->glob != NULL && ckptfind(c->dir, c->glob, &files, err) < 0) {
        ckptdir_free(&list);
        return -1;
    }
    record_new(look, &list, &files);
    if (files.linked != NULL)
        look_note(look, "not taken, since a symbolic link leads to it", files.linked);
    ckptfind_free(&files);
    ckptdir_free(&list);
    return 0;
}

void look_run(struct look *look)
{
    const struct checkpoints *c = look->of;
    struct ckpt_list list = {0};
    struct error err;

    if (look_find(look, &err) == 0 && ckptdir_read(c->dir, &list, &err) == 0) {
        if (!looker_is_stopped()) /* otherwise it is not known which are whole */
            ckptdir_retain(c->dir, &list, c->desc->keep, &c->chain);
        ckptdir_free(&list);
        look->whole = ckptdir_json(c->dir, &c->chain, &err);
    }
    if (look->whole == NULL)
        look_note(look, err.text, "");
}

void look_taken(struct look *look)
{
    struct checkpoints *c = look->of;

    if (look->note[0] != '\0')
        log_warn("checkpoints in %s: %s", c->dir, look->note);
    c->looking = false;
    c->looked_ms = look->now_ms;
    if (look->when == LOOK_RUNNING)
        json_decref(look->whole);
    else
        c->whole = look->whole;
    sightings_free(&look->seen);
    free(look);
}

void checkpoints_fini(struct checkpoints *c)
{
    ckptfind_free(&c->before);
    sightings_free(&c->seen);
    free(c->resume);
    json_decref(c->resumed);
    json_decref(c->whole);
    memset(c, 0, sizeof *c);
}
