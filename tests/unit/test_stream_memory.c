/* Eight member processes push at a rank whose training does not read: what every process holds is bounded by the
 * buffer's capacity, the members' windows and what ZeroMQ reads ahead, and in the end nothing is missing. */
#include "common/timefmt.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A sanitizer would keep what was freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

enum {
    MEMBERS = 8,
    STEPS = 60,
    CAPACITY = 32,
    WINDOW = 31, /* frames a little above 1 MiB in 32 MiB */
    AHEAD = 4,   /* MiB that ZeroMQ reads ahead of each member */
    SLACK = 24,  /* MiB: a frame being read and one being handed over for each member, and the libraries */
};

struct shared {
    atomic_int go;
    atomic_int sent;
};

static struct shared *shared;

static long resident_mib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;

    assert_true(f != NULL && fscanf(f, "%ld %ld", &size, &pages) == 2);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE) >> 20;
}

static void __attribute__((noreturn)) member(const struct fixture *fx, int index, int go)
{
    struct stretto *s;
    struct rusage usage;
    char byte;
    int rc = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go, &byte, 1) != 1)
        _exit(2);
    s = fixture_member(index, 1);
    for (int step = 0; rc == 0 && step < STEPS; step++) {
        rc = fixture_send(fx, s, index, step);
        atomic_fetch_add(&shared->sent, 1);
    }
    if (stretto_close(s) < 0)
        rc = -1;
    getrusage(RUSAGE_SELF, &usage);
    _exit(rc < 0 ? 1 : usage.ru_maxrss >> 10 > 2 * WINDOW + SLACK ? 3 : 0);
}

static int everybody_waits(void *arg)
{
    return atomic_load(&shared->sent) == CAPACITY + MEMBERS * WINDOW;
}

static void what_is_held_is_bounded_while_nobody_reads(void **state)
{
    static int times[MEMBERS * STEPS];
    struct fixture fx;
    struct stretto_train *t;
    long before, most = 0;
    int64_t until;
    int go[2];

    test_limit(200);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED && pipe(go) == 0);
    fixture_init(&fx, 1 << 18, 0, MEMBERS,
                 "{\"policy\": \"reservoir\", \"capacity\": 32, \"threshold\": 4, \"batch\": 4, \"seed\": 7}");
    for (int i = 0; i < MEMBERS; i++)
        if (fork() == 0)
            member(&fx, i, go[0]);
    t = fixture_rank(0);
    before = resident_mib();
    assert_int_equal(write(go[1], "12345678", MEMBERS), MEMBERS);
    assert_true(fixture_wait(everybody_waits, NULL, 60000));
    for (until = time_monotonic_ms() + 3000; time_monotonic_ms() < until;) {
        long now = resident_mib();

        most = now > most ? now : most;
        assert_int_equal(shared->sent, CAPACITY + MEMBERS * WINDOW);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    if (most - before > CAPACITY + MEMBERS * AHEAD + SLACK)
        fail_msg("%ld MiB more are resident", most - before);
    assert_true(most - before >= CAPACITY); /* or this measures nothing */

    for (int ended = 0, status; ended < MEMBERS;) {
        while (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            ended++;
        }
        fixture_draw(&fx, t, 10, STEPS, times);
    }
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    for (int i = 0; i < MEMBERS * STEPS; i++)
        assert_true(times[i] >= 1);
    stretto_train_close(t);
    fixture_fini(&fx);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_held_is_bounded_while_nobody_reads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
