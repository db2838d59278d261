#include "config.h"

#include "tasks/runner/program.h"

#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns 0, or the errno that execve() would give. */
static int look_at(const char *file)
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

static const char *explain(int error)
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

/* Returns the file for `name`, to be freed; NULL with err. */
static char *find(const char *name, const char *path, const char *dir, struct error *err)
{
    int seen = 0;

    if (strchr(name, '/') != NULL) {
        char *file = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
        int error = look_at(file);

        if (error == 0)
            return file;
        free(file);
        cannot_start(name, explain(error), err);
        return NULL;
    }
    for (const char *p = path; p != NULL; p = *p ? p + 1 : NULL) {
        size_t len = strcspn(p, ":");
        /* an empty entry is the working directory, as in the shell */
        char *file = len == 0 ? xasprintf("%s/%s", dir, name) : xasprintf("%.*s/%s", (int)len, p, name);
        int error = look_at(file);

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

/* Replaces every "{checkpoint}" in the text; the caller frees the result. */
static char *fill_in(const char *text, const char *checkpoint)
{
    static const char mark[] = "{checkpoint}";
    char *filled = xstrdup(""), *longer;
    const char *next;

    for (; (next = strstr(text, mark)) != NULL; text = next + strlen(mark)) {
        longer = xasprintf("%s%.*s%s", filled, (int)(next - text), text, checkpoint);
        free(filled);
        filled = longer;
    }
    longer = xasprintf("%s%s", filled, text);
    free(filled);
    return longer;
}

int program_init(struct program *p, const struct jobdesc_task *task, const char *const *launch, const char *path,
                 const char *checkpoint, struct error *err)
{
    const char *name = json_string_value(json_array_get(task->argv, 0)), *launcher = task->launcher;
    const char *only[2] = {0};
    size_t n = 0, more = 0, i;
    json_t *arg;

    memset(p, 0, sizeof *p);
    if (launch != NULL) {
        launcher = launch[0];
    } else if (launcher != NULL && strcmp(launcher, "mpiexec") == 0) {
        char *program;

        launcher = STRETTO_MPIEXEC;
        if (launcher[0] == '\0')
            return error_set(err, "cannot_start", "cannot start \"%s\": stretto was built without MPI; name a launcher"
                             " by its path", name);
        /* checked here, because the launcher would report it in many lines on stderr */
        program = find(name, path, task->dir, err);
        if (program == NULL)
            return -1;
        free(program);
    }
    p->file = find(launcher ? launcher : name, path, task->dir, err);
    if (p->file == NULL)
        return -1;
    only[0] = launcher;
    if (launch == NULL)
        launch = only;
    while (launch[more] != NULL)
        more++;
    p->argv = xcalloc(more + json_array_size(task->argv) + json_array_size(task->resume) + 4, sizeof *p->argv);
    if (launcher != NULL) {
        while (n < more) {
            p->argv[n] = xstrdup(launch[n]);
            n++;
        }
        p->argv[n++] = xstrdup("-n");
        p->argv[n++] = xasprintf("%lld", (long long)task->ntasks);
    }
    json_array_foreach (task->argv, i, arg)
        p->argv[n++] = xstrdup(json_string_value(arg));
    if (checkpoint != NULL)
        json_array_foreach (task->resume, i, arg)
            p->argv[n++] = fill_in(json_string_value(arg), checkpoint);
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
    /* the file was there a moment ago: what is missing is the interpreter in its first line */
    return cannot_start(p->argv[0], exec_errno == ENOENT ? "its interpreter is missing" : explain(exec_errno), err);
}
