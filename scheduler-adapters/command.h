/* A batch system's command as a child process on the loop. It never blocks, has a time limit, bounded output and no
 * environment but the given one, and gives exactly one answer.
 *
 * Its memory and CPU time are limited, too. The memory is that which the command and the processes that it started have
 * in use (their resident sets), looked at as long as they run. RLIMIT_AS would stop wrappers in Java, Go or with
 * sanitizers, which reserve much more than they use, and RLIMIT_DATA counts the heap that Java sets aside on a large
 * machine. CPU time is limited by the kernel, so that a command ends even if the daemon does not live to end it. */
#ifndef SCHEDULER_ADAPTERS_COMMAND_H
#define SCHEDULER_ADAPTERS_COMMAND_H
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define COMMAND_MEMORY_MAX (INT64_C(2) << 30)

enum command_end {
    COMMAND_EXITED,      /* it exited by itself with `status`, and its output is whole */
    COMMAND_NOT_STARTED, /* there is no such program, or no process could be created: it has done nothing */
    /* it got SIGTERM, and SIGKILL a moment later; as for the ends below, it is not known how much it has done */
    COMMAND_OUT_OF_TIME,
    COMMAND_KILLED,    /* a signal from elsewhere killed it */
    COMMAND_TOO_LONG,  /* it printed more than allowed, and was ended */
    COMMAND_TOO_LARGE, /* it took more memory than allowed, and was ended */
    COMMAND_STOPPED,   /* the commands were destroyed: it was ended, or never started */
};

struct command_result {
    enum command_end end;
    int status;
    char *out, *err; /* NUL-terminated, never NULL; the callback may change them in place, and frees nothing */
    size_t out_size, err_size;
};

typedef void command_cb(void *arg, struct command_result *result);

struct command {
    const char *const *argv; /* ended by NULL; argv[0] is looked up in the PATH of env */
    const char *const *env;  /* the whole environment, ended by NULL */
    const char *in;          /* the text of its standard input; NULL: empty */
    int64_t limit_ms;        /* the time limit, from its start to the end of its output */
    size_t out_max, err_max; /* bytes */
    int64_t memory_max;      /* bytes that it and its children may have in use; 0: COMMAND_MEMORY_MAX */
    unsigned cost;           /* connections to the batch system that it makes, for commands_pace() */
};

/* A limit for the connections of several queues of commands. Some batch systems take a port below 1024 for each, which
 * is then blocked for a minute, for every user of the host. */
struct command_pace {
    unsigned a_minute; /* in any minute no more are made, except by queues that never wait; 0: no limit */
    int64_t left;      /* thousandths of a connection that may be made now; below 0 after queues that did not wait */
    uint64_t at;       /* loop time of `left` */
};

struct commands;

/* At most `most` commands run at once; the others wait, in order. */
struct commands *commands_create(uv_loop_t *loop, unsigned most);

/* Counts the connections of these commands; `waits`: a command does not start before they are left. `pace` is shared by
 * several queues, and outlives them. */
void commands_pace(struct commands *commands, struct command_pace *pace, bool waits);
/* Takes so many connections. Returns false if they are not left, and it `waits`; more than may ever be made at once
 * are given when that many are left. */
bool command_pace_take(struct command_pace *pace, uint64_t now_ms, unsigned cost, bool waits);

/* Ends commands that run or wait: all are answered (COMMAND_STOPPED), then done(arg) is called. No command may be run
 * any more. */
void commands_destroy(struct commands *commands, void (*done)(void *arg), void *arg);

/* Queues a command; argv, env and in are copied. The callback is called once, never from inside this call. */
void commands_run(struct commands *commands, const struct command *what, command_cb *cb, void *arg);

/* Returns whether a program is there, given as a path or as a name on this process's PATH: 0, or -1 with a sentence. */
int command_find(const char *program, struct error *err);

/* Writes one sentence on why the command did not exit with status 0: its own error output if it has any. */
void command_explain(const struct command_result *result, const char *program, char *out, size_t size);

/* Returns an environment of the named variables that this process has, and of the settings (NAME=VALUE), which override
 * them; both lists are ended by NULL. The caller frees it by command_env_free(). */
char **command_env(const char *const *names, const char *const *settings);
void command_env_free(char **env);
#endif
