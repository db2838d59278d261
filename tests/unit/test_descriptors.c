/* Threads with descriptors of their own, and systems that refuse them: containers do, by filters of system calls. */
#include "common/thread.h"
#include "tasks/train/descriptors.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define STEPS 50

/* From now on these two calls of this process fail with EPERM; 0 stands for none. */
static bool refuse(unsigned one, unsigned other)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one != 0 ? one : ~0u, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other != 0 ? other : ~0u, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct parting {
    int kept, other;
    bool parted, has_kept, has_other;
};

static void *part(void *arg)
{
    struct parting *p = arg;

    p->parted = descriptors_part(p->kept);
    p->has_kept = fcntl(p->kept, F_GETFD) >= 0;
    p->has_other = fcntl(p->other, F_GETFD) >= 0;
    close(p->kept);
    return NULL;
}

/* In a process of its own. Its exit status: a bit for each that holds. */
enum { PARTED = 1, THREAD_HAS_KEPT = 2, THREAD_HAS_OTHER = 4, PROGRAM_HAS_KEPT = 8, PROGRAM_HAS_OTHER = 16 };

static int parted_without(unsigned one, unsigned other)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct parting p = {.other = eventfd(0, EFD_CLOEXEC), .kept = eventfd(0, EFD_CLOEXEC)};
        pthread_t thread;

        if (!refuse(one, other) || thread_start(&thread, part, &p) != 0)
            _exit(64);
        pthread_join(thread, NULL);
        _exit((p.parted ? PARTED : 0) | (p.has_kept ? THREAD_HAS_KEPT : 0) | (p.has_other ? THREAD_HAS_OTHER : 0) |
              (fcntl(p.kept, F_GETFD) >= 0 ? PROGRAM_HAS_KEPT : 0) | (fcntl(p.other, F_GETFD) >= 0 ? PROGRAM_HAS_OTHER : 0));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_thread_parts_where_one_of_the_calls_is_let_through(void **state)
{
    const int apart = PARTED | THREAD_HAS_KEPT | PROGRAM_HAS_KEPT | PROGRAM_HAS_OTHER;

    assert_int_equal(parted_without(0, 0), apart);
    assert_int_equal(parted_without(SYS_close_range, 0), apart);
}

static void a_thread_that_may_not_shares_all_with_the_program(void **state)
{
    assert_int_equal(parted_without(SYS_close_range, SYS_unshare),
                     THREAD_HAS_KEPT | THREAD_HAS_OTHER | PROGRAM_HAS_OTHER);
}

static int all_that_was_sent_comes(const struct fixture *fx)
{
    int times[STEPS] = {0};
    struct stretto_train *t = fixture_rank(0);
    struct stretto *member = fixture_member(0, 1);

    for (int step = 0; step < STEPS; step++)
        assert_int_equal(fixture_send(fx, member, 0, step), 0);
    assert_int_equal(stretto_close(member), 0);
    fixture_over(fx);
    fixture_draw_all(fx, t, STEPS, times);
    stretto_train_close(t);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(times[i], 1);
    return 0;
}

static void a_rank_that_may_not_says_so_and_works(void **state)
{
    struct fixture fx;
    char text[4096] = "";
    FILE *log;
    int status;
    pid_t pid;

    fixture_init(&fx, 10, 0, 1, "{\"policy\": \"fifo\", \"capacity\": 100, \"batch\": 5}");
    pid = fork();
    if (pid == 0) {
        if (freopen(fixture_path(&fx, "log"), "w", stderr) == NULL || !refuse(SYS_close_range, SYS_unshare))
            _exit(64);
        _exit(all_that_was_sent_comes(&fx));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    log = fopen(fixture_path(&fx, "log"), "r");
    assert_non_null(log);
    assert_true(fread(text, 1, sizeof text - 1, log) > 0);
    fclose(log);
    assert_int_equal(unlink(fixture_path(&fx, "log")), 0);
    fixture_fini(&fx);
    assert_int_equal(status, 0);
    if (strstr(text, "Operation not permitted") == NULL || strstr(text, "unshare") == NULL ||
        strstr(text, "container") == NULL)
        fail_msg("it says: %s", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_parts_where_one_of_the_calls_is_let_through),
        cmocka_unit_test(a_thread_that_may_not_shares_all_with_the_program),
        cmocka_unit_test(a_rank_that_may_not_says_so_and_works),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
