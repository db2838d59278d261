/* What systemd is told, in virtual time. */
#include "common/log.h"
#include "daemon/notify.h"
#include "tests/unit/unit.h"
#include "tests/unit/virtual_uv.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[64], said[64];
static int fd;
static struct notify *notify;

static void status(void *arg, char *out, size_t size)
{
    snprintf(out, size, "%s", (const char *)arg);
}

/* A socket with a path, or without a file. */
static void listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    strcpy(address.sun_path, name);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] == '/'))), 0);
}

/* All datagrams that have come, one after another. */
static const char *heard(void)
{
    static char all[1000];
    char text[300];
    ssize_t n;

    all[0] = '\0';
    while ((n = recv(fd, text, sizeof text - 1, 0)) >= 0) {
        text[n] = '\0';
        strcat(strcat(all, all[0] ? " " : ""), text);
    }
    return all;
}

static void begin(const char *name, const char *watchdog, const char *pid)
{
    setenv("NOTIFY_SOCKET", name, 1);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    if (watchdog != NULL)
        setenv("WATCHDOG_USEC", watchdog, 1);
    if (pid != NULL)
        setenv("WATCHDOG_PID", pid, 1);
    notify = notify_create(NULL, status, said);
    /* children do not see them */
    assert_true(getenv("NOTIFY_SOCKET") == NULL && getenv("WATCHDOG_USEC") == NULL && getenv("WATCHDOG_PID") == NULL);
}

static void end(void)
{
    notify_destroy(notify);
    notify = NULL;
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    virtual_uv_begin(1000);
    strcpy(said, "one");
    fd = -1;
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char rm[128];

    end();
    close(fd);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void systemd_is_told_what_changes(void **state)
{
    char name[2][100];

    snprintf(name[0], sizeof name[0], "%s/notify", dir);
    snprintf(name[1], sizeof name[1], "@%s/notify", dir);
    for (int i = 0; i < 2; i++) {
        listen_at(name[i]);
        begin(name[i], NULL, NULL);
        virtual_uv_go_on(60000);
        assert_string_equal(heard(), ""); /* it is not ready yet */
        notify_ready(notify);
        assert_string_equal(heard(), "READY=1");
        virtual_uv_go_on(0);
        assert_string_equal(heard(), i == 0 ? "STATUS=one" : "STATUS=two");
        virtual_uv_go_on(60000);
        assert_string_equal(heard(), ""); /* nothing has changed, and nobody watches */
        strcpy(said, "two");
        virtual_uv_go_on(9999);
        assert_string_equal(heard(), "");
        virtual_uv_go_on(1);
        assert_string_equal(heard(), i == 0 ? "STATUS=two" : "");
        notify_stopping(notify);
        assert_string_equal(heard(), "STOPPING=1");
        end();
        close(fd);
    }
}

/* Who watches hears of it twice in the time that it waits. */
static void a_watchdog_is_fed_in_time(void **state)
{
    char name[100], own[32], other[32];
    const struct {
        const char *usec, *pid;
        uint64_t every_ms; /* 0: it is not fed */
    } cases[] = {{"3000000", NULL, 1500}, {"3000000", own, 1500}, {"3000000", other, 0}, {"0", NULL, 0}, {"-5", NULL, 0}, {"x", NULL, 0},
                 {"60000000", NULL, 10000}, {"2000", NULL, 1}, {"1999", NULL, 1}};

    snprintf(name, sizeof name, "%s/notify", dir);
    snprintf(own, sizeof own, "%d", (int)getpid());
    snprintf(other, sizeof other, "%d", (int)getpid() + 1);
    listen_at(name);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(name, cases[i].usec, cases[i].pid);
        notify_ready(notify);
        virtual_uv_go_on(0);
        assert_string_equal(heard(), cases[i].every_ms > 0 ? "READY=1 STATUS=one WATCHDOG=1" : "READY=1 STATUS=one");
        virtual_uv_go_on((cases[i].every_ms > 0 ? cases[i].every_ms : 100000) - 1);
        assert_string_equal(heard(), "");
        virtual_uv_go_on(1);
        assert_string_equal(heard(), cases[i].every_ms > 0 ? "WATCHDOG=1" : "");
        end();
    }
}

/* The daemon goes on where there is nobody. */
static void nobody_needs_to_listen(void **state)
{
    char name[200], *const none[] = {"relative", "", "/nowhere/at/all", "@nobody is here"};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        begin(none[i], "1000000", NULL);
        notify_ready(notify);
        virtual_uv_go_on(60000);
        notify_stopping(notify);
        end();
    }
    name[0] = '/';
    memset(name + 1, 'n', sizeof name - 2);
    name[sizeof name - 1] = '\0'; /* no address has room for it */
    begin(name, NULL, NULL);
    notify_ready(notify);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(systemd_is_told_what_changes), TEST(a_watchdog_is_fed_in_time),
                                       TEST(nobody_needs_to_listen)};

    log_init("notify", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
