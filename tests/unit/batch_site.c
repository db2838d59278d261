#include "tests/unit/batch_site.h"

#include "common/files.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct site site;
static bool has_waited_in_vain;
const struct adapter_resources site_plain = {.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .walltime_ms = 58 * MINUTE_MS};

void site_put(const char *name, const char *text, mode_t mode)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", site.dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), mode, &err), 0);
}

void site_remove(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", site.dir, name);
    assert_int_equal(unlink(path), 0);
}

void site_command(const char *name, const char *script)
{
    char text[4000], path[160];

    assert_true(strlen(script) < sizeof text - 300);
    snprintf(text, sizeof text,
             "#!/bin/sh\ncd %s || exit 1\npause() { [ -d /proc/%d ] && [ -d \"$PWD\" ] || exit 1; /bin/sleep 0.02; }\n"
             "{ printf '[%%s]' \"$@\" | tr '\\n' ' '; echo; } >>%s.asked\n%s\n",
             site.dir, (int)getpid(), name, script);
    site_put(name, text, 0700);
    snprintf(path, sizeof path, "%s/%s", site.dir, name);
    if (json_object_get(site.config, name) == NULL)
        json_object_set_new(site.config, name, json_string(path));
}

char *site_asked(const char *name)
{
    char path[160], *text;
    struct error err;
    size_t size;

    snprintf(path, sizeof path, "%s/%s.asked", site.dir, name);
    return file_read(path, 65536, &text, &size, &err) == 0 ? text : strdup("");
}

void site_forget(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s.asked", site.dir, name);
    unlink(path);
}

unsigned site_count_asked(const char *name)
{
    char *text = site_asked(name);
    unsigned n = 0;

    for (const char *c = text; *c != '\0'; c++)
        n += *c == '\n';
    free(text);
    return n;
}

void site_assert_asked(const char *name, const char *words)
{
    char *text = site_asked(name);

    if (strstr(text, words) == NULL)
        fail_msg("%s was not asked for %s, but:\n%s", name, words, text);
    free(text);
}

void site_assert_not_asked(const char *name, const char *words)
{
    char *text = site_asked(name);

    if (strstr(text, words) != NULL)
        fail_msg("%s was asked for %s:\n%s", name, words, text);
    free(text);
}

void site_assert_lines(const char *name, const char *lines)
{
    char *text = site_asked(name), *out = text;

    for (const char *at = text; *at != '\0';) {
        bool is_dir = strncmp(at, site.dir, strlen(site.dir)) == 0;

        *out++ = is_dir ? '@' : *at;
        at += is_dir ? strlen(site.dir) : 1;
    }
    *out = '\0';
    if (strcmp(text, lines) != 0)
        fail_msg("%s was not asked for\n%s, but for\n%s", name, lines, text);
    free(text);
}

static void poke(void *arg)
{
    site.pokes++;
}

static void duplicate(void *arg, const char *name, const char *scheduler_id)
{
    size_t n = strlen(site.duplicate);

    snprintf(site.duplicate + n, sizeof site.duplicate - n, "%s %s;", name, scheduler_id);
    if (site.at_duplicate != NULL)
        site.at_duplicate();
}

static void note(void *arg, enum adapter_log level, const char *job, const char *sentence)
{
    size_t n = strlen(site.said);

    snprintf(site.said + n, sizeof site.said - n, "%s\n", sentence);
}

int site_open(void **state)
{
    signal(SIGPIPE, SIG_IGN); /* as the daemon does: not every script reads what it is given */
    site = (struct site){.dir = "/tmp/stretto-test-XXXXXX"};
    alarm(400); /* for this test, in place of that for all: a loop without an end is a failure, too */
    assert_non_null(mkdtemp(site.dir));
    assert_int_equal(uv_loop_init(&site.loop), 0);
    assert_int_equal(uv_timer_init(&site.loop, &site.guard), 0);
    site.config = json_pack("{s:s}", "gather", "100ms");
    return 0;
}

void site_begin(const struct adapter_ops *ops)
{
    struct error err = {0};

    site.ops = ops;
    site.a = ops->create(&(struct adapter_host){.loop = &site.loop, .runner = site.runner != NULL ? site.runner : "/bin/sh",
                                                .config = site.config, .poke = poke,
                                                .duplicate = duplicate, .log = note},
                         &err);
    if (site.a == NULL)
        fail_msg("%s", err.text);
}

#define NEXT_ID "n=$(cat ids 2>/dev/null || echo 6); n=$((n + 1)); echo $n >ids\n"

void site_slurm_commands(void)
{
    site_command("sbatch", NEXT_ID "echo $n");
    site_command("squeue", "cat listed 2>/dev/null; true");
    site_command("scancel", "");
    site_command("scontrol", "echo 'AccountingStorageType = accounting_storage/slurmdbd'; echo 'MaxArraySize = 1001'");
    site_command("sinfo", "printf '%s\\n' 'short*|1:00:00' 'shorter|10:00' 'long|infinite'");
    site_command("sacct", "");
}

void site_pbs_commands(const char *version)
{
    char script[200];

    snprintf(script, sizeof script, "case $1 in --version) echo '%s';; *) cat listed 2>/dev/null || echo '{}';; esac",
             version);
    site_command("qstat", script);
    site_command("qsub", NEXT_ID "case \"$*\" in *' -J '*) echo \"$n[].server\";; *) echo $n.server;; esac");
    for (const char *const *name = (const char *const[]){"qdel", "qsig", "qhold", "qrls", NULL}; *name != NULL; name++)
        site_command(*name, "");
}

/* Returns how long an answer is waited for, in seconds: less once one has not come. */
static unsigned wait_s(void)
{
    return has_waited_in_vain ? 1 : test_wait_s();
}

static void gone(void *arg)
{
    *(bool *)arg = true;
}

void site_end(void)
{
    bool is_gone = false;
    unsigned left;

    if (site.a == NULL)
        return;
    left = alarm(wait_s()); /* an adapter that never ends is a failure sooner than the whole test is */
    site.ops->destroy(site.a, gone, &is_gone);
    site.a = NULL;
    while (!is_gone)
        uv_run(&site.loop, UV_RUN_ONCE);
    alarm(left);
}

int site_close(void **state)
{
    char rm[100];

    site_end();
    uv_close((uv_handle_t *)&site.guard, NULL);
    alarm(test_wait_s()); /* what was left open would keep the loop for ever */
    uv_run(&site.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&site.loop), 0);
    json_decref(site.config);
    snprintf(rm, sizeof rm, "rm -rf '%s'", site.dir);
    return system(rm);
}

static void tell(struct told *told, enum adapter_answer answer, const struct error *err)
{
    told->answers++;
    told->answer = answer;
    if (answer == ADAPTER_OK)
        return;
    snprintf(told->code, sizeof told->code, "%s", err->code);
    snprintf(told->text, sizeof told->text, "%.399s", err->text);
}

static void submitted(void *arg, enum adapter_answer answer, const char *scheduler_id, const struct error *err)
{
    struct told *told = arg;

    tell(told, answer, err);
    if (answer == ADAPTER_OK)
        snprintf(told->id, sizeof told->id, "%s", scheduler_id);
}

static void polled(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                   const struct error *err)
{
    struct told *told = arg;

    tell(told, answer, err);
    told->n = answer == ADAPTER_OK ? n : 0;
    assert_true(told->n <= TOLD_MAX);
    if (told->n > 0)
        memcpy(told->statuses, statuses, n * sizeof *statuses);
}

static void done(void *arg, enum adapter_answer answer, const struct error *err)
{
    tell(arg, answer, err);
}

struct adapter_job site_job(const struct adapter_resources *resources)
{
    return (struct adapter_job){.resources = *resources, .grace_ms = 5 * MINUTE_MS};
}

struct naming {
    char name[64], dir[160];
};

static void name_job(struct adapter_job *job, int number, struct naming *naming)
{
    snprintf(naming->name, sizeof naming->name, "st-0-%d", number);
    snprintf(naming->dir, sizeof naming->dir, "%.90s/st-0-%d", site.dir, number);
    job->name = naming->name;
    job->dir = naming->dir;
}

void site_submit(struct adapter_job job, int number, struct told *told)
{
    struct naming naming;

    name_job(&job, number, &naming);
    *told = (struct told){0};
    site.ops->submit(site.a, &job, submitted, told);
    assert_int_equal(told->answers, 0);
}

struct told site_submit_next(struct adapter_job job)
{
    static struct told told;
    static int number;

    site_submit(job, ++number, &told);
    site_until(&told, 1);
    return told;
}

void site_submit_ok(struct adapter_job job, int number)
{
    struct told told;

    site_submit(job, number, &told);
    site_until(&told, 1);
    if (told.answer != ADAPTER_OK)
        fail_msg("answer %d: %s", (int)told.answer, told.text);
}

static void ask(const struct site_known *known, size_t n, bool is_find, struct told *told)
{
    struct adapter_job jobs[TOLD_MAX] = {0};
    struct naming namings[TOLD_MAX];

    for (size_t i = 0; i < n; i++) {
        name_job(&jobs[i], known[i].number, &namings[i]);
        jobs[i].scheduler_id = known[i].id;
        jobs[i].submitted_ms = known[i].submitted_ms;
    }
    *told = (struct told){0};
    (is_find ? site.ops->find : site.ops->poll)(site.a, jobs, n, polled, told);
    assert_int_equal(told->answers, 0);
}

void site_poll(const struct site_known *known, size_t n, struct told *told)
{
    ask(known, n, false, told);
}

void site_find(const struct site_known *known, size_t n, struct told *told)
{
    ask(known, n, true, told);
}

struct adapter_status site_status(int number, const char *id)
{
    const struct site_known job = {number, id, 1};
    struct told told;

    site_poll(&job, 1, &told);
    site_until(&told, 1);
    if (told.answer != ADAPTER_OK)
        fail_msg("answer %d: %s", (int)told.answer, told.text);
    return told.statuses[0];
}

void site_cancel(int number, int64_t grace_ms, struct told *told)
{
    struct adapter_job job = {.grace_ms = grace_ms};
    struct naming naming;

    name_job(&job, number, &naming);
    *told = (struct told){0};
    site.ops->cancel(site.a, &job, done, told);
    assert_int_equal(told->answers, 0);
}

void site_signal(int number, int sig, struct told *told)
{
    struct adapter_job job = {0};
    struct naming naming;

    name_job(&job, number, &naming);
    *told = (struct told){0};
    site.ops->signal(site.a, &job, sig, done, told);
    assert_int_equal(told->answers, 0);
}

void site_withdraw(int number, const char *id, struct told *told)
{
    struct adapter_job job = {0};
    struct naming naming;

    name_job(&job, number, &naming);
    *told = (struct told){0};
    site.ops->withdraw(site.a, job.name, id, done, told);
    assert_int_equal(told->answers, 0);
}

static void too_late(uv_timer_t *guard)
{
    has_waited_in_vain = true;
}

void site_until(const struct told *told, unsigned answers)
{
    unsigned left = alarm(wait_s() + 5); /* for an adapter that keeps the loop from turning */

    uv_timer_start(&site.guard, too_late, (uint64_t)wait_s() * 1000, 0);
    while (told->answers < answers && uv_is_active((uv_handle_t *)&site.guard))
        uv_run(&site.loop, UV_RUN_ONCE);
    uv_timer_stop(&site.guard);
    alarm(left);
    if (told->answers < answers)
        fail_msg("no answer of the adapter within its time");
    assert_int_equal(told->answers, answers);
}

static json_t *options_of(const char *words)
{
    json_t *list = json_array();

    for (size_t n; *words != '\0'; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        json_array_append_new(list, json_stringn(words, n));
    }
    return list;
}

static void check_one(const struct site_options *one, int rc, const struct error *why, const char *who)
{
    char pointer[40];

    snprintf(pointer, sizeof pointer, "/extra/%d", one->refused);
    if (rc != (one->refused < 0 ? 0 : -1))
        fail_msg("%s %s %s: %s", who, rc == 0 ? "takes" : "refuses", one->words, why->text);
    if (rc < 0)
        assert_string_equal(why->pointer, pointer);
}

void site_check_options(const struct adapter_ops *ops, json_t *config, const struct site_options *cases, size_t n)
{
    struct adapter_host host = {.loop = &site.loop, .runner = "/bin/sh"};
    struct adapter_resources want = site_plain;
    struct error why = {0};

    json_decref(site.config);
    site.config = json_deep_copy(config);
    site_begin(ops);
    for (size_t i = 0; i < n; i++) {
        json_t *extra = options_of(cases[i].words), *all = json_deep_copy(config);

        want.extra = extra;
        check_one(&cases[i], ops->check(site.a, &want, &why), &why, "a spec");
        json_object_set(all, "extra", extra);
        host.config = all;
        if (cases[i].refused >= 0)
            check_one(&cases[i], ops->create(&host, &why) == NULL ? -1 : 0, &why, "the configuration");
        json_decref(all);
        json_decref(extra);
    }
    json_decref(config);
}
