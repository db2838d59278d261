/* The control messages that the daemon accepts, and their effects. */
#include "common/log.h"
#include "daemon/control.h"
#include "tasks/proto/control.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

static char dir[64];

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

static struct control *control;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int runner;
static bool as_another_user;

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

uid_t __wrap_geteuid(void)
{
    return __real_geteuid() + as_another_user;
}

static void open_control(const char *name)
{
    assert_int_equal(uv_loop_init(&loop), 0);
    n_looks = 0;
    told[0] = '\0';
    strcpy(address.sun_path, in_dir(name));
    assert_int_equal(control_open(&control, &loop, address.sun_path, engine, &err), 0);
    runner = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(connect(runner, (struct sockaddr *)&address, sizeof address), 0);
}

static void close_control(void)
{
    close(runner);
    control_close(control);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(access(address.sun_path, F_OK), -1);
}

static void say(const char *job, enum control_what what)
{
    char text[CONTROL_MESSAGE_MAX];

    assert_true(send(runner, text, control_build(text, job, what), 0) > 0);
}

static void say_raw(size_t size)
{
    char text[5000];

    memset(text, ' ', sizeof text);
    assert_int_equal(send(runner, text, size, 0), (int)size);
}

static uint64_t all_counted(void)
{
    const struct control_counts *counts = control_counts(control);

    return counts->taken + counts->other_user + counts->malformed;
}

#define UNTIL(condition) TEST_UNTIL(condition, (uv_run(&loop, UV_RUN_NOWAIT), usleep(500)))

/* Each kind of message makes the engine look where it tells of news. */
static void messages_of_a_job_make_the_engine_look(void **state)
{
    open_control("control.sock");
    for (enum control_what what = CONTROL_CLAIM; what <= CONTROL_ENDPOINT; what++) {
        say("st-1-7", what);
        UNTIL(n_looks > (int)what);
    }
    assert_string_equal(told, "st-1-7:records st-1-7:records st-1-7:records st-1-7:stream st-1-7:stream st-1-7:stream st-1-7:stream ");
    assert_int_equal(control_counts(control)->taken, 7);
    assert_int_equal(all_counted(), 7);
    close_control();
}

/* Anything else is counted and goes no further, however long it is. */
static void garbage_is_dropped(void **state)
{
    static const size_t sizes[] = {0, 3, CONTROL_MESSAGE_MAX, 4000};

    open_control("control.sock");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        say_raw(sizes[i]);
    say("st-1-8", CONTROL_EXIT);
    UNTIL(n_looks == 1);
    assert_string_equal(told, "st-1-8:records ");
    assert_int_equal(control_counts(control)->malformed, 4);
    assert_int_equal(control_counts(control)->taken, 1);
    assert_int_equal(all_counted(), 5);
    close_control();
}

static void another_user_is_not_believed(void **state)
{
    open_control("control.sock");
    as_another_user = true;
    say("st-1-7", CONTROL_EXIT);
    UNTIL(all_counted() == 1);
    as_another_user = false;
    say("st-1-8", CONTROL_EXIT);
    UNTIL(n_looks == 1);
    assert_string_equal(told, "st-1-8:records ");
    assert_int_equal(control_counts(control)->other_user, 1);
    assert_int_equal(control_counts(control)->taken, 1);
    close_control();
}

static int count_descriptors(void)
{
    DIR *open_ones = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(open_ones) != NULL)
        n++;
    closedir(open_ones);
    return n;
}

/* Descriptors that come with a message do not stay open. */
static void descriptors_are_not_taken(void **state)
{
    char text[CONTROL_MESSAGE_MAX];
    struct iovec iov = {.iov_base = text, .iov_len = control_build(text, "st-1-7", CONTROL_EXIT)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } ancillary = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    int before;

    open_control("control.sock");
    memcpy(CMSG_DATA(&ancillary.header), &(int){0}, sizeof(int));
    before = count_descriptors();
    assert_int_equal(sendmsg(runner, &msg, 0), (int)iov.iov_len);
    UNTIL(n_looks == 1);
    assert_int_equal(count_descriptors(), before);
    close_control();
}

/* Many messages take some turns, and then the loop rests: nothing keeps it busy. */
static void many_messages_take_some_turns(void **state)
{
    enum { MANY = 600 };
    char text[CONTROL_MESSAGE_MAX];
    size_t size = control_build(text, "st-1-7", CONTROL_STATUS);
    int sent = 0;

    open_control("control.sock");
    for (int64_t until = test_clock_s() + test_wait_s(); n_looks < MANY && test_clock_s() < until;) {
        int before = n_looks;

        while (sent < MANY && send(runner, text, size, MSG_DONTWAIT) > 0)
            sent++;
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_true(n_looks - before <= 256); /* others have their turns between */
    }
    assert_int_equal(n_looks, MANY);
    UNTIL(uv_backend_timeout(&loop) != 0);
    close_control();
}

/* A socket that a killed daemon has left is replaced. */
static void a_stale_socket_is_replaced(void **state)
{
    struct sockaddr_un left = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    strcpy(left.sun_path, in_dir("control.sock"));
    assert_int_equal(bind(fd, (struct sockaddr *)&left, sizeof left), 0);
    close(fd);
    open_control("control.sock");
    say("st-1-7", CONTROL_EXIT);
    UNTIL(n_looks == 1);
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
    assert_int_equal(control_open(&control, &loop, path, engine, &err), -1);
    assert_string_equal(err.code, "path_too_long");
    path[longest] = '\0';
    assert_int_equal(control_open(&control, &loop, path, engine, &err), 0);
    control_close(control);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(control_open(&control, &loop, in_dir("no/control.sock"), engine, &err), -1);
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
    for (uint64_t i = 1; i <= 50; i++) {
        say_raw(3);
        UNTIL(all_counted() == i);
    }
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
        cmocka_unit_test(messages_of_a_job_make_the_engine_look),
        cmocka_unit_test(garbage_is_dropped),
        cmocka_unit_test(another_user_is_not_believed),
        cmocka_unit_test(descriptors_are_not_taken),
        cmocka_unit_test(many_messages_take_some_turns),
        cmocka_unit_test(a_stale_socket_is_replaced),
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
