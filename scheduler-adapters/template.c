/* A template for adapters: copy it, and change it for your batch system. docs/adapters.md walks through it.
 *
 * It drives any batch system for which there is a program of five verbs, given as the setting `program`:
 *
 *     PROGRAM submit NAME RUNNER DIR   starts or queues `RUNNER DIR` as a job called NAME, whose needs are in
 *                                      the variable RESOURCES (JSON), and prints the job's id. A NAME that is
 *                                      there already is not started again: its id is printed.
 *     PROGRAM list                     prints a line for each job, `NAME queued|running|ended ID HOST [REASON OF END]`,
 *                                      and a last line `.`
 *     PROGRAM cancel NAME              sends SIGTERM to the runner, which ends the job; a queued job never starts
 *     PROGRAM withdraw NAME ID         removes this job of that name, if it is queued: it never starts
 *     PROGRAM signal NAME USR1|USR2    sends the signal to the runner
 *
 * Its exit status is 0 when the order was carried out, 1 when it was refused for the reason on standard error, and
 * anything else when the result is not known. */
#include <stretto/adapter.h>
#include <stretto/answers.h>
#include <stretto/command.h>
#include <stretto/jsonx.h>
#include <stretto/xalloc.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX (64 << 20) /* bytes of a list */
#define ARGS_MAX 32

struct program_run;

struct adapter {
    struct adapter_host host;
    struct answers *answers; /* gives callbacks on the next turn of the loop */
    const json_t *program;
    int64_t timeout_ms;
    struct program_run *commands; /* runs that have not ended */
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* The output of a command in one of its pipes. */
struct run_output {
    uv_pipe_t pipe;
    char *text;
    size_t n;
};

/* One run of the program: a process with two pipes and a time limit, which never blocks the loop. */
struct program_run {
    struct adapter *adapter;
    struct program_run *next, **prev;
    uv_process_t process;
    uv_timer_t limit;
    struct run_output out, err;
    int open_handles;
    int64_t status; /* its exit status; -1: not known */
    bool not_started;
    void (*done)(struct program_run *c);
    /* exactly one of the following three is set */
    adapter_submit_cb *submit;
    adapter_poll_cb *poll;
    adapter_done_cb *call;
    void *arg;
    char **names; /* of the jobs that the question is about */
    size_t n;
};

static void template_give_up(struct adapter *a);

static void command_free(struct program_run *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->names[i]);
    free(c->names);
    free(c->out.text);
    free(c->err.text);
    free(c);
}

static void on_limit_closed(uv_handle_t *handle)
{
    struct program_run *c = handle->data;
    struct adapter *a = c->adapter;

    c->done(c);
    *c->prev = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    command_free(c);
    if (a->destroyed != NULL && a->commands == NULL)
        template_give_up(a);
}

/* Closes the timer once the process has exited and both pipes are at their end: only then is the output whole. */
static void run_handle_closed(uv_handle_t *handle)
{
    struct program_run *c = handle->data;

    if (--c->open_handles == 0)
        uv_close((uv_handle_t *)&c->limit, on_limit_closed);
}

static void close_pipes(struct program_run *c)
{
    if (!uv_is_closing((uv_handle_t *)&c->out.pipe))
        uv_close((uv_handle_t *)&c->out.pipe, run_handle_closed);
    if (!uv_is_closing((uv_handle_t *)&c->err.pipe))
        uv_close((uv_handle_t *)&c->err.pipe, run_handle_closed);
}

static void on_exited(uv_process_t *process, int64_t status, int sig)
{
    struct program_run *c = process->data;

    if (c->status == 0)
        c->status = sig == 0 ? status : -1;
    uv_close((uv_handle_t *)process, run_handle_closed);
}

/* Ends a run that is out of time. The pipes are closed as well, since a process that it left may hold them. */
static void command_end(struct program_run *c)
{
    c->status = -1;
    if (!uv_is_closing((uv_handle_t *)&c->process))
        uv_process_kill(&c->process, SIGKILL);
    close_pipes(c);
}

static void on_limit(uv_timer_t *timer)
{
    command_end(timer->data);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct program_run *c = handle->data;
    struct run_output *o = (uv_pipe_t *)handle == &c->out.pipe ? &c->out : &c->err;

    o->text = xrealloc(o->text, o->n + suggested + 1, 1);
    *buf = uv_buf_init(o->text + o->n, (unsigned)suggested);
}

static void run_output_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct program_run *c = stream->data;
    struct run_output *o = (uv_pipe_t *)stream == &c->out.pipe ? &c->out : &c->err;

    if (n >= 0)
        o->n += (size_t)n;
    if (o->text != NULL)
        o->text[o->n] = '\0';
    if (o->n > OUTPUT_MAX)
        command_end(c);
    else if (n < 0)
        uv_close((uv_handle_t *)stream, run_handle_closed);
}

static struct program_run *command_new(struct adapter *a, void (*done)(struct program_run *c), void *arg)
{
    struct program_run *c = xcalloc(1, sizeof *c);

    *c = (struct program_run){.adapter = a, .done = done, .arg = arg};
    return c;
}

static void command_name(struct program_run *c, const struct adapter_job *jobs, size_t n)
{
    c->names = xcalloc(n, sizeof *c->names);
    for (c->n = 0; c->n < n; c->n++)
        c->names[c->n] = xstrdup(jobs[c->n].name);
}

/* Returns the variable RESOURCES for `submit`. */
static char *resources_variable(const struct adapter_job *job)
{
    const struct adapter_resources *r = &job->resources;
    json_t *json = json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:b, s:b, s:I, s:s?, s:s?, s:s?, s:O*}", "nodes", r->nodes,
                             "tasks", r->tasks, "cpus_per_task", r->cpus_per_task, "gpus", r->gpus, "copies", r->copies,
                             "memory", (json_int_t)r->memory, "whole_nodes", r->whole_nodes, "together", r->together,
                             "walltime_ms", (json_int_t)r->walltime_ms, "queue", r->queue, "account", r->account,
                             "launcher", r->launcher, "extra", (json_t *)r->extra);
    char *text = json_dumps(json, JSON_COMPACT), *variable = xasprintf("RESOURCES=%s", text ? text : "{}");

    free(text);
    json_decref(json);
    return variable;
}

/* Returns the daemon's environment with the variable, which may be NULL. */
static char **environment_with(char *variable)
{
    extern char **environ;
    char **env;
    size_t n = 0;

    while (environ[n] != NULL)
        n++;
    env = xcalloc(n + 2, sizeof *env);
    memcpy(env, environ, n * sizeof *env);
    env[n] = variable;
    return env;
}

/* Starts the run; `args` ends with NULL. done() is called later, even if the program cannot be started. */
static void command_start(struct program_run *c, const char *const *args, char *variable)
{
    struct adapter *a = c->adapter;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out.pipe},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->err.pipe}};
    char *argv[2 * ARGS_MAX];
    uv_process_options_t options = {.exit_cb = on_exited, .args = argv, .stdio_count = 3, .stdio = stdio};
    size_t n = 0, i;
    json_t *item;
    int rc;

    json_array_foreach ((json_t *)a->program, i, item)
        argv[n++] = (char *)json_string_value(item);
    while (*args != NULL)
        argv[n++] = (char *)*args++;
    argv[n] = NULL;
    options.file = argv[0];
    options.env = environment_with(variable);
    uv_pipe_init(a->host.loop, &c->out.pipe, 0);
    uv_pipe_init(a->host.loop, &c->err.pipe, 0);
    uv_timer_init(a->host.loop, &c->limit);
    c->out.pipe.data = c->err.pipe.data = c->limit.data = c->process.data = c;
    c->open_handles = 3; /* the timer is closed after these */
    c->next = a->commands;
    c->prev = &a->commands;
    if (c->next != NULL)
        c->next->prev = &c->next;
    a->commands = c;
    rc = uv_spawn(a->host.loop, &c->process, &options);
    free(options.env);
    free(variable);
    if (rc < 0) { /* every handle is still closed, and then done() is called */
        c->err.text = xasprintf("%s: %s", argv[0], uv_strerror(rc));
        c->not_started = true;
        close_pipes(c);
        on_exited(&c->process, -1, 0);
        return;
    }
    uv_timer_start(&c->limit, on_limit, (uint64_t)a->timeout_ms, 0);
    uv_read_start((uv_stream_t *)&c->out.pipe, on_room, run_output_read);
    uv_read_start((uv_stream_t *)&c->err.pipe, on_room, run_output_read);
}

/* Interprets the exit status. A command that ran out of time, or whose result is not known, may still have done its
 * work: that is ADAPTER_UNSURE, and the engine calls find(). Only an explicit refusal by the batch system is
 * ADAPTER_REFUSED. */
static enum adapter_answer run_verdict(const struct program_run *c, struct error *err)
{
    if (c->status == 0)
        return ADAPTER_OK;
    if (c->status == 1) {
        error_set(err, "job_refused", "%.700s", c->err.text ? c->err.text : "refused without a reason");
        return ADAPTER_REFUSED;
    }
    error_set(err, "batch_system_unsure", "%.700s",
              c->err.text && c->err.text[0] ? c->err.text : "it was killed, or ran out of time");
    return ADAPTER_UNSURE;
}

/* Reads the configuration strictly. It starts nothing that lasts: an adapter that is configured but not used must cost
 * nothing. */
static struct adapter *template_create(const struct adapter_host *host, struct error *err)
{
    static const char *const known[] = {"program", "timeout", NULL};
    const json_t *program = NULL;
    int64_t timeout_ms = 30000;
    struct adapter *a;

    if (host->config == NULL) {
        error_at(err, "config_value", "/program", "the settings must name its program");
        return NULL;
    }
    if (jsonx_only(host->config, "", known, err) < 0 ||
        jsonx_strings(host->config, "", "program", JSONX_REQUIRED, 1, &program, err) < 0 ||
        jsonx_duration(host->config, "", "timeout", JSONX_OPTIONAL, 1, &timeout_ms, err) < 0)
        return NULL;
    if (json_array_size(program) > ARGS_MAX) {
        error_at(err, "config_value", "/program", "too many words");
        return NULL;
    }
    a = xcalloc(1, sizeof *a);
    *a = (struct adapter){.host = *host, .program = program, .timeout_ms = timeout_ms};
    a->answers = answers_create(host->loop);
    return a;
}

static void template_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    free(a);
    destroyed(destroyed_arg);
}

/* Delivers the answers that the last command led to, then frees the adapter. */
static void template_give_up(struct adapter *a)
{
    answers_destroy(a->answers, template_gone, a);
}

/* Kills the commands under way; their callers are answered with ADAPTER_UNSURE. Jobs go on. */
static void template_destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    a->destroyed = done;
    a->destroyed_arg = arg;
    for (struct program_run *c = a->commands; c != NULL; c = c->next)
        command_end(c);
    if (a->commands == NULL)
        template_give_up(a);
}

/* Looks for the program. If this fails no job is submitted, and the user is told what is missing. */
static int template_ready(struct adapter *a, struct error *err)
{
    return command_find(json_string_value(json_array_get(a->program, 0)), err);
}

/* Refuses only jobs that can never run. Limits that were read long ago may have changed: when in doubt, let the batch
 * system refuse. err->pointer is relative to the resources: error_at(err, "resources_impossible", "/gpus", …). */
static int template_check_job(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    return 0;
}

static int template_slots(struct adapter *a)
{
    return 0; /* not known */
}

static void run_submitted(struct program_run *c)
{
    struct error err;
    enum adapter_answer answer = run_verdict(c, &err);

    if (c->not_started) /* nothing was submitted, so the job is submitted again without being looked up */
        answer = ADAPTER_LATER;
    if (answer == ADAPTER_OK && c->out.n == 0)
        answer = ADAPTER_UNSURE, error_set(&err, "batch_system_unsure", "it printed no id");
    if (answer == ADAPTER_OK)
        c->out.text[strcspn(c->out.text, " \n")] = '\0';
    answers_submit(c->adapter->answers, c->submit, c->arg, answer, c->out.text, &err);
}

static void template_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
    struct program_run *c = command_new(a, run_submitted, arg);

    c->submit = cb;
    command_start(c, (const char *const[]){"submit", job->name, a->host.runner, job->dir, NULL},
                  resources_variable(job));
}

/* A line of the list: "NAME STATE ID HOST REASON", cut in place. */
struct template_line {
    char *word[5];
    size_t place;
    bool told; /* an answer is about it */
};

static int line_by_name(const void *a, const void *b)
{
    return strcmp(((const struct template_line *)a)->word[0], ((const struct template_line *)b)->word[0]);
}

static enum adapter_state line_state(const struct template_line *line)
{
    return strcmp(line->word[1], "queued") == 0    ? ADAPTER_JOB_QUEUED
           : strcmp(line->word[1], "running") == 0 ? ADAPTER_JOB_RUNNING
                                                   : ADAPTER_JOB_ENDED;
}

/* The rank of a state: of two jobs of a name the answer is about the one that runs, else waits, else has ended. */
static int line_rank(const struct template_line *line)
{
    enum adapter_state state = line_state(line);

    return state == ADAPTER_JOB_RUNNING ? 0 : state == ADAPTER_JOB_QUEUED ? 1 : 2;
}

/* Sorts by name, then by rank, then by the place in the list. */
static int by_name_and_rank(const void *a, const void *b)
{
    const struct template_line *x = a, *y = b;
    int order = line_by_name(a, b);

    if (order == 0)
        order = line_rank(x) - line_rank(y);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Returns the first line of that name; NULL if there is none. */
static struct template_line *find_line(struct template_line *lines, size_t n, char *name)
{
    struct template_line key = {.word = {name}};
    struct template_line *line = n > 0 ? bsearch(&key, lines, n, sizeof *lines, line_by_name) : NULL;

    while (line != NULL && line > lines && line_by_name(line - 1, line) == 0)
        line--;
    return line;
}

/* Returns the lines, sorted; NULL if the list is not whole. */
static struct template_line *parse_lines(char *text, size_t *n)
{
    struct template_line *lines = NULL;
    char *rest = NULL, *words;

    *n = 0;
    for (char *at = text ? strtok_r(text, "\n", &rest) : NULL; at != NULL; at = strtok_r(NULL, "\n", &rest)) {
        if (strcmp(at, ".") == 0) {
            if (*n > 0)
                qsort(lines, *n, sizeof *lines, by_name_and_rank);
            return lines ? lines : xcalloc(1, sizeof *lines);
        }
        lines = xrealloc(lines, *n + 1, sizeof *lines);
        for (size_t i = 0; i < 5; i++) { /* the last one is the rest of the line */
            char *word = strtok_r(i == 0 ? at : NULL, i < 4 ? " " : "", &words);

            lines[*n].word[i] = word ? word : "";
        }
        lines[*n].told = false;
        lines[*n].place = *n;
        ++*n;
    }
    free(lines);
    return NULL;
}

static void fill_status(struct adapter_status *status, const struct template_line *line)
{
    status->state = line_state(line);
    snprintf(status->scheduler_id, sizeof status->scheduler_id, "%s", line->word[2]);
    snprintf(status->host, sizeof status->host, "%s", line->word[3]);
    if (status->state == ADAPTER_JOB_ENDED)
        snprintf(status->reason, sizeof status->reason, "%s", line->word[4]);
}

/* Answers one command for all jobs. If it failed, or its output is not whole, the answer is ADAPTER_UNSURE for all
 * of them. ADAPTER_JOB_UNKNOWN means that the batch system answered, completely, without the job. */
static void run_listed(struct program_run *c)
{
    struct adapter_status *statuses = NULL;
    struct template_line *lines = NULL;
    struct error err;
    size_t n = 0;
    enum adapter_answer answer = run_verdict(c, &err) == ADAPTER_OK ? ADAPTER_OK : ADAPTER_UNSURE;

    if (answer == ADAPTER_OK && (lines = parse_lines(c->out.text, &n)) == NULL) {
        answer = ADAPTER_UNSURE;
        error_set(&err, "batch_system_unsure", "its list is not whole");
    }
    if (answer == ADAPTER_OK) {
        statuses = xcalloc(c->n, sizeof *statuses);
        for (size_t i = 0; i < c->n; i++) {
            struct template_line *line = find_line(lines, n, c->names[i]);

            statuses[i].state = ADAPTER_JOB_UNKNOWN;
            if (line == NULL)
                continue;
            line->told = true;
            fill_status(&statuses[i], line);
        }
    }
    for (size_t i = 0; i < n; i++)
        if (!lines[i].told && line_state(&lines[i]) == ADAPTER_JOB_QUEUED)
            c->adapter->host.duplicate(c->adapter->host.arg, lines[i].word[0], lines[i].word[2]);
    free(lines);
    answers_poll(c->adapter->answers, c->poll, c->arg, answer, statuses, c->n, &err);
}

static void template_list(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct program_run *c = command_new(a, run_listed, arg);

    c->poll = cb;
    command_name(c, jobs, n);
    command_start(c, (const char *const[]){"list", NULL}, NULL);
}

static void called(struct program_run *c)
{
    struct error err;
    enum adapter_answer answer = run_verdict(c, &err);

    answers_done(c->adapter->answers, c->call, c->arg, answer, &err);
    if (answer == ADAPTER_OK) /* something changed: the engine is to poll soon */
        answers_call(c->adapter->answers, c->adapter->host.poke, c->adapter->host.arg);
}

static void run_call(struct adapter *a, const char *const *args, adapter_done_cb *cb, void *arg)
{
    struct program_run *c = command_new(a, called, arg);

    c->call = cb;
    command_start(c, args, NULL);
}

/* The program must treat "no such job" as success. */
static void template_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    run_call(a, (const char *const[]){"cancel", job->name, NULL}, cb, arg);
}

/* The program must leave a job that runs already alone. */
static void template_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb,
                              void *arg)
{
    run_call(a, (const char *const[]){"withdraw", name, scheduler_id, NULL}, cb, arg);
}

/* The signal must reach the runner, which passes it on to the tasks. */
static void signal_job(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct error err;

    if (sig == SIGUSR1 || sig == SIGUSR2) {
        run_call(a, (const char *const[]){"signal", job->name, sig == SIGUSR1 ? "USR1" : "USR2", NULL}, cb, arg);
        return;
    }
    error_set(&err, "signal_refused", "only SIGUSR1 and SIGUSR2 can be sent");
    answers_done(a->answers, cb, arg, ADAPTER_REFUSED, &err);
}

static const struct adapter_setting settings[] = {
    {"program", "none: it must be given", "the program of five verbs, and words that come before the verb"},
    {"timeout", "30s", "how long one run of it may take"},
    {0},
};

const struct adapter_ops stretto_adapter = {
    .abi = ADAPTER_ABI,
    .name = "template",
    .settings = settings,
    .create = template_create,
    .destroy = template_destroy,
    .ready = template_ready,
    .check = template_check_job,
    .slots = template_slots,
    .submit = template_submit,
    .poll = template_list,
    .find = template_list, /* both ask by name here; with Slurm, `sacct --name` would know more than `squeue` */
    .cancel = template_cancel,
    .withdraw = template_withdraw,
    .signal = signal_job,
};
