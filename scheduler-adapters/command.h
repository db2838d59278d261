/* A batch system's command as a child process on the loop: never blocking, with a time limit, bounded output, no environment
 * but the given one, and exactly one answer. */
#ifndef SCHEDULER_ADAPTERS_COMMAND_H
#define SCHEDULER_ADAPTERS_COMMAND_H
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum command_end {
    COMMAND_EXITED,      /* by itself, and its output is whole: `status` says how */
    COMMAND_NOT_STARTED, /* there is no such program, or no room for a process: it has done nothing */
    COMMAND_OUT_OF_TIME, /* SIGTERM, a moment later SIGKILL: what it has done is not known; likewise for those below */
    COMMAND_KILLED,      /* by a signal of somebody else's */
    COMMAND_TOO_LONG,    /* more output than allowed; ended likewise */
    COMMAND_STOPPED,     /* the commands were destroyed: ended, or never started */
};

struct command_result {
    enum command_end end;
    int status;
    char *out, *err; /* NUL-terminated, never NULL; the callback may change them in place, and frees nothing */
    size_t out_size, err_size;
};

typedef void command_cb(void *arg, struct command_result *result);

struct command {
    const char *const *argv; /* ended by NULL; argv[0] is looked up in PATH of env */
    const char *const *env;  /* the whole environment, ended by NULL */
    const char *in;          /* what it reads on its standard input; NULL: nothing */
    int64_t limit_ms;        /* from its start to the end of its output */
    size_t out_max, err_max; /* bytes */
};

struct commands;

/* At most `most` of them run at once; the others wait, in order. */
struct commands *commands_create(uv_loop_t *loop, unsigned most);

/* End what runs and what waits; all are answered (COMMAND_STOPPED), then done(arg) is called. None may be run any more. */
void commands_destroy(struct commands *commands, void (*done)(void *arg), void *arg);

/* argv, env and in are copied. The callback is called once, never from inside this call. */
void commands_run(struct commands *commands, const struct command *what, command_cb *cb, void *arg);

/* Is there such a program: a path, or a name on this process's PATH? 0, or -1 with a sentence. */
int command_find(const char *program, struct error *err);

/* Why it did not exit with status 0, in one sentence: its own last words where it has any. */
void command_explain(const struct command_result *result, const char *program, char *out, size_t size);

/* An environment of the named variables, where this process has them, and of the settings (NAME=VALUE) over them; both lists
 * ended by NULL. To be freed by command_env_free(). */
char **command_env(const char *const *names, const char *const *settings);
void command_env_free(char **env);
#endif
