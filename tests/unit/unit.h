/* The headers that every cmocka program needs, in the order that cmocka requires. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* How many times as long as on a machine that does little else a test waits for what may never come:
 * STRETTO_TEST_PATIENCE, as in tests/t/lib.sh. */
static inline unsigned test_patience(void)
{
    const char *patience = getenv("STRETTO_TEST_PATIENCE");

    return patience != NULL && atoi(patience) > 0 ? (unsigned)atoi(patience) : 5;
}

/* How long one event is waited for, in seconds: longer than a busy machine stalls. */
static bool test_waited_in_vain; /* once it has, the tests that are left wait less, as they fail for the same reason */
static inline unsigned test_wait_s(void)
{
    return test_waited_in_vain ? 1 : 20 * test_patience();
}

static inline int64_t test_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Does `turn` until the condition holds. The test fails if that takes longer than test_wait_s(), and the program ends
 * if one turn does: both are sooner than what test_limit() allows. */
#define TEST_UNTIL(condition, turn)                                                                                     \
    do {                                                                                                                \
        int64_t until_ = test_clock_s() + test_wait_s();                                                                \
        unsigned left_ = alarm(test_wait_s() + 5);                                                                      \
                                                                                                                        \
        while (!(condition)) {                                                                                          \
            if (test_clock_s() > until_) {                                                                              \
                test_waited_in_vain = true;                                                                             \
                fail_msg("in vain: %s", #condition);                                                                    \
            }                                                                                                           \
            turn;                                                                                                       \
        }                                                                                                               \
        alarm(left_);                                                                                                   \
    } while (0)

/* Returns how many descriptors this program has open: as many as before, unless one was forgotten. */
static inline int test_descriptors(void)
{
    DIR *fds = opendir("/proc/self/fd");
    int n = 0;

    while (fds != NULL && readdir(fds) != NULL)
        n++;
    if (fds != NULL)
        closedir(fds);
    return n;
}

/* Ends the program when it has run for so long, since it waits for what never comes then. */
static inline void test_limit(unsigned seconds)
{
    alarm(seconds * test_patience());
}
#endif
