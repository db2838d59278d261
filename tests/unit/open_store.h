/* A store in a directory of its own for each test, and rows that most tests need. */
#ifndef TESTS_OPEN_STORE_H
#define TESTS_OPEN_STORE_H
#include "daemon/store/attempt.h"
#include "daemon/store/job.h"
#include "tests/unit/unit.h"

extern struct store *store;
extern struct error err;

int open_store(void **state);
int reopen_store(void); /* as the next daemon does */
/* A statement that is left in the middle fails the test: it keeps what it reads, so that the log of the database grows for ever. */
int close_store(void **state);

void must(int rc); /* not be negative, or *err says why */

/* What was listed, in one line; is_listed() begins another. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void is_listed(const char *expected);

int64_t add_ensemble(int64_t count);
struct job_row add_job(int64_t ensemble, const char *adapter);
struct attempt_row add_attempt(int64_t job, int64_t ensemble, int64_t index, int64_t number); /* and its member, pending */
#endif
