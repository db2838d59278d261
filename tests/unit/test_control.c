/* Whose word a control message is, and what the daemon makes of it. */
#include "common/log.h"
#include "daemon/control.h"
#include "daemon/control_key.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>
#include <zmq.h>

static char dir[64];

static struct store *must_open(void)
{
    struct store *store = NULL;
    struct error err;

    if (store_open(&store, dir, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static struct control_message say(const char *job, const char *key)
{
    struct control_message message = {.what = CONTROL_EXIT};

    snprintf(message.job, sizeof message.job, "%s", job);
    snprintf(message.key, sizeof message.key, "%s", key);
    return message;
}

static void a_key_is_good_for_its_own_job_only(void **state)
{
    struct store *store = must_open();
    char key[CONTROL_KEY_SIZE], other[CONTROL_KEY_SIZE];
    struct control_message message;

    control_key_make(store, "st-1-2", key);
    control_key_make(store, "st-1-3", other);
    assert_true(control_key_valid(key));
    assert_string_not_equal(key, other);
    message = say("st-1-2", key);
    assert_true(control_key_fits(store, &message));
    message = say("st-1-3", key);
    assert_false(control_key_fits(store, &message));
    message = say("st-1-2", "");
    assert_false(control_key_fits(store, &message));
    for (int i = 0; i < CONTROL_KEY_SIZE - 1; i++) { /* every digit counts */
        message = say("st-1-2", key);
        message.key[i] = message.key[i] == '0' ? '1' : '0';
        assert_false(control_key_fits(store, &message));
    }
    store_close(store);
}

static void a_restart_changes_no_key_and_another_database_has_others(void **state)
{
    struct store *store = must_open();
    char key[CONTROL_KEY_SIZE], again[CONTROL_KEY_SIZE], path[96];

    control_key_make(store, "st-1-2", key);
    store_close(store);
    store = must_open();
    control_key_make(store, "st-1-2", again);
    store_close(store);
    assert_string_equal(key, again);
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(unlink(path), 0);
    store = must_open();
    control_key_make(store, "st-1-2", again);
    store_close(store);
    assert_string_not_equal(key, again);
}

/* The socket: what the engine is told, one word after another. */
static struct engine *const engine = (struct engine *)dir;
static uv_loop_t loop;
static struct error err;
static char told[1024];
static int n_looks;

void engine_look(struct engine *of, const char *name, enum engine_look what)
{
    assert_ptr_equal(of, engine);
    n_looks++;
    if (n_looks < 20)
        snprintf(told + strlen(told), sizeof told - strlen(told), "%s:%s ", name,
                 what == ENGINE_LOOK_RECORDS ? "records" : "stream");
}

static const char *in_dir(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static struct store *store;
static struct control *control;
static void *context, *runner;

static void open_control(const char *name)
{
    char *endpoint;

    assert_int_equal(uv_loop_init(&loop), 0);
    n_looks = 0;
    told[0] = '\0';
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(control_open(&control, &loop, in_dir(name), engine, store, &err), 0);
    context = zmq_ctx_new();
    runner = zmq_socket(context, ZMQ_PUSH);
    zmq_setsockopt(runner, ZMQ_LINGER, &(int){0}, sizeof(int));
    assert_true(asprintf(&endpoint, "ipc://%s", in_dir(name)) > 0);
    assert_int_equal(zmq_connect(runner, endpoint), 0);
    free(endpoint);
}

static void close_control(void)
{
    zmq_close(runner);
    zmq_ctx_term(context);
    control_close(control);
    uv_run(&loop, UV_RUN_DEFAULT);
    store_close(store);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void say_as(const char *job, const char *key_of, enum control_what what)
{
    char text[CONTROL_MESSAGE_MAX], key[CONTROL_KEY_SIZE];

    control_key_make(store, key_of, key);
    assert_true(zmq_send(runner, text, control_build(text, job, key, what), 0) > 0);
}

static void say_raw(size_t size)
{
    char text[5000];

    memset(text, ' ', sizeof text);
    assert_int_equal(zmq_send(runner, text, size, 0), (int)size);
}

static uint64_t all_counted(void)
{
    const struct control_counts *counts = control_counts(control);

    return counts->taken + counts->wrong_key + counts->malformed;
}

#define UNTIL(condition) TEST_UNTIL(condition, (uv_run(&loop, UV_RUN_NOWAIT), usleep(500)))

/* Each kind of message makes the engine look where it tells of news. */
static void messages_of_a_job_make_the_engine_look(void **state)
{
    open_control("control.sock");
    for (enum control_what what = CONTROL_CLAIM; what <= CONTROL_ENDPOINT; what++) {
        say_as("st-1-7", "st-1-7", what);
        UNTIL(n_looks > (int)what);
    }
    assert_string_equal(told, "st-1-7:records st-1-7:records st-1-7:records st-1-7:stream st-1-7:stream st-1-7:stream st-1-7:stream ");
    assert_int_equal(control_counts(control)->taken, 7);
    assert_int_equal(all_counted(), 7);
    close_control();
}

/* What is no message of that job is counted and goes no further, however long it is. */
static void who_has_no_key_is_not_believed(void **state)
{
    open_control("control.sock");
    say_as("st-1-7", "st-1-8", CONTROL_EXIT);
    say_raw(3);
    say_raw(CONTROL_MESSAGE_MAX);
    say_raw(4000);
    say_as("st-1-8", "st-1-8", CONTROL_EXIT);
    UNTIL(n_looks == 1);
    assert_string_equal(told, "st-1-8:records ");
    assert_int_equal(control_counts(control)->wrong_key, 1);
    assert_int_equal(control_counts(control)->malformed, 3);
    assert_int_equal(control_counts(control)->taken, 1);
    close_control();
}

/* More messages than one turn takes arrive all, and then the loop rests: nothing keeps it busy. */
static void many_messages_take_some_turns(void **state)
{
    enum { MANY = 600 };

    open_control("control.sock");
    for (int i = 0; i < MANY; i++)
        say_as("st-1-7", "st-1-7", CONTROL_STATUS);
    for (int64_t until = test_clock_s() + test_wait_s(); n_looks < MANY && test_clock_s() < until;) {
        int before = n_looks;

        uv_run(&loop, UV_RUN_NOWAIT);
        assert_true(n_looks - before <= 512); /* others have their turns between; reading and the rest share one */
    }
    assert_int_equal(n_looks, MANY);
    UNTIL(uv_backend_timeout(&loop) != 0);
    close_control();
}

static void a_socket_that_cannot_be_is_refused(void **state)
{
    char path[200];
    size_t longest = sizeof((struct sockaddr_un *)0)->sun_path - 1;

    assert_int_equal(uv_loop_init(&loop), 0);
    memset(path, 'x', sizeof path);
    memcpy(path, in_dir(""), strlen(in_dir("")));
    path[longest + 1] = '\0';
    assert_int_equal(control_open(&control, &loop, path, engine, NULL, &err), -1);
    assert_string_equal(err.code, "path_too_long");
    path[longest] = '\0';
    assert_int_equal(control_open(&control, &loop, path, engine, NULL, &err), 0);
    control_close(control);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(control_open(&control, &loop, in_dir("no/control.sock"), engine, NULL, &err), -1);
    assert_string_equal(err.code, "control_bind");
    control_close(NULL);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Many who are not believed make one line of the log. */
static void refusals_do_not_fill_the_log(void **state)
{
    char text[4096], *line;
    FILE *log;
    size_t n;

    log_init("control", LOG_LEVEL_DEBUG); /* the log itself leaves nothing out then */
    assert_int_equal(log_open(in_dir("log"), LOG_TEXT, &err), 0);
    open_control("control.sock");
    for (int i = 0; i < 50; i++)
        say_as("st-1-7", "st-1-8", CONTROL_EXIT);
    UNTIL(all_counted() == 50);
    close_control();
    log = fopen(in_dir("log"), "r");
    assert_non_null(log);
    n = fread(text, 1, sizeof text - 1, log);
    fclose(log);
    text[n] = '\0';
    line = strchr(text, '\n');
    assert_true(line != NULL && line[1] == '\0');
    log_close();
    log_init("control", LOG_LEVEL_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_good_for_its_own_job_only),
        cmocka_unit_test(a_restart_changes_no_key_and_another_database_has_others),
        cmocka_unit_test(messages_of_a_job_make_the_engine_look),
        cmocka_unit_test(who_has_no_key_is_not_believed),
        cmocka_unit_test(many_messages_take_some_turns),
        cmocka_unit_test(a_socket_that_cannot_be_is_refused),
        cmocka_unit_test(refusals_do_not_fill_the_log),
    };
    char rm[128];
    int rc;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    test_limit(60);
    log_init("control", LOG_LEVEL_NONE);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}
