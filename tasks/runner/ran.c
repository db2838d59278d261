#include "tasks/runner/ran.h"

#include "common/xalloc.h"
#include "tasks/runner/deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX_SIZE (2 * crypto_hash_sha256_BYTES + 1)
#define CHUNK ((size_t)1 << 20)
#define SMALL ((int64_t)64 << 20) /* bytes of a file that is read though no rule names it, or at the task's end */
#define KEPT 32                   /* files whose SHA-256 is kept for the next task */
#define OLD_SECONDS 2             /* after which a change of a file certainly changes its times */

struct ran_file {
    struct stat st; /* st_ino 0: it could not be read */
    char *path;
    json_t *json; /* borrowed from the list */
};

struct ran {
    const struct task *task;
    json_t *json, *list;
    struct ran_file *files;
    size_t n;
    enum stop stopped;
    bool over; /* the task has ended: nothing stops the reading, which is brief */
};

static struct known_digest {
    struct stat st;
    char hex[HEX_SIZE];
} known[KEPT]; /* tasks of one job, and jobs of one runner, run the same programs */
static size_t known_next;

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static const char *known_find(const struct stat *st)
{
    for (size_t i = 0; i < KEPT; i++)
        if (known[i].hex[0] != '\0' && is_same(&known[i].st, st))
            return known[i].hex;
    return NULL;
}

static void known_digest_add(const struct stat *st, const char *hex, int64_t now)
{
    if (st->st_ctim.tv_sec + OLD_SECONDS > now)
        return;
    known[known_next].st = *st;
    memcpy(known[known_next].hex, hex, HEX_SIZE);
    known_next = (known_next + 1) % KEPT;
}

static int ran_digest(struct ran *ran, int fd, char hex[HEX_SIZE])
{
    unsigned char sum[crypto_hash_sha256_BYTES], *chunk = xcalloc(1, CHUNK);
    crypto_hash_sha256_state state;
    ssize_t n = 1;

    crypto_hash_sha256_init(&state);
    while (n > 0 && ran->stopped == STOP_NONE) {
        n = read(fd, chunk, CHUNK);
        if (n > 0)
            crypto_hash_sha256_update(&state, chunk, (unsigned long long)n);
        if (!ran->over)
            ran->stopped = deadline_or_signal(ran->task->job);
    }
    free(chunk);
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(hex, HEX_SIZE, sum, sizeof sum);
    return n == 0 && ran->stopped == STOP_NONE ? 0 : -1;
}

/* Reads a file of at most `most` bytes. Returns the text of its SHA-256, or null; *fd is left open, or -1. */
static json_t *ran_read_file(struct ran *ran, const char *path, int64_t most, struct stat *st, int *fd)
{
    const char *before;
    char hex[HEX_SIZE];

    memset(st, 0, sizeof *st);
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > most)
        return json_null();
    before = known_find(st);
    if (before != NULL)
        return json_string(before);
    if (ran_digest(ran, *fd, hex) < 0)
        return json_null();
    known_digest_add(st, hex, ran->task->job->machine->unix_ms() / 1000);
    return json_string(hex);
}

/* Adds a file. `place` is where the spec names it, `as` what it is there. Returns its descriptor, or -1. */
static int ran_add_file(struct ran *ran, const char *as, const char *place, const char *path, int64_t most)
{
    char *real = realpath(path, NULL);
    struct ran_file *file;
    struct stat st;
    int fd;
    json_t *sha256 = ran_read_file(ran, path, most, &st, &fd), *name = json_string(path),
           *json = json_pack("{s:s, s:s}", "as", as, "at", place);

    json_object_set_new(json, "path", name != NULL ? name : json_string("(not UTF-8)"));
    json_object_set_new(json, "sha256", sha256);
    if (real != NULL && strcmp(real, path) != 0)
        json_object_set_new(json, "real", json_string(real));
    free(real);
    json_array_append_new(ran->list, json);
    ran->files = xrealloc(ran->files, ran->n + 1, sizeof *ran->files);
    file = &ran->files[ran->n++];
    *file = (struct ran_file){.st = st, .path = xstrdup(path), .json = json};
    return fd;
}

/* Adds the interpreter that the first line of a script names, and for `#!/usr/bin/env python3` what that finds. */
static void add_interpreter(struct ran *ran, const char *place, int script, const char *path)
{
    char line[256] = "", *word, *rest, *found;
    struct error err;
    ssize_t n = script >= 0 ? pread(script, line, sizeof line - 1, 0) : -1;
    int fd;

    if (n < 2 || strncmp(line, "#!", 2) != 0)
        return;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    word = strtok_r(line + 2, " \t", &rest);
    if (word == NULL)
        return;
    fd = ran_add_file(ran, "interpreter", place, word, INT64_MAX);
    if (fd >= 0)
        close(fd);
    if (strlen(word) < 4 || strcmp(word + strlen(word) - 4, "/env") != 0)
        return;
    do
        word = strtok_r(NULL, " \t", &rest);
    while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
    found = word != NULL ? program_find(word, path, ran->task->desc->dir, &err) : NULL;
    fd = found != NULL ? ran_add_file(ran, "interpreter", place, found, INT64_MAX) : -1;
    if (fd >= 0)
        close(fd);
    free(found);
}

static void add_program(struct ran *ran, const char *as, const char *place, const char *file, const char *path)
{
    int fd = ran_add_file(ran, as, place, file, INT64_MAX);

    add_interpreter(ran, place, fd, path);
    if (fd >= 0)
        close(fd);
}

static bool ran_path_is_below(const char *path, const char *dir)
{
    size_t n = dir != NULL ? strlen(dir) : 0;

    return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Adds arguments that are files, as `/a/train.py` and `--config=/a/b.yml` are. Files in the task's own directories are
 * left out, since it may well change them. */
static void add_arguments(struct ran *ran)
{
    const struct task *t = ran->task;
    const char *checkpoints = json_string_value(json_object_get(t->desc->env, "STRETTO_CHECKPOINT_DIR"));

    for (size_t i = 1; i < json_array_size(t->desc->argv); i++) {
        const char *word = json_string_value(json_array_get(t->desc->argv, i));
        const char *value = strchr(word, '='), *path = word[0] == '/' ? word : value != NULL ? value + 1 : "";
        char place[48];
        struct stat st;
        int fd;

        if (path[0] != '/' || ran_path_is_below(path, t->desc->dir) || ran_path_is_below(path, checkpoints) ||
            stat(path, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        snprintf(place, sizeof place, "/members/command/%zu", i);
        fd = ran_add_file(ran, "argument", place, path, SMALL);
        if (fd >= 0)
            close(fd);
    }
}

static void add_named(struct ran *ran)
{
    const json_t *path;
    char place[48];
    size_t i;
    int fd;

    json_array_foreach (ran->task->job->desc->attest, i, path) {
        snprintf(place, sizeof place, "/rules/files/%zu", i);
        fd = ran_add_file(ran, "file", place, json_string_value(path), INT64_MAX);
        if (fd >= 0)
            close(fd);
    }
}

/* Returns whether a variable may differ between two tasks of the same spec. stretto or the batch system sets it for
 * each of them, or it comes from the shell that started the daemon. The spec's own were compared when it was
 * submitted. */
static bool is_own_variable(const struct task *t, const char *name)
{
    static const char *const begin[] = {"STRETTO_", "SLURM", "SBATCH", "SRUN_", "PBS_", "OAR_", "ALPS_", "PMI", "SSH_"};
    static const char *const whole[] = {"PWD",
                                        "OLDPWD",
                                        "SHLVL",
                                        "_",
                                        "HOSTNAME",
                                        "TMPDIR",
                                        "LISTEN_PID",
                                        "INVOCATION_ID",
                                        "JOURNAL_STREAM",
                                        "CUDA_VISIBLE_DEVICES"};

    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    return strcmp(name, "PATH") != 0 && strcmp(name, "PYTHONPATH") != 0 && json_object_get(t->desc->env, name) != NULL;
}

/* Adds a part of the SHA-256 of each variable: its value may be a secret. */
static void add_environment(struct ran *ran, const struct task_environment *env)
{
    json_t *all = json_object();

    for (char **variable = environment_list(env); *variable != NULL; variable++) {
        char *name = xasprintf("%.*s", (int)strcspn(*variable, "="), *variable), hex[17];
        unsigned char sum[crypto_hash_sha256_BYTES];

        if (!is_own_variable(ran->task, name)) {
            crypto_hash_sha256(sum, (const unsigned char *)*variable, strlen(*variable));
            sodium_bin2hex(hex, sizeof hex, sum, 8);
            json_object_set_new(all, name, json_string(hex));
        }
        free(name);
    }
    json_object_set_new(ran->json, "environment", all);
}

struct ran *ran_begin(const struct task *t, const struct program *program, const struct task_environment *env,
                      enum stop *why)
{
    const char *name = json_string_value(json_array_get(t->desc->argv, 0)), *path = environment_get(env, "PATH");
    struct ran *ran = xcalloc(1, sizeof *ran);
    struct error err;
    char *found = program_find(name, path, t->desc->dir, &err);

    ran->task = t;
    ran->json = json_pack("{s:[]}", "files");
    ran->list = json_object_get(ran->json, "files");
    if (t->desc->launcher != NULL || t->desc->launch != NULL)
        add_program(ran, "launcher", "/members/resources/launcher", program->file, path);
    if (found != NULL)
        add_program(ran, "program", "/members/command/0", found, path);
    free(found);
    add_arguments(ran);
    add_named(ran);
    add_environment(ran, env);
    *why = ran->stopped;
    if (ran->stopped == STOP_NONE)
        return ran;
    ran_destroy(ran);
    return NULL;
}

static void ran_look_again(struct ran *ran, struct ran_file *file)
{
    struct stat st;
    json_t *now, *before = json_object_get(file->json, "sha256");
    int fd;

    if (file->st.st_ino == 0 || (stat(file->path, &st) == 0 && is_same(&st, &file->st)))
        return;
    now = ran_read_file(ran, file->path, SMALL, &st, &fd);
    if (fd >= 0)
        close(fd);
    json_object_set_new(file->json, "touched", json_true());
    if (!json_equal(now, before))
        json_object_set(file->json, "end", now);
    json_decref(now);
}

const json_t *ran_end(struct ran *ran)
{
    if (ran == NULL)
        return NULL;
    ran->over = true;
    for (size_t i = 0; i < ran->n; i++)
        ran_look_again(ran, &ran->files[i]);
    return ran->json;
}

void ran_destroy(struct ran *ran)
{
    if (ran == NULL)
        return;
    for (size_t i = 0; i < ran->n; i++)
        free(ran->files[i].path);
    free(ran->files);
    json_decref(ran->json);
    free(ran);
}
