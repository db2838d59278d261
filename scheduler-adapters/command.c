#include "scheduler-adapters/command.h"

#include "common/xalloc.h"
#include "scheduler-adapters/command_memory.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define TERM_TO_KILL_MS 2000
#define MEMORY_LOOK_MS 250 /* between looks at the memory of commands that run */

struct command_output {
    uv_pipe_t pipe;
    char *text;
    size_t n, size, max;
};

struct command_process {
    struct command_process *next, **prev; /* in the list of commands that run, or of those that wait */
    struct commands *all;
    char **argv, **env, *in;
    unsigned cost;
    int64_t limit_ms, memory_max;
    command_cb *cb;
    void *arg;

    uv_process_t process;
    uv_timer_t timer;
    struct command_output out, err;
    uv_pipe_t in_pipe; /* used only if `in` is set */
    uv_write_t in_write;
    int open; /* open handles, except the timer */
    bool started, late, terminated;
    struct command_result result;
};

struct commands {
    uv_loop_t *loop;
    unsigned most, running;
    struct command_process *active, *waiting, **last_waiting;
    uv_idle_t idle;            /* starts waiting commands on the next turn */
    uv_timer_t look;           /* at the memory of those that run, and whether those that wait may start */
    struct command_pace *pace; /* NULL: there is no limit for connections */
    bool waits_for_pace;
    int open; /* handles of its own: `idle` and `look` */
    bool stopping, closed;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

static void words_free(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

static char **words_copy(const char *const *words)
{
    size_t n = 0;
    char **copy;

    while (words[n] != NULL)
        n++;
    copy = xcalloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(words[i]);
    return copy;
}

static void run_free(struct command_process *r)
{
    words_free(r->argv);
    words_free(r->env);
    free(r->in);
    free(r->out.text);
    free(r->err.text);
    free(r);
}

static void idle_closed(uv_handle_t *handle)
{
    struct commands *all = handle->data;
    void (*destroyed)(void *) = all->destroyed;
    void *arg = all->destroyed_arg;

    if (--all->open > 0)
        return;
    free(all);
    destroyed(arg);
}

static void commands_turn(uv_idle_t *idle);
static void look_later(struct commands *all);

static void commands_go_on(struct commands *all)
{
    if (!all->closed && (all->stopping || (all->waiting != NULL && all->running < all->most)))
        uv_idle_start(&all->idle, commands_turn);
}

static void command_answer(struct command_process *r)
{
    static char nothing[1];
    struct command_result *result = &r->result;

    result->out = r->out.text ? r->out.text : nothing;
    result->err = r->err.text ? r->err.text : nothing;
    result->out_size = r->out.n;
    result->err_size = r->err.n;
    nothing[0] = '\0';
    r->cb(r->arg, result);
}

static void command_timer_closed(uv_handle_t *handle)
{
    struct command_process *r = handle->data;
    struct commands *all = r->all;

    *r->prev = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    all->running--;
    command_answer(r);
    run_free(r);
    commands_go_on(all);
}

/* Closes the timer once the process has exited and both pipes are at their end: only then is the output whole. */
static void command_handle_closed(uv_handle_t *handle)
{
    struct command_process *r = handle->data;

    if (--r->open == 0)
        uv_close((uv_handle_t *)&r->timer, command_timer_closed);
}

static void close_pipe(struct command_output *o)
{
    if (!uv_is_closing((uv_handle_t *)&o->pipe))
        uv_close((uv_handle_t *)&o->pipe, command_handle_closed);
}

/* The command need not read all, or anything, of its input: the rest is dropped. */
static void close_in(struct command_process *r)
{
    if (r->in != NULL && !uv_is_closing((uv_handle_t *)&r->in_pipe))
        uv_close((uv_handle_t *)&r->in_pipe, command_handle_closed);
}

static void command_input_written(uv_write_t *write, int status)
{
    close_in(write->data);
}

static void exited(uv_process_t *process, int64_t status, int sig)
{
    struct command_process *r = process->data;

    r->result.status = (int)status;
    if (sig != 0 && r->result.end == COMMAND_EXITED)
        r->result.end = COMMAND_KILLED;
    uv_close((uv_handle_t *)process, command_handle_closed);
    close_in(r);
    if (r->terminated) { /* processes that it left may hold the pipes for ever */
        kill(-r->process.pid, SIGKILL);
        close_pipe(&r->out);
        close_pipe(&r->err);
    }
}

static void command_limit_reached(uv_timer_t *timer);

/* Signals the whole process group, since a command may be a script. */
static void terminate(struct command_process *r, enum command_end why)
{
    bool is_gone = uv_is_closing((uv_handle_t *)&r->process);

    if (is_gone && uv_is_closing((uv_handle_t *)&r->out.pipe) && uv_is_closing((uv_handle_t *)&r->err.pipe))
        return; /* it has ended, and its process id may belong to another process already */
    if (!r->terminated)
        r->result.end = why;
    if (r->started)
        kill(-r->process.pid, r->terminated || is_gone ? SIGKILL : SIGTERM);
    if (is_gone) {
        close_pipe(&r->out);
        close_pipe(&r->err);
    } else if (!r->terminated) {
        uv_timer_start(&r->timer, command_limit_reached, TERM_TO_KILL_MS, 0);
    }
    r->terminated = true;
}

/* Timers ring before a process that was held up has read the output that came meanwhile: the first ring lets it do
 * that. */
static void command_limit_reached(uv_timer_t *timer)
{
    struct command_process *r = timer->data;

    if (!r->late)
        uv_timer_start(timer, command_limit_reached, 1, 0);
    else
        terminate(r, COMMAND_OUT_OF_TIME);
    r->late = true;
}

static void command_make_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct command_process *r = handle->data;
    struct command_output *o = (uv_pipe_t *)handle == &r->out.pipe ? &r->out : &r->err;

    if (o->size - o->n < 4096) {
        o->size = o->size == 0 ? 4096 : 2 * o->size;
        o->text = xrealloc(o->text, o->size + 1, 1);
    }
    *buf = uv_buf_init(o->text + o->n, (unsigned)(o->size - o->n));
}

static void command_take(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct command_process *r = stream->data;
    struct command_output *o = (uv_pipe_t *)stream == &r->out.pipe ? &r->out : &r->err;

    if (n > 0)
        o->n += (size_t)n;
    if (o->n > o->max) {
        o->n = o->max;
        terminate(r, COMMAND_TOO_LONG);
    }
    if (o->text != NULL)
        o->text[o->n] = '\0';
    if (n < 0)
        close_pipe(o);
}

/* A command of several threads may use more CPU time than it may last, but not for ever. */
static void limit_cpu(const struct command_process *r)
{
    rlim_t s = 2 * (rlim_t)(r->limit_ms / 1000 + 1);
    struct rlimit limit = {.rlim_cur = s, .rlim_max = s + 5};

    prlimit(r->process.pid, RLIMIT_CPU, &limit, NULL); /* if that fails, its time is still limited */
}

static void command_start_now(struct command_process *r)
{
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&r->out.pipe},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&r->err.pipe}};
    uv_process_options_t options = {.exit_cb = exited,
                                    .file = r->argv[0],
                                    .args = r->argv,
                                    .env = r->env,
                                    .cwd = "/",
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    struct commands *all = r->all;
    uv_buf_t in;
    int rc;

    uv_pipe_init(all->loop, &r->out.pipe, 0);
    uv_pipe_init(all->loop, &r->err.pipe, 0);
    uv_timer_init(all->loop, &r->timer);
    r->out.pipe.data = r->err.pipe.data = r->timer.data = r->process.data = r->in_pipe.data = r->in_write.data = r;
    r->open = 3;
    if (r->in != NULL) {
        uv_pipe_init(all->loop, &r->in_pipe, 0);
        stdio[0] = (uv_stdio_container_t){.flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
                                          .data.stream = (uv_stream_t *)&r->in_pipe};
        r->open++;
    }
    r->next = all->active;
    r->prev = &all->active;
    if (r->next != NULL)
        r->next->prev = &r->next;
    all->active = r;
    all->running++;
    rc = uv_spawn(all->loop, &r->process, &options);
    if (rc < 0) { /* every handle is still closed, and then the answer is given */
        r->result.end = COMMAND_NOT_STARTED;
        r->err.text = xasprintf("%s: %s", r->argv[0], uv_strerror(rc));
        r->err.n = strlen(r->err.text);
        close_in(r);
        close_pipe(&r->out);
        close_pipe(&r->err);
        uv_close((uv_handle_t *)&r->process, command_handle_closed);
        return;
    }
    r->started = true;
    limit_cpu(r);
    if (r->in != NULL) {
        in = uv_buf_init(r->in, (unsigned)strlen(r->in));
        uv_write(&r->in_write, (uv_stream_t *)&r->in_pipe, &in, 1, command_input_written);
    }
    uv_timer_start(&r->timer, command_limit_reached, (uint64_t)r->limit_ms, 0);
    uv_read_start((uv_stream_t *)&r->out.pipe, command_make_room, command_take);
    uv_read_start((uv_stream_t *)&r->err.pipe, command_make_room, command_take);
}

static bool may_start(struct commands *all)
{
    return all->pace == NULL ||
           command_pace_take(all->pace, uv_now(all->loop), all->waiting->cost, all->waits_for_pace);
}

void commands_pace(struct commands *commands, struct command_pace *pace, bool waits)
{
    commands->pace = pace;
    commands->waits_for_pace = waits;
}

static void command_memory_looked(uv_timer_t *timer)
{
    struct commands *all = timer->data;

    for (struct command_process *r = all->active; r != NULL; r = r->next)
        if (r->started && !uv_is_closing((uv_handle_t *)&r->process) &&
            command_memory(r->process.pid) > r->memory_max) {
            terminate(r, COMMAND_TOO_LARGE); /* sends SIGTERM */
            terminate(r, COMMAND_TOO_LARGE); /* sends SIGKILL: it grows on meanwhile */
        }
    commands_go_on(all);
    if (all->active != NULL || all->waiting != NULL)
        look_later(all);
}

static void look_later(struct commands *all)
{
    if (!uv_is_active((uv_handle_t *)&all->look) && !all->closed)
        uv_timer_start(&all->look, command_memory_looked, MEMORY_LOOK_MS, 0);
}

static struct command_process *next_waiting(struct commands *all)
{
    struct command_process *r = all->waiting;

    all->waiting = r->next;
    if (all->waiting == NULL)
        all->last_waiting = &all->waiting;
    return r;
}

static void commands_turn(uv_idle_t *idle)
{
    struct commands *all = idle->data;

    uv_idle_stop(idle);
    while (!all->stopping && all->waiting != NULL && all->running < all->most && may_start(all))
        command_start_now(next_waiting(all));
    if (all->active != NULL || all->waiting != NULL)
        look_later(all);
    while (all->stopping && all->waiting != NULL) {
        struct command_process *r = next_waiting(all);

        r->result.end = COMMAND_STOPPED;
        command_answer(r);
        run_free(r);
    }
    if (!all->stopping || all->running > 0 || all->closed)
        return;
    all->closed = true;
    uv_close((uv_handle_t *)idle, idle_closed);
    uv_close((uv_handle_t *)&all->look, idle_closed);
}

struct commands *commands_create(uv_loop_t *loop, unsigned most)
{
    struct commands *all = xcalloc(1, sizeof *all);

    all->loop = loop;
    all->most = most;
    all->last_waiting = &all->waiting;
    uv_idle_init(loop, &all->idle);
    uv_timer_init(loop, &all->look);
    all->idle.data = all->look.data = all;
    all->open = 2;
    return all;
}

/* Kills all commands at once: nobody waits for their answers. */
void commands_destroy(struct commands *all, void (*done)(void *arg), void *arg)
{
    all->stopping = true;
    all->destroyed = done;
    all->destroyed_arg = arg;
    for (struct command_process *r = all->active; r != NULL; r = r->next) {
        terminate(r, COMMAND_STOPPED); /* sends SIGTERM */
        terminate(r, COMMAND_STOPPED); /* sends SIGKILL */
        r->result.end = COMMAND_STOPPED;
    }
    commands_go_on(all);
}

void commands_run(struct commands *all, const struct command *what, command_cb *cb, void *arg)
{
    struct command_process *r = xcalloc(1, sizeof *r);

    *r = (struct command_process){.all = all,
                                  .argv = words_copy(what->argv),
                                  .env = words_copy(what->env),
                                  .limit_ms = what->limit_ms,
                                  .memory_max = what->memory_max > 0 ? what->memory_max : COMMAND_MEMORY_MAX,
                                  .cost = what->cost,
                                  .in = what->in != NULL ? xstrdup(what->in) : NULL,
                                  .cb = cb,
                                  .arg = arg};
    r->out.max = what->out_max;
    r->err.max = what->err_max;
    *all->last_waiting = r;
    all->last_waiting = &r->next;
    commands_go_on(all);
}

/* Joins the lines that are not empty, as "a; b". */
static void join_lines(const char *text, char *out, size_t size)
{
    const char *separator = "";
    size_t n = 0;

    out[0] = '\0';
    while (*text != '\0' && n + 1 < size) {
        const char *line = text + strspn(text, " \t\r\n");
        size_t length = strcspn(line, "\n");

        text = line + length + (line[length] == '\n');
        while (length > 0 && (unsigned char)line[length - 1] <= ' ')
            length--;
        if (length == 0)
            continue;
        n += (size_t)snprintf(out + n, size - n, "%s%.*s", separator, (int)length, line);
        separator = "; ";
    }
    for (char *c = out; *c != '\0'; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int command_find(const char *program, struct error *err)
{
    const char *dir = getenv("PATH");

    if (strchr(program, '/') != NULL) {
        if (is_program(program))
            return 0;
        return error_set(err, "program_missing", "%.300s is not there, or is not a program", program);
    }
    for (size_t size; dir != NULL && *dir != '\0'; dir += size + (dir[size] == ':')) {
        char *path;
        bool found;

        size = strcspn(dir, ":");
        path = xasprintf("%.*s/%s", (int)size, dir, program);
        found = is_program(path);
        free(path);
        if (found)
            return 0;
    }
    return error_set(err, "program_missing", "%.300s is not on the daemon's PATH", program);
}

void command_explain(const struct command_result *result, const char *program, char *out, size_t size)
{
    static const char *const ends[] = {[COMMAND_NOT_STARTED] = "it could not be started",
                                       [COMMAND_OUT_OF_TIME] = "it did not end in time",
                                       [COMMAND_KILLED] = "it was killed",
                                       [COMMAND_TOO_LONG] = "it printed too much",
                                       [COMMAND_TOO_LARGE] = "it took too much memory",
                                       [COMMAND_STOPPED] = "it was stopped, as the daemon ends"};
    char said[400];
    size_t n = 0;

    join_lines(result->err, said, sizeof said);
    n = strlen(said);
    if (result->end == COMMAND_NOT_STARTED)
        snprintf(out, size, "%s", said);
    else if (result->end != COMMAND_EXITED)
        snprintf(out, size, "%s: %s%s%s", program, ends[result->end], n > 0 ? ": " : "", said);
    else if (n > 0)
        snprintf(out, size, "%s", said);
    else
        snprintf(out, size, "%s ended with status %d", program, result->status);
}

static bool is_set_again(const char *name, const char *const *settings)
{
    size_t n = strlen(name);

    for (; *settings != NULL; settings++)
        if (strncmp(*settings, name, n) == 0 && (*settings)[n] == '=')
            return true;
    return false;
}

char **command_env(const char *const *names, const char *const *settings)
{
    size_t n_names = 0, n_settings = 0, n = 0;
    char **env;

    while (names[n_names] != NULL)
        n_names++;
    while (settings[n_settings] != NULL)
        n_settings++;
    env = xcalloc(n_names + n_settings + 1, sizeof *env);
    for (; *names != NULL; names++)
        if (getenv(*names) != NULL && !is_set_again(*names, settings))
            env[n++] = xasprintf("%s=%s", *names, getenv(*names));
    for (; *settings != NULL; settings++)
        env[n++] = xstrdup(*settings);
    return env;
}

void command_env_free(char **env)
{
    words_free(env);
}
