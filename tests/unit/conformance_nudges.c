/* Runners tell the daemon where to look. */
#include "tasks/proto/control.h"
#include "tests/unit/conformance.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int bind_control(void)
{
    struct timeval limit = {.tv_sec = harness_wait_s()};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(h.control, sizeof h.control, "%s/control", h.dir);
    strcpy(address.sun_path, h.control);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void assert_nudge(int fd, const struct harness_job *job, enum control_what what)
{
    struct control_message message;
    struct error err;
    ssize_t n = recv(fd, line, sizeof line, 0);

    assert_true(n > 0);
    assert_int_equal(control_parse(line, (size_t)n, &message, &err), 0);
    assert_string_equal(message.job, job->name);
    assert_int_equal(message.what, what);
}

/* The runner is started as a batch system on another host would start it. */
void a_runner_nudges_where_to_look(void **state)
{
    struct harness_job job;
    pid_t runner;
    int fd = bind_control(), status;

    harness_job(&h, &job, "true", 0, 1);
    runner = fork();
    if (runner == 0) {
        execl(h.host.runner, h.host.runner, job.dir, (char *)NULL);
        _exit(127);
    }
    assert_nudge(fd, &job, CONTROL_CLAIM);
    assert_nudge(fd, &job, CONTROL_EXIT);
    assert_nudge(fd, &job, CONTROL_ENDED);
    assert_int_equal(waitpid(runner, &status, 0), runner);
    assert_int_equal(status, 0);
    close(fd);
}

/* Its start and its end are seen anyway: what is told is an end of a task after which it goes on. */
void a_runner_that_is_watched_nudges_only_for_news(void **state)
{
    struct harness_job quiet, leaving;
    int fd = bind_control();

    harness_job(&h, &quiet, "true", 0, 1);
    harness_submit_ok(&h, &quiet);
    harness_wait_ended(&h, &quiet);
    harness_job(&h, &leaving, "(trap '' TERM; echo ready > $FIFO; while :; do sleep 100; done) & read x < $DIR/go", 0, 1);
    snprintf(line, sizeof line, "%s/go", h.dir);
    assert_int_equal(mkfifo(line, 0600), 0);
    harness_submit_ok(&h, &leaving);
    harness_line(&h, line, sizeof line);
    harness_let_go(&h);
    assert_nudge(fd, &leaving, CONTROL_EXIT);
    harness_wait_ended(&h, &leaving);
    assert_int_equal(recv(fd, line, sizeof line, MSG_DONTWAIT), -1);
    close(fd);
}
