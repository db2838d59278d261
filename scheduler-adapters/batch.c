#include "scheduler-adapters/batch.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "scheduler-adapters/batch_known.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUBMISSIONS_MAX 4 /* at once */
#define QUESTIONS_MAX 8
#define INTERVAL_MS 15000
#define GATHER_MS 2000

static size_t count_words(const char *const *list)
{
    size_t n = 0;

    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

/* Jobs also see the variables that the setting `environment` names. */
static char **job_environment(const struct batch_system *system, const json_t *names, const char *const *settings)
{
    size_t n = count_words(system->for_jobs), i;
    const char **all = xcalloc(n + json_array_size(names) + 1, sizeof *all);
    const json_t *item;
    char **env;

    memcpy(all, system->for_jobs, n * sizeof *all);
    json_array_foreach ((json_t *)names, i, item)
        all[n++] = json_string_value(item);
    env = command_env(all, settings);
    free(all);
    return env;
}

static int read_batch_settings(struct adapter *a, const json_t *config, const json_t **environment, struct error *err)
{
    const struct batch_system *system = a->system;
    int64_t a_minute = system->a_minute;

    a->timeout_ms = system->timeout_ms;
    a->interval_ms = INTERVAL_MS;
    a->pace.a_minute = system->a_minute;
    a->gathering.wait_ms = GATHER_MS;
    for (size_t i = 0; system->programs[i] != NULL; i++) {
        a->program[i] = system->programs[i];
        if (config != NULL && jsonx_string(config, "", system->programs[i], JSONX_OPTIONAL, &a->program[i], err) < 0)
            return -1;
    }
    if (config == NULL)
        return 0;
    if (jsonx_strings(config, "", "extra", JSONX_OPTIONAL, 0, &a->extra, err) < 0 ||
        (system->options != NULL && options_check(system->options, a->extra, "/extra", "config_value", err) < 0) ||
        jsonx_strings(config, "", "environment", JSONX_OPTIONAL, 0, environment, err) < 0 ||
        jsonx_duration(config, "", "timeout", JSONX_OPTIONAL, 1000, &a->timeout_ms, err) < 0 ||
        jsonx_duration(config, "", "gather", JSONX_OPTIONAL, 0, &a->gathering.wait_ms, err) < 0 ||
        jsonx_duration(config, "", "poll", JSONX_OPTIONAL, 1000, &a->interval_ms, err) < 0 ||
        (system->a_minute > 0 && jsonx_int(config, "", "connections", JSONX_OPTIONAL, 8, 100000, &a_minute, err) < 0))
        return -1;
    a->pace.a_minute = (unsigned)a_minute;
    return 0;
}

int batch_init(struct adapter *a, const struct batch_system *system, const struct adapter_host *host,
               const char *const *command_settings, const char *const *job_settings, struct error *err)
{
    static const char *const nothing[] = {NULL};
    const json_t *environment = NULL;

    a->system = system;
    if (read_batch_settings(a, host->config, &environment, err) < 0)
        return -1;
    for (size_t i = 0; i < BATCH_PROGRAMS_MAX; i++)
        a->limit_ms[i] = a->timeout_ms;
    a->env = command_env(system->for_commands, command_settings != NULL ? command_settings : nothing);
    a->job_env = job_environment(system, environment, job_settings != NULL ? job_settings : nothing);
    a->host = *host;
    if (access(host->runner, X_OK) < 0)
        error_errno(&a->no_runner, "job_refused", "the runner %s", host->runner);
    a->answers = answers_create(host->loop);
    a->submissions = commands_create(host->loop, SUBMISSIONS_MAX);
    a->questions = commands_create(host->loop, QUESTIONS_MAX);
    a->endings = commands_create(host->loop, system->endings_most);
    commands_pace(a->submissions, &a->pace, true);
    commands_pace(a->questions, &a->pace, false);
    commands_pace(a->endings, &a->pace, true);
    batch_overdue_init(a);
    batch_gather_init(a);
    return 0;
}

static void batch_answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    batch_known_forget_all(a);
    batch_gather_fini(a);
    a->system->fini(a);
    command_env_free(a->env);
    command_env_free(a->job_env);
    free(a);
    destroyed(destroyed_arg);
}

static void finish_batch_destroy(struct adapter *a)
{
    if (!a->closing || a->stopping > 0 || a->busy > 0)
        return;
    a->stopping = -1;
    answers_destroy(a->answers, batch_answers_gone, a);
}

void batch_part_gone(void *arg)
{
    struct adapter *a = arg;

    a->stopping--;
    finish_batch_destroy(a);
}

void batch_closed(uv_handle_t *handle)
{
    batch_part_gone(handle->data);
}

void batch_closing(struct adapter *a)
{
    a->stopping++;
}

void batch_destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    a->destroyed = done;
    a->destroyed_arg = arg;
    a->closing = true;
    a->stopping = 4;
    batch_overdue_stop(a);
    batch_gather_stop(a);
    uv_close((uv_handle_t *)&a->orders.timer, batch_closed);
    commands_destroy(a->submissions, batch_part_gone, a);
    commands_destroy(a->questions, batch_part_gone, a);
    commands_destroy(a->endings, batch_part_gone, a);
}

void batch_busy(struct adapter *a)
{
    a->busy++;
}

void batch_idle(struct adapter *a)
{
    if (--a->busy == 0 && a->closing && a->stopping == 0)
        finish_batch_destroy(a);
}

struct stopped {
    command_cb *cb;
    void *arg;
};

/* Ends a sequence of commands that was to go on when the adapter was destroyed. */
static void answer_stopped(void *arg)
{
    struct stopped *stopped = arg;
    char nothing[1] = "";
    struct command_result result = {.end = COMMAND_STOPPED, .out = nothing, .err = nothing};

    stopped->cb(stopped->arg, &result);
    free(stopped);
}

/* A command that submits gets the jobs' environment if jobs inherit it from the command instead of setting it in
 * their script. */
void batch_run(struct adapter *a, struct commands *commands, int program, const char *const *args, const char *in,
               size_t out_max, command_cb *cb, void *arg)
{
    batch_run_costing(a, commands, program, args, in, out_max, 1, cb, arg);
}

void batch_run_costing(struct adapter *a, struct commands *commands, int program, const char *const *args,
                       const char *in, size_t out_max, unsigned cost, command_cb *cb, void *arg)
{
    bool is_job = commands == a->submissions && a->system->jobs_inherit;
    size_t n = count_words(args);
    const char **argv;

    if (a->closing) {
        struct stopped *stopped = xcalloc(1, sizeof *stopped);

        *stopped = (struct stopped){cb, arg};
        answers_call(a->answers, answer_stopped, stopped);
        return;
    }
    argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = a->program[program];
    memcpy(argv + 1, args, n * sizeof *args);
    commands_run(commands,
                 &(struct command){.argv = argv,
                                   .env = (const char *const *)(is_job ? a->job_env : a->env),
                                   .in = in,
                                   .limit_ms = a->limit_ms[program],
                                   .out_max = out_max,
                                   .cost = cost,
                                   .err_max = BATCH_WORDS_MAX},
                 cb, arg);
    free(argv);
}

int batch_check(const struct command_result *result, const char *program, struct error *err)
{
    char why[600];

    if (result->end == COMMAND_EXITED && result->status == 0)
        return 0;
    command_explain(result, program, why, sizeof why);
    return error_set(err, "batch_system_unsure", "%s", why);
}

enum adapter_answer batch_no_answer(const struct command_result *result)
{
    return result->end == COMMAND_NOT_STARTED ? ADAPTER_LATER : ADAPTER_UNSURE;
}

bool batch_says(const char *said, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(said, *words) != NULL)
            return true;
    return false;
}

int64_t batch_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

int64_t batch_mebibytes(const struct adapter_resources *want)
{
    return batch_divide_up(batch_divide_up(want->memory, 1 << 20) * want->copies, want->nodes);
}

int64_t batch_gpus(const struct adapter_resources *want)
{
    return batch_divide_up((int64_t)want->gpus * want->copies, want->nodes);
}

void batch_row_status(const struct batch_row *row, struct adapter_status *status)
{
    snprintf(status->scheduler_id, sizeof status->scheduler_id, "%s", row->id);
    if (row->phase == BATCH_WAITS) {
        status->state = ADAPTER_JOB_QUEUED;
        snprintf(status->reason, sizeof status->reason, "%s", row->reason);
        return;
    }
    status->state = row->phase == BATCH_RUNS ? ADAPTER_JOB_RUNNING : ADAPTER_JOB_ENDED;
    status->started_ms = row->started * 1000;
    snprintf(status->host, sizeof status->host, "%s", row->host);
}

bool batch_wait(struct batch_wait **list, void (*go)(void *arg), void *arg)
{
    bool is_first = *list == NULL;

    while (*list != NULL)
        list = &(*list)->next;
    *list = xcalloc(1, sizeof **list);
    **list = (struct batch_wait){.go = go, .arg = arg};
    return is_first;
}

void batch_waited(struct batch_wait **waiting)
{
    struct batch_wait *list = *waiting, *next;

    *waiting = NULL;
    for (; list != NULL; list = next) {
        next = list->next;
        list->go(list->arg);
        free(list);
    }
}

int batch_ready(struct adapter *a, struct error *err)
{
    for (size_t i = 0; i < a->system->programs_needed; i++)
        if (command_find(a->program[i], err) < 0)
            return -1;
    return 0;
}

int batch_check_options(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    const struct option_syntax *options = a->system->options;

    return options != NULL ? options_check(options, want->extra, "/extra", "resources_impossible", err) : 0;
}

int batch_check_one_node(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    if (batch_check_options(a, want, err) < 0)
        return -1;
    if (want->nodes == 1 || want->launcher == NULL || strcmp(want->launcher, "copies") != 0)
        return 0;
    return error_at(
        err, "resources_impossible", "/launcher",
        "\"copies\" are on one node with this batch system, and %d nodes are wanted: name a launcher that starts "
        "processes on all of them, such as [\"mpiexec\", \"-f\", \"{hostfile}\", \"-np\", \"{tasks}\"]",
        want->nodes);
}

int batch_no_slots(struct adapter *a)
{
    return 0;
}

int64_t batch_interval_ms(struct adapter *a)
{
    return a->interval_ms;
}
