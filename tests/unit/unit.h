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

/* Ends the program when it has run for so long, since it waits for what never comes then. */
static inline void test_limit(unsigned seconds)
{
    alarm(seconds * test_patience());
}
#endif
