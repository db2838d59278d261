/* Parts of the daemon that need no engine: the adapters with their settings, the log's file, how long the loop is busy,
 * which Python trainings have, and the checkpoint that one training takes over from another. */
#include "common/log.h"
#include "daemon/adapters.h"
#include "daemon/loop_latency.h"
#include "daemon/rundir/adopt.h"
#include "scheduler-adapters/plugin.h"
#include "scheduler-adapters/registry.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char dir[64];
static uv_loop_t loop;
static struct error err;

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : uv_loop_init(&loop);
}

static int tear_down(void **state)
{
    char rm[128];

    uv_run(&loop, UV_RUN_DEFAULT);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return uv_loop_close(&loop) == 0 ? system(rm) : -1; /* a handle that is left is never freed */
}

static const char *in_dir(const char *name)
{
    static char paths[4][256];
    static int i;

    i = (i + 1) % 4;
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    return paths[i];
}

static void write_file(const char *name, mode_t mode, const char *text)
{
    FILE *file = fopen(in_dir(name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(in_dir(name), mode), 0);
}

static const char *text_of(const char *name)
{
    static char text[8192];
    FILE *file = fopen(in_dir(name), "r");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

    text[n] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

/* What the engine is told, one word after another. */
static struct engine *const engine = (struct engine *)dir;
static char told[4096];

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
    size_t n = strlen(told);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(told + n, sizeof told - n, fmt, ap);
    va_end(ap);
}

static void is_told(const char *expected)
{
    assert_string_equal(told, expected);
    told[0] = '\0';
}

void engine_poke(struct engine *of, const struct adapter *adapter)
{
    assert_ptr_equal(of, engine);
    note("poke %s ", (const char *)adapter);
}

void engine_duplicate(struct engine *of, const struct adapter *adapter, const char *name, const char *scheduler_id)
{
    assert_ptr_equal(of, engine);
    note("duplicate %s %s %s ", (const char *)adapter, name, scheduler_id);
}

void engine_add_adapter(struct engine *of, const struct adapter_ops *ops, struct adapter *adapter, int64_t max_jobs)
{
    assert_ptr_equal(of, engine);
    note("add %s %s %lld ", ops->name, (const char *)adapter, (long long)max_jobs);
}

/* Adapters. */
static json_t *settings_of[3]; /* what each was given */
static struct adapter_host hosts[3];
static bool fails_to_create, name_is_taken;

static struct adapter *create(size_t i, const struct adapter_host *host, struct error *e)
{
    static char names[][4] = {"A", "B", "C"};

    hosts[i] = *host;
    json_decref(settings_of[i]);
    settings_of[i] = json_deep_copy(host->config);
    if (i == 2 && fails_to_create) {
        error_at(e, "x", "/tool", "no such tool");
        return NULL;
    }
    return (struct adapter *)(void *)names[i];
}

static struct adapter *create_0(const struct adapter_host *host, struct error *e)
{
    return create(0, host, e);
}

static struct adapter *create_1(const struct adapter_host *host, struct error *e)
{
    return create(1, host, e);
}

static struct adapter *create_2(const struct adapter_host *host, struct error *e)
{
    return create(2, host, e);
}

static void destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    note("destroy %s ", (const char *)a);
    done(arg);
}

static const struct adapter_setting known[] = {{"slots", "", ""}, {"tool", "", ""}, {NULL, NULL, NULL}};
static const struct adapter_ops one = {.name = "one", .settings = known, .create = create_0, .destroy = destroy};
static const struct adapter_ops two = {.name = "two", .create = create_1, .destroy = destroy};
static const struct adapter_ops three = {.name = "three", .settings = known, .create = create_2, .destroy = destroy};
static const struct adapter_ops again = {.name = "two", .create = create_2, .destroy = destroy};
const struct adapter_ops *const adapter_registry[] = {&one, &two, NULL};

const struct adapter_ops *plugin_open(const char *path, struct error *e)
{
    assert_string_equal(path, in_dir("three.so"));
    return name_is_taken ? &again : &three;
}

char **plugin_list(const char *of, struct error *e)
{
    char **list = calloc(2, sizeof *list);

    assert_string_equal(of, in_dir("plugins"));
    assert_true(list != NULL && asprintf(&list[0], "%s", in_dir("three.so")) > 0);
    return list;
}

static struct adapters *adapters;
static struct config config;

static int create_adapters(const char *settings)
{
    told[0] = '\0';
    config = (struct config){.adapters = settings != NULL ? json_loads(settings, 0, NULL) : NULL,
                             .plugin_dir = (char *)in_dir("plugins"), .runner = (char *)"/usr/bin/run"};
    return adapters_create(&adapters, &loop, &config, engine, &err);
}

static void destroy_adapters(void)
{
    adapters_destroy(adapters);
    adapters_free(adapters);
    json_decref(config.adapters);
    for (size_t i = 0; i < 3; i++) {
        json_decref(settings_of[i]);
        settings_of[i] = NULL;
    }
}

static void adapters_get_their_own_settings(void **state)
{
    mkdir(in_dir("plugins"), 0700);
    assert_int_equal(create_adapters("{\"one\": {\"slots\": 5, \"max_jobs\": 7}, \"three\": {\"max_jobs\": 1000000}}"), 0);
    is_told("add one A 7 add two B 0 add three C 1000000 ");
    assert_int_equal(json_object_size(settings_of[0]), 1); /* "max_jobs" is the daemon's */
    assert_int_equal(json_integer_value(json_object_get(settings_of[0], "slots")), 5);
    assert_null(settings_of[1]);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(config.adapters, "one"), "max_jobs")), 7);
    assert_true(hosts[0].loop == &loop && strcmp(hosts[0].runner, "/usr/bin/run") == 0);
    assert_int_equal(adapters_count(adapters), 3);
    assert_string_equal(adapters_name(adapters, 1), "two");
    assert_null(adapters_path(adapters, 1));
    assert_string_equal(adapters_name(adapters, 2), "three");
    assert_string_equal(adapters_path(adapters, 2), in_dir("three.so"));
    assert_null(adapters_refused(adapters)->path);
    hosts[1].poke(hosts[1].arg);
    hosts[2].duplicate(hosts[2].arg, "st-1-7", "123");
    is_told("poke B duplicate C st-1-7 123 ");
    destroy_adapters();
    is_told("destroy C destroy B destroy A ");
}

/* What an adapter says is in the log at its level, with the job that it is about. */
static void what_adapters_say_is_logged(void **state)
{
    static const enum adapter_log levels[] = {ADAPTER_LOG_ERROR, ADAPTER_LOG_WARN, ADAPTER_LOG_INFO,
                                              (enum adapter_log)3};
    static const char *const names[] = {"error", "warning", "info", "info"};
    char *line, *rest;

    assert_int_equal(create_adapters(NULL), 0);
    log_init("parts", LOG_LEVEL_INFO);
    assert_int_equal(log_open(in_dir("log"), LOG_JSON, &err), 0);
    for (int i = 0; i < 4; i++)
        hosts[0].log(hosts[0].arg, levels[i], i % 2 ? "st-1-7" : NULL, "so");
    rest = (char *)text_of("log");
    for (int i = 0; i < 4; i++) {
        json_t *entry;

        line = strsep(&rest, "\n");
        entry = json_loads(line, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(entry, "level")), names[i]);
        assert_string_equal(json_string_value(json_object_get(entry, "adapter")), "one");
        assert_true(i % 2 ? strcmp(json_string_value(json_object_get(entry, "job")), "st-1-7") == 0
                          : json_object_get(entry, "job") == NULL);
        json_decref(entry);
    }
    log_close();
    log_init("parts", LOG_LEVEL_NONE);
    destroy_adapters();
}

/* Keeps the loop from waiting. */
static void nothing(uv_idle_t *idle)
{
}

/* How long turns are. */
static uint64_t clock_ns, idle_ns;

uint64_t uv_hrtime(void)
{
    return clock_ns;
}

uint64_t uv_metrics_idle_time(uv_loop_t *of)
{
    return idle_ns;
}

static void a_turn_takes_what_the_loop_did_not_wait(void **state)
{
    struct loop_latency *latency;
    const struct loop_latency_counts *counts;
    uv_idle_t busy;
    uint64_t sum = 0;

    clock_ns = 1000000000;
    idle_ns = 500;
    latency = loop_latency_create(&loop);
    assert_int_equal(uv_loop_alive(&loop), 0);
    uv_idle_init(&loop, &busy);
    uv_idle_start(&busy, nothing);
    counts = loop_latency_counts(latency);
    for (int i = 0; i <= LOOP_LATENCY_BOUNDS; i++)
        for (int more = 0; more < 2; more++) {
            uint64_t ns = i < LOOP_LATENCY_BOUNDS ? (uint64_t)(loop_latency_bounds[i] * 1e9) : 2000000000;
            int at = more && i < LOOP_LATENCY_BOUNDS ? i + 1 : i;
            uint64_t before = counts->within[at];

            ns += (uint64_t)more;
            clock_ns += 7000000 + ns;
            idle_ns += 7000000;
            uv_run(&loop, UV_RUN_NOWAIT);
            sum += ns;
            assert_int_equal(counts->within[at], before + 1);
        }
    assert_int_equal(counts->n, 2 * (LOOP_LATENCY_BOUNDS + 1));
    assert_true(counts->ns == sum);
    clock_ns += 10;
    idle_ns += 11; /* the two clocks are not read at once */
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(counts->ns == sum && counts->n == 2 * (LOOP_LATENCY_BOUNDS + 1) + 1);
    uv_close((uv_handle_t *)&busy, NULL);
    loop_latency_destroy(latency);
    loop_latency_destroy(NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
}

/* A checkpoint that is taken over. */
static bool cannot_link;

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (cannot_link) {
        errno = EXDEV;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

static ino_t inode_of(const char *name)
{
    struct stat st;

    return lstat(in_dir(name), &st) == 0 ? st.st_ino : 0;
}

static void the_programs_state_is_taken_over(void **state)
{
    enum { LARGE = 1300000 }; /* more than is copied at once */
    char *large = malloc(LARGE + 1), *copy = malloc(LARGE + 1);
    static const char *const rest[] = {"from/rank0.bin", "from/held-rank0", "from/.json", "from/books.json", "from/state-ran0"};
    FILE *file;
    struct stat st;

    assert_true(large != NULL && copy != NULL);
    for (int i = 0; i < LARGE; i++)
        large[i] = (char)('a' + i % 23);
    large[LARGE] = '\0';
    mkdir(in_dir("from"), 0700);
    mkdir(in_dir("from/state-rank1"), 0700);
    mkdir(in_dir("from/state-rank1/sub"), 0700);
    write_file("from/state-rank0", 0644, large);
    write_file("from/state-rank1/model.json", 0600, "model");
    write_file("from/state-rank1/sub/rank", 0600, "deep");
    write_file("from/rank0.json", 0600, "{}");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        write_file(rest[i], 0600, "x");

    for (int copied = 0; copied < 2; copied++) {
        const char *to = copied ? "copied" : "linked";
        char name[64];

        cannot_link = copied;
        assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir(to), &err), 0);
        cannot_link = false;
        snprintf(name, sizeof name, "%s/state-rank0", to);
        assert_int_equal(inode_of(name) == inode_of("from/state-rank0"), !copied);
        assert_int_equal(stat(in_dir(name), &st), 0);
        assert_int_equal(st.st_size, LARGE);
        assert_int_equal(st.st_mode & 0777, copied ? 0600 : 0644);
        file = fopen(in_dir(name), "r");
        assert_int_equal(fread(copy, 1, LARGE, file), LARGE);
        fclose(file);
        assert_memory_equal(copy, large, LARGE);
        snprintf(name, sizeof name, "%s/state-rank1/sub/rank", to);
        assert_string_equal(text_of(name), "deep");
        snprintf(name, sizeof name, "%s/state-rank1/model.json", to);
        assert_string_equal(text_of(name), "model");
        snprintf(name, sizeof name, "%s/rank0.json", to);
        assert_string_equal(text_of(name), "{}");
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
            snprintf(name, sizeof name, "%s/%s", to, strchr(rest[i], '/') + 1);
            assert_int_not_equal(access(in_dir(name), F_OK), 0);
        }
        snprintf(name, sizeof name, "%s.part", to);
        assert_int_not_equal(access(in_dir(name), F_OK), 0);
    }
    free(large);
    free(copy);
}

/* Once it is there it stays as it is; what a daemon that was killed has begun is gone on with; and what fails leaves
 * nothing that ranks would take for a checkpoint. */
static void taking_over_is_all_or_nothing(void **state)
{
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("to"), &err), 0); /* the other one is gone */
    assert_int_not_equal(access(in_dir("to"), F_OK), 0);
    mkdir(in_dir("from"), 0700);
    mkdir(in_dir("to"), 0700);
    write_file("from/state-rank0", 0600, "a");
    write_file("from/state-rank1", 0600, "b");
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("to"), &err), 0);
    assert_int_not_equal(access(in_dir("to/state-rank0"), F_OK), 0);

    mkdir(in_dir("next.part"), 0700);
    assert_int_equal(link(in_dir("from/state-rank0"), in_dir("next.part/state-rank0")), 0);
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("next"), &err), 0);
    assert_string_equal(text_of("next/state-rank0"), "a");
    assert_string_equal(text_of("next/state-rank1"), "b");

    assert_int_equal(symlink("nowhere", in_dir("from/state-rank2")), 0);
    cannot_link = true;
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("third"), &err), -1);
    assert_string_equal(err.code, "run_dir");
    assert_int_not_equal(access(in_dir("third"), F_OK), 0);
    cannot_link = false;
    write_file("file", 0600, "");
    assert_int_equal(adopt_checkpoint(in_dir("file"), in_dir("fourth"), &err), -1);
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("file/fifth"), &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(adapters_get_their_own_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_adapters_say_is_logged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_turn_takes_what_the_loop_did_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_programs_state_is_taken_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(taking_over_is_all_or_nothing, set_up, tear_down),
    };

    test_limit(60);
    log_init("parts", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
