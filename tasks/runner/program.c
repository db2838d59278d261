#include "config.h"

#include "tasks/runner/program.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "tasks/runner/copies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns 0, or the errno that execve() would give. */
static int program_look_at(const char *file)
{
    struct stat st;

    if (stat(file, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(file, X_OK) < 0 ? errno : 0;
}

static int cannot_start(const char *name, const char *why, struct error *err)
{
    return error_set(err, "cannot_start", "cannot start \"%s\": %s", name, why);
}

/* A name with a slash is looked up where each attempt is started, which few people expect. */
static int not_there(const char *name, int error, const char *why, struct error *err)
{
    return error == ENOENT && name[0] != '/'
               ? error_set(err, "cannot_start",
                           "cannot start \"%s\": %s in the directory of the attempt, where it is started; name a "
                           "program by its absolute path, or by one on PATH",
                           name, why)
               : cannot_start(name, why, err);
}

static const char *program_explain_errno(int error)
{
    switch (error) {
    case EISDIR: return "it is a directory";
    case EACCES: return "it is not executable (permission denied)";
    case ENOENT: return "no such file";
    case ENOEXEC: return "not a program for this machine (a script needs a first line such as #!/bin/sh)";
    case E2BIG: return "its arguments and environment are too long";
    }
    return strerror(error);
}

char *program_find(const char *name, const char *path, const char *dir, struct error *err)
{
    int seen = 0;

    if (strchr(name, '/') != NULL) {
        char *file = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
        int error = program_look_at(file);

        if (error == 0)
            return file;
        free(file);
        not_there(name, error, program_explain_errno(error), err);
        return NULL;
    }
    for (const char *p = path; p != NULL; p = *p ? p + 1 : NULL) {
        size_t len = strcspn(p, ":");
        /* an empty entry is the working directory, as in the shell */
        char *file = len == 0 ? xasprintf("%s/%s", dir, name) : xasprintf("%.*s/%s", (int)len, p, name);
        int error = program_look_at(file);

        if (error == 0)
            return file;
        if (error == EACCES)
            seen = error;
        free(file);
        p += len;
    }
    cannot_start(name, seen ? "found on PATH, but it is not executable" : "not found on PATH", err);
    return NULL;
}

/* Returns the word whose mark stands here, or NULL. */
static const struct program_word *word_at(const char *text, const struct program_word *words)
{
    for (; words != NULL && words->mark != NULL; words++)
        if (strncmp(text, words->mark, strlen(words->mark)) == 0)
            return words;
    return NULL;
}

/* Replaces every mark in the text; the caller frees the result. */
static char *fill_in(const char *text, const struct program_word *words)
{
    const struct program_word *word;
    struct text filled = {0};

    text_put(&filled, "", 0);
    while (*text != '\0') {
        word = word_at(text, words);
        if (word != NULL)
            text_string(&filled, word->text);
        else
            text_put(&filled, text, 1);
        text += word != NULL ? strlen(word->mark) : 1;
    }
    return filled.data;
}

static void program_add_word(struct program *p, char *word)
{
    if (p->n + 2 > p->room) {
        p->room = p->room > 0 ? 2 * p->room : 16;
        p->argv = xrealloc(p->argv, p->room, sizeof *p->argv);
    }
    p->argv[p->n++] = word;
    p->argv[p->n] = NULL;
}

static void add_list(struct program *p, const json_t *list, const struct program_word *words)
{
    json_t *item;
    size_t i;

    json_array_foreach ((json_t *)list, i, item)
        program_add_word(p, words != NULL ? fill_in(json_string_value(item), words) : xstrdup(json_string_value(item)));
}

/* Checks that the program is there: a launcher would report it in many lines on stderr. */
static int look_for(const char *name, const char *path, const char *dir, struct error *err)
{
    char *program = program_find(name, path, dir, err);

    if (program == NULL)
        return -1;
    free(program);
    return 0;
}

int program_init(struct program *p, const struct jobdesc_task *task, const char *const *launch, const char *path,
                 const struct program_word *words, const char *checkpoint, struct error *err)
{
    const char *name = json_string_value(json_array_get(task->argv, 0)), *launcher = task->launcher;
    const struct program_word resume[] = {{"{checkpoint}", checkpoint}, {NULL, NULL}};

    memset(p, 0, sizeof *p);
    if (task->launch != NULL) {
        add_list(p, task->launch, words);
        launcher = p->argv[0];
    } else if (launch != NULL) {
        launcher = launch[0];
    } else if (launcher != NULL && strcmp(launcher, "mpiexec") == 0) {
        launcher = STRETTO_MPIEXEC;
        if (launcher[0] == '\0')
            return error_set(err, "cannot_start",
                             "cannot start \"%s\": stretto was built without MPI; name a launcher"
                             " by its path",
                             name);
        if (look_for(name, path, task->dir, err) < 0)
            return -1;
    }
    p->file = program_find(launcher ? launcher : name, path, task->dir, err);
    if (p->file == NULL)
        return -1;
    if (copies_are_meant(task) && look_for(name, path, task->dir, err) < 0)
        return -1;
    if (launcher != NULL && p->argv == NULL) {
        program_add_word(p, xstrdup(launcher));
        for (size_t i = 1; launch != NULL && launch[i] != NULL; i++)
            program_add_word(p, xstrdup(launch[i]));
        if (!copies_are_meant(task)) { /* these count themselves */
            program_add_word(p, xstrdup("-n"));
            program_add_word(p, xasprintf("%lld", (long long)task->ntasks));
        }
    }
    add_list(p, task->argv, NULL);
    if (checkpoint != NULL)
        add_list(p, task->resume, resume);
    return 0;
}

void program_fini(struct program *p)
{
    free(p->file);
    for (char **arg = p->argv; arg != NULL && *arg != NULL; arg++)
        free(*arg);
    free(p->argv);
    memset(p, 0, sizeof *p);
}

int program_exec_error(const struct program *p, int exec_errno, struct error *err)
{
    /* the file was there a moment ago: the interpreter in its first line is missing */
    return cannot_start(p->argv[0],
                        exec_errno == ENOENT ? "its interpreter is missing" : program_explain_errno(exec_errno), err);
}
