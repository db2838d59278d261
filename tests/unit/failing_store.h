/* A database that cannot be read. A program that is linked with failing_store.c has its sqlite3_step() instead of
 * SQLite's. */
#ifndef TESTS_FAILING_STORE_H
#define TESTS_FAILING_STORE_H
#include "tests/unit/fake_request.h"

/* Asks the handler again and again while each time another step of the store fails: the answer must be the same as
 * without that, or say that the database fails. Nothing may be left in the middle, which close_store() looks for. */
void is_told_that_the_store_fails(void (*handler)(struct request *r), const struct asked *asked);
/* Asks the handler, which changes something, while another step of the store fails each time, until none does: it must
 * say so until then. */
void is_told_that_nothing_was_done(void (*handler)(struct request *r), const struct asked *asked);
#endif
