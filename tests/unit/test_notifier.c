/* A pilot's nudges come from another process, so that the pilot itself has no threads; whatever becomes of either,
 * nobody waits. */
#include "tasks/runner/notifier.h"

#include "tasks/proto/control.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#define KEY "0123456789abcdef0123456789abcdef"
#define LONG_S 60 /* for what comes */

static char dir[64], endpoint[96];
static int heard; /* what the daemon hears: a message for each frame */
static pid_t daemon_pid;

/* libzmq's threads are not to be in the process that forks. */
static void be_daemon(int out)
{
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PULL);
    char frame[CONTROL_MESSAGE_MAX];
    int n = zmq_bind(socket, endpoint);

    while (send(out, frame, (size_t)n, MSG_NOSIGNAL) == n)
        n = zmq_recv(socket, frame, sizeof frame, 0);
    _exit(1);
}

static int listen_as_daemon(void **state)
{
    struct timeval limit = {.tv_sec = LONG_S};
    int ends[2];

    strcpy(dir, "/tmp/test_notifier-XXXXXX");
    if (mkdtemp(dir) == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/control", dir);
    daemon_pid = fork();
    if (daemon_pid == 0)
        be_daemon(ends[1]);
    close(ends[1]);
    heard = ends[0];
    setsockopt(heard, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return recv(heard, &(char){0}, 1, 0) < 0 ? -1 : 0; /* an empty one: it listens */
}

static int listen_no_more(void **state)
{
    char path[96];

    close(heard);
    kill(daemon_pid, SIGKILL);
    waitpid(daemon_pid, NULL, 0);
    snprintf(path, sizeof path, "%s/control", dir);
    unlink(path);
    return rmdir(dir);
}

static void is_no_child(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void hear_a_nudge(void)
{
    char frame[CONTROL_MESSAGE_MAX];
    ssize_t n = recv(heard, frame, sizeof frame, 0);
    struct control_message message;
    struct error err;

    assert_true(n > 0);
    assert_int_equal(control_parse(frame, (size_t)n, &message, &err), 0);
    assert_string_equal(message.job, "st-1-2");
    assert_string_equal(message.key, KEY);
    assert_int_equal(message.what, CONTROL_EXIT);
}

static void a_nudge_reaches_the_daemon(void **state)
{
    struct notifier n;
    pid_t pid;

    notifier_start(&n, endpoint, "st-1-2", KEY);
    pid = n.pid;
    assert_true(pid > 0);
    notifier_nudge(&n);
    hear_a_nudge();
    notifier_nudge(&n); /* and one of just before the end */
    notifier_end(&n);
    hear_a_nudge();
    assert_int_equal(n.pid, 0);
    is_no_child(pid);
}

/* As many as there may be: whoever says them does not wait for the notifier. */
static void nudges_never_wait(void **state)
{
    struct notifier n;
    pid_t pid;

    notifier_start(&n, endpoint, "st-1-2", KEY);
    pid = n.pid;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (int i = 0; i < 1000000; i++)
        notifier_nudge(&n);
    assert_int_equal(kill(pid, SIGCONT), 0);
    hear_a_nudge();
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (send(n.fd, "", 1, MSG_NOSIGNAL) == 1) /* until it is dead */
        ;
    notifier_nudge(&n);
    notifier_end(&n);
    is_no_child(pid);
}

/* Where nobody listens, or somebody has stopped it, the pilot ends all the same. */
static void an_end_is_not_waited_for_long(void **state)
{
    struct notifier n;
    pid_t pid;

    notifier_start(&n, "ipc:///nowhere/at/all", "st-1-2", KEY);
    notifier_nudge(&n);
    pid = n.pid;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    notifier_end(&n);
    is_no_child(pid);
    notifier_start(&n, NULL, "st-1-2", KEY);
    assert_int_equal(n.pid, 0);
    notifier_nudge(&n);
    notifier_end(&n);
}

static unsigned threads_of(pid_t pid)
{
    char path[40];
    unsigned n = 0;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(tasks);
    return n;
}

/* A pilot that is killed takes it along. */
static void it_goes_with_its_pilot(void **state)
{
    struct notifier n;
    int told[2];
    pid_t pilot, notifier;
    char byte;

    assert_int_equal(pipe(told), 0); /* which the notifier has as well: its end is the end of the file */
    if ((pilot = fork()) == 0) {
        close(told[0]);
        notifier_start(&n, endpoint, "st-1-2", KEY);
        notifier_nudge(&n);
        if (write(told[1], &n.pid, sizeof n.pid) != sizeof n.pid)
            _exit(1);
        for (;;)
            pause();
    }
    close(told[1]);
    assert_int_equal(read(told[0], &notifier, sizeof notifier), sizeof notifier);
    hear_a_nudge();
    assert_int_equal(threads_of(pilot), 1);
    assert_true(threads_of(notifier) > 1);
    assert_int_equal(kill(pilot, SIGKILL), 0);
    assert_int_equal(read(told[0], &byte, 1), 0);
    close(told[0]);
    assert_int_equal(waitpid(pilot, NULL, 0), pilot);
}

#define WITH_DAEMON(test) cmocka_unit_test_setup_teardown(test, listen_as_daemon, listen_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DAEMON(a_nudge_reaches_the_daemon),
        WITH_DAEMON(nudges_never_wait),
        WITH_DAEMON(an_end_is_not_waited_for_long),
        WITH_DAEMON(it_goes_with_its_pilot),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
