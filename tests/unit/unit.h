/* The headers that every cmocka program needs, in the order that cmocka requires. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

/* How many times as long as on a machine that does little else a test waits for what may never come: STRETTO_TEST_PATIENCE, as in
 * tests/t/lib.sh. */
static inline unsigned test_patience(void)
{
    const char *patience = getenv("STRETTO_TEST_PATIENCE");

    return patience != NULL && atoi(patience) > 0 ? (unsigned)atoi(patience) : 5;
}

/* How long one event is waited for, in seconds: longer than a busy machine stalls. */
static inline unsigned test_wait_s(void)
{
    return 8 * test_patience();
}

/* Does `turn` until the condition holds, and ends the program where that takes too long: one test that waits in vain is a failure
 * sooner than all of them would be. */
#define TEST_UNTIL(condition, turn)                                                                                     \
    do {                                                                                                                \
        unsigned left_ = alarm(test_wait_s());                                                                          \
        while (!(condition))                                                                                            \
            turn;                                                                                                       \
        alarm(left_);                                                                                                   \
    } while (0)

/* Ends the program when it has run for so long, since it waits for what never comes then. */
static inline void test_limit(unsigned seconds)
{
    alarm(seconds * test_patience());
}
#endif
