/* Runners tell the daemon where to look. */
#include "tasks/proto/control.h"
#include "tests/unit/conformance.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

static void *bind_control(void *context)
{
    void *pull = zmq_socket(context, ZMQ_PULL);

    snprintf(h.control, sizeof h.control, "ipc://%s/control", h.dir);
    zmq_setsockopt(pull, ZMQ_RCVTIMEO, &(int){harness_wait_s() * 1000}, sizeof(int));
    assert_int_equal(zmq_bind(pull, h.control), 0);
    return pull;
}

static void assert_nudge(void *pull, const struct harness_job *job, enum control_what what)
{
    struct control_message message;
    struct error err;
    int n = zmq_recv(pull, line, sizeof line, 0);

    assert_true(n > 0);
    assert_int_equal(control_parse(line, (size_t)n, &message, &err), 0);
    assert_string_equal(message.job, job->name);
    assert_string_equal(message.key, HARNESS_CONTROL_KEY);
    assert_int_equal(message.what, what);
}

/* As a batch system on another host would start it. */
void a_runner_nudges_where_to_look(void **state)
{
    void *context = zmq_ctx_new(), *pull = bind_control(context);
    struct harness_job job;
    pid_t runner;
    int status;

    harness_job(&h, &job, "true", 0, 1);
    runner = fork();
    if (runner == 0) {
        execl(h.host.runner, h.host.runner, job.dir, (char *)NULL);
        _exit(127);
    }
    assert_nudge(pull, &job, CONTROL_CLAIM);
    assert_nudge(pull, &job, CONTROL_EXIT);
    assert_nudge(pull, &job, CONTROL_ENDED);
    assert_int_equal(waitpid(runner, &status, 0), runner);
    assert_int_equal(status, 0);
    zmq_close(pull);
    zmq_ctx_term(context);
}

/* Its start and its end are seen anyway: what is told is an end of a task after which it goes on. */
void a_runner_that_is_watched_nudges_only_for_news(void **state)
{
    void *context = zmq_ctx_new(), *pull = bind_control(context);
    struct harness_job quiet, leaving;

    harness_job(&h, &quiet, "true", 0, 1);
    harness_submit_ok(&h, &quiet);
    harness_wait_ended(&h, &quiet);
    harness_job(&h, &leaving, "(trap '' TERM; echo ready > $FIFO; while :; do sleep 100; done) & read x < $DIR/go", 0, 1);
    snprintf(line, sizeof line, "%s/go", h.dir);
    assert_int_equal(mkfifo(line, 0600), 0);
    harness_submit_ok(&h, &leaving);
    harness_line(&h, line, sizeof line);
    harness_let_go(&h);
    assert_nudge(pull, &leaving, CONTROL_EXIT);
    harness_wait_ended(&h, &leaving);
    assert_int_equal(zmq_recv(pull, line, sizeof line, ZMQ_DONTWAIT), -1);
    zmq_close(pull);
    zmq_ctx_term(context);
}
