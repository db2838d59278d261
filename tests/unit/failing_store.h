/* A database that cannot be read. A program that is linked with failing_store.c has its sqlite3_step() instead of
 * SQLite's. */
#ifndef TESTS_FAILING_STORE_H
#define TESTS_FAILING_STORE_H
#include "tests/unit/fake_request.h"

/* Asks the handler again and again while each time another step of the store fails: the answer must be the same as
 * without that, or say that the database fails. Nothing may be left in the middle, which close_store() looks for. */
void is_told_that_the_store_fails(void (*handler)(struct request *r), const struct asked *asked);
#endif
