/* The settings and the machine of the local adapter, and which jobs fit there. */
#include "common/log.h"
#include "scheduler-adapters/local.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static uv_loop_t loop;
static int n_devices; /* /dev/nvidia0 and so on */

/* In place of the C library's. */
int access(const char *path, int mode)
{
    __typeof__(&access) next = (__typeof__(&access))dlsym(RTLD_NEXT, "access");

    if (strncmp(path, "/dev/nvidia", 11) == 0)
        return atoi(path + 11) < n_devices ? 0 : -1;
    return next(path, mode);
}

static int open_all(void **state)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    n_devices = 0;
    return uv_loop_init(&loop);
}

static int close_all(void **state)
{
    return uv_loop_close(&loop);
}

static struct adapter *create(const char *config, struct error *err)
{
    json_t *root = config != NULL ? json_loads(config, 0, NULL) : NULL;
    struct adapter_host host = {.loop = &loop, .runner = "/bin/false", .config = root};
    unsigned left = alarm(test_wait_s());
    struct adapter *a;

    assert_true((config == NULL) == (root == NULL));
    *err = (struct error){0};
    a = ops->create(&host, err);
    alarm(left);
    json_decref(root);
    return a;
}

static void gone(void *arg)
{
    *(bool *)arg = true;
}

static void destroy(struct adapter *a)
{
    bool is_gone = false;

    ops->destroy(a, gone, &is_gone);
    TEST_UNTIL(is_gone, uv_run(&loop, UV_RUN_ONCE));
}

static struct adapter *create_ok(const char *config)
{
    struct error err;
    struct adapter *a = create(config, &err);

    if (a == NULL)
        fail_msg("%s: %s", config, err.text);
    return a;
}

static void assert_refused(const char *config, const char *pointer)
{
    struct error err;

    if (create(config, &err) != NULL)
        fail_msg("it is accepted: %s", config);
    assert_string_equal(err.pointer, pointer);
    assert_true(err.text[0] != '\0');
}

static void settings_are_taken(void **state)
{
    struct adapter *a = create_ok("{\"slots\": 7, \"memory\": \"3MiB\", \"stopped\": \"1s\", \"gpus\": 2}");

    assert_true(ops->same_host && ops->hands_over && ops->exact && ops->withdraw == NULL);
    assert_int_equal(ops->slots(a), 7);
    assert_true(a->have.slots == 7 && a->have.memory == 3 << 20 && a->stopped_ms == 1000 && a->have.gpus == 2);
    assert_string_equal(a->gpus[0].id, "0");
    assert_string_equal(a->gpus[1].id, "1");
    destroy(a);
    for (int i = 0; i < 2; i++) {
        a = create_ok(i == 0 ? NULL : "{}"); /* the defaults */
        assert_true(a->have.slots >= 2 && a->have.gpus == 0);
        assert_true(a->have.memory == local_machine_memory(""));
        assert_true(a->stopped_ms == 300000);
        destroy(a);
    }
}

static void bounds_are_kept(void **state)
{
    static const char *const fine[] = {"{\"slots\": 1}", "{\"slots\": 1000000}", "{\"gpus\": 0}", "{\"gpus\": 200}", "{\"gpus\": []}"};

    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        destroy(create_ok(fine[i]));
    assert_refused("{\"slots\": 0}", "/slots");
    assert_refused("{\"slots\": 1000001}", "/slots");
    assert_refused("{\"gpus\": -1}", "/gpus");
    assert_refused("{\"gpus\": 1025}", "/gpus");
    assert_refused("{\"stopped\": \"999ms\"}", "/stopped");
    assert_refused("{\"memory\": -1}", "/memory");
    assert_refused("{\"cpus\": 1}", "/cpus");
}

static char *list_of(int n, int length, char first)
{
    char *text = calloc((size_t)n * (size_t)(length + 12) + 40, 1), *at = text + sprintf(text, "{\"gpus\": [");

    for (int i = 0; i < n; i++)
        at += sprintf(at, "%s\"%c%0*d\"", i > 0 ? ", " : "", first, length - 1, i);
    sprintf(at, "]}");
    return text;
}

/* The ids of all are a text in the claim of a job that has all, with commas between. */
static void ids_are_short_enough_for_a_claim(void **state)
{
    static const struct {
        int n, length;
        const char *pointer; /* NULL: it is accepted */
    } cases[] = {{1, 63, NULL}, {1, 64, "/gpus/0"}, {16, 63, NULL}, {128, 7, NULL}, {129, 7, "/gpus"}, {17, 63, "/gpus"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = list_of(cases[i].n, cases[i].length, 'g');

        if (cases[i].pointer == NULL) {
            struct adapter *a = create_ok(text);

            assert_true(a->have.gpus == cases[i].n);
            destroy(a);
        } else {
            assert_refused(text, cases[i].pointer);
        }
        free(text);
    }
}

static void ids_are_words(void **state)
{
    assert_refused("{\"gpus\": [0, \"\"]}", "/gpus/1");
    assert_refused("{\"gpus\": [\"a b\"]}", "/gpus/0");
    assert_refused("{\"gpus\": [\"a\\tb\"]}", "/gpus/0");
    assert_refused("{\"gpus\": [\"a\\nb\"]}", "/gpus/0");
    assert_refused("{\"gpus\": [\"a,b\"]}", "/gpus/0");
    assert_refused("{\"gpus\": [-1]}", "/gpus/0");
    assert_refused("{\"gpus\": [1.5]}", "/gpus/0");
    assert_refused("{\"gpus\": [null]}", "/gpus/0");
    assert_refused("{\"gpus\": [3, 4, \"3\"]}", "/gpus/2");
    assert_refused("{\"gpus\": \"3\"}", "/gpus");
    destroy(create_ok("{\"gpus\": [0, 1, \"GPU-1\"]}"));
}

/* Those of the machine, unless the daemon may see only some; a number is how many of them. */
static void gpus_of_the_machine_are_found(void **state)
{
    static const struct {
        int devices;
        const char *visible, *config, *ids; /* ids NULL: refused */
    } cases[] = {
        {0, NULL, "{}", ""},
        {1, NULL, "{}", "0"},
        {3, NULL, "{}", "0,1,2"},
        {12, NULL, "{}", "0,1,2,3,4,5,6,7,8,9,10,11"},
        {3, NULL, "{\"gpus\": 2}", "0,1"},
        {3, NULL, "{\"gpus\": 5}", "0,1,2,3,4"}, /* of another kind */
        {3, NULL, "{\"gpus\": 0}", ""},
        {3, NULL, "{\"gpus\": [5]}", "5"},
        {3, "7,GPU-5", "{}", "7,GPU-5"},
        {3, "7,GPU-5", "{\"gpus\": 2}", "7,GPU-5"},
        {3, "7,GPU-5", "{\"gpus\": 1}", "7"},
        {3, "7,GPU-5", "{\"gpus\": 3}", NULL},
        {3, "7,GPU-5", "{\"gpus\": 0}", ""},
        {3, "", "{}", ""},
        {3, "", "{\"gpus\": 1}", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char ids[200] = "";
        struct adapter *a;

        n_devices = cases[i].devices;
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (cases[i].visible != NULL)
            setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        if (cases[i].ids == NULL) {
            assert_refused(cases[i].config, "/gpus");
            continue;
        }
        a = create_ok(cases[i].config);
        for (int64_t k = 0; k < a->have.gpus; k++)
            snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%s", k > 0 ? "," : "", a->gpus[k].id);
        if (strcmp(ids, cases[i].ids) != 0)
            fail_msg("case %zu: %s", i, ids);
        destroy(a);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* All that there is may be asked for, and nothing more. */
static void a_job_may_have_all(void **state)
{
    struct adapter *a = create_ok("{\"slots\": 12, \"gpus\": 4, \"memory\": \"1000KiB\"}");
    static const struct {
        struct adapter_resources want;
        const char *pointer; /* "": it fits */
    } cases[] = {
        {{.nodes = 1, .tasks = 12, .cpus_per_task = 1, .copies = 1, .gpus = 4, .memory = 1000 << 10}, ""},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 12, .copies = 1}, ""},
        {{.nodes = 1, .tasks = 2, .cpus_per_task = 3, .copies = 2, .gpus = 2, .memory = 500 << 10}, ""},
        {{.nodes = 1, .tasks = 3, .cpus_per_task = 3, .copies = 2}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 13}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 13, .copies = 1}, "/cpus_per_task"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 3, .gpus = 2}, "/gpus"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .gpus = 5}, "/gpus"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 2, .memory = (500 << 10) + 1}, "/memory"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 4, .memory = INT64_MAX / 2}, "/memory"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 3, .memory = INT64_MAX / 3 + 1}, "/memory"},
        {{.nodes = 1, .tasks = 1000000, .cpus_per_task = 2, .copies = 1000000}, "/tasks"},
        {{.nodes = 2, .tasks = 1, .cpus_per_task = 1, .copies = 1}, "/nodes"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        int rc = ops->check(a, &cases[i].want, &err);

        if (rc != (cases[i].pointer[0] != '\0' ? -1 : 0) || strcmp(err.pointer, cases[i].pointer) != 0)
            fail_msg("case %zu: %s %s", i, err.pointer, err.text);
        assert_true(rc == 0 || strcmp(err.code, "resources_impossible") == 0);
    }
    destroy(a);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(settings_are_taken), CASE(bounds_are_kept), CASE(ids_are_short_enough_for_a_claim), CASE(ids_are_words),
        CASE(gpus_of_the_machine_are_found), CASE(a_job_may_have_all),
    };

    test_limit(60);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
