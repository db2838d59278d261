/* Strangers on the network hold many more connections to a rank than its process may have descriptors, and open each
 * anew as soon as it is closed. Members get through, and the training program can still open files. By hand:
 * CROWD_DESCRIPTORS=8192 CROWD_CONNECTIONS=3000 has 9,000 connections against 8,192 descriptors. */
#include "common/files.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRANGERS = 3, CONNECTIONS_MAX = 10000, STEPS = 200, FILES = 50 };

static int descriptors = 200; /* that the rank may have */
static int connections = 150; /* of each stranger */

/* Room for every sample, since the one thread that draws them also waits for the members to have sent theirs. */
#define BUFFER "{\"policy\": \"fifo\", \"capacity\": 500, \"batch\": 10}"

struct crowd {
    atomic_uint port;            /* 0: the rank is not there yet */
    atomic_int open[STRANGERS];  /* connections that were opened */
};

/* What a stranger says: nothing at all, something that is no ZeroMQ, or the beginning of a greeting. */
static const char *const said[STRANGERS] = {"", "GET / HTTP/1.1\r\n\r\n", "\xff\0\0\0\0\0\0\0\1\x7f\3"};
static const size_t said_size[STRANGERS] = {0, 18, 11};

static int call_up(unsigned port, int who)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        send(fd, said[who], said_size[who], MSG_NOSIGNAL) < 0) {
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    return fd;
}

static void __attribute__((noreturn)) stranger(struct crowd *crowd, int who)
{
    static struct pollfd fds[CONNECTIONS_MAX];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (atomic_load(&crowd->port) == 0)
        poll(NULL, 0, 5);
    for (int i = 0; i < connections; i++)
        fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    for (;;) {
        for (int i = 0; i < connections; i++) {
            char byte[256];

            if (fds[i].fd >= 0 && fds[i].revents != 0 && recv(fds[i].fd, byte, sizeof byte, MSG_DONTWAIT) <= 0) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
            if (fds[i].fd < 0 && (fds[i].fd = call_up(atomic_load(&crowd->port), who)) >= 0)
                atomic_fetch_add(&crowd->open[who], 1);
            fds[i].revents = 0;
        }
        poll(fds, (nfds_t)connections, 100);
    }
}

static int all_are_there(void *arg)
{
    struct crowd *crowd = arg;

    for (int i = 0; i < STRANGERS; i++)
        if (atomic_load(&crowd->open[i]) < connections)
            return 0;
    return 1;
}

static unsigned on_the_network(const struct fixture *fx, struct stretto_train **t)
{
    struct error err;
    json_t *json = file_read_json(fixture_path(fx, "training.json"), &err), *endpoints;
    unsigned port = 0;

    json_object_set_new(json, "network", json_true());
    json_object_set_new(json, "interface", json_string("lo"));
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), json, 0600, &err), 0);
    json_decref(json);
    *t = fixture_rank(0);
    json = file_read_json(fixture_path(fx, "g1-rank0.json"), &err);
    endpoints = json_object_get(json, "endpoints");
    for (size_t i = 0; i < json_array_size(endpoints); i++)
        if (strncmp(json_string_value(json_array_get(endpoints, i)), "tcp://127.0.0.1:", 16) == 0)
            port = (unsigned)strtoul(json_string_value(json_array_get(endpoints, i)) + 16, NULL, 10);
    json_object_set_new(json, "host", json_string("elsewhere"));
    assert_int_equal(file_write_json(fixture_path(fx, "g1-rank0.json"), json, 0600, &err), 0);
    json_decref(json);
    assert_true(port > 0);
    return port;
}

static void the_program_can_open_files(void)
{
    int fd[FILES];

    for (int i = 0; i < FILES; i++)
        if ((fd[i] = open("/dev/null", O_RDONLY)) < 0)
            fail_msg("file %d of %d cannot be opened: %s", i + 1, FILES, strerror(errno));
    for (int i = 0; i < FILES; i++)
        close(fd[i]);
}

static void strangers_keep_neither_members_nor_the_program_out(void **state)
{
    struct crowd *crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct rlimit limit = {(rlim_t)descriptors, (rlim_t)descriptors};
    int times[2 * STEPS] = {0};
    pid_t pid[STRANGERS];
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *before, *during;

    for (int i = 0; i < STRANGERS; i++)
        if ((pid[i] = fork()) == 0)
            stranger(crowd, i);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    fixture_init(&fx, 100, 1, 2, BUFFER);
    atomic_store(&crowd->port, on_the_network(&fx, &t));
    before = fixture_member(0, 1);
    assert_true(fixture_wait(all_are_there, crowd, 60000));
    during = fixture_member(1, 1);
    for (int step = 0; step < STEPS; step++) {
        the_program_can_open_files();
        assert_int_equal(fixture_send(&fx, before, 0, step), 0);
        assert_int_equal(fixture_send(&fx, during, 1, step), 0);
        fixture_draw(&fx, t, 0, STEPS, times);
    }
    assert_int_equal(stretto_close(before), 0);
    assert_int_equal(stretto_close(during), 0);
    the_program_can_open_files();
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    for (int i = 0; i < 2 * STEPS; i++)
        assert_int_equal(times[i], 1);
    the_program_can_open_files();
    stretto_train_close(t);
    fixture_fini(&fx);
    for (int i = 0; i < STRANGERS; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    munmap(crowd, sizeof *crowd);
}

static void read_setting(const char *name, int *value, int max)
{
    const char *text = getenv(name);

    if (text != NULL)
        *value = atoi(text) < max ? atoi(text) : max;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_keep_neither_members_nor_the_program_out),
    };

    read_setting("CROWD_DESCRIPTORS", &descriptors, INT_MAX);
    read_setting("CROWD_CONNECTIONS", &connections, CONNECTIONS_MAX);
    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
