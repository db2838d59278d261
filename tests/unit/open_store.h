/* A store in a directory of its own for each test, and rows that most tests need. */
#ifndef TESTS_OPEN_STORE_H
#define TESTS_OPEN_STORE_H
#include "daemon/store/attempt.h"
#include "daemon/store/job.h"
#include "tests/unit/unit.h"

extern struct store *store;
extern struct error err;

int open_store(void **state);
int reopen_store(void); /* opens the store again, as the next daemon does */
/* Closes the store. Fails the test where a statement was not reset, since such a statement keeps its snapshot, and with
 * it the log of the database grows for ever. */
int close_store(void **state);

void must(int rc); /* fails the test, with the text of err, where rc is negative */

/* note() collects the items of a list in one line; is_listed() compares the line, and begins another. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void is_listed(const char *expected);

int64_t add_ensemble(int64_t count);
struct job_row add_job(int64_t ensemble, const char *adapter);
/* adds the attempt and its member, which is pending */
struct attempt_row add_attempt(int64_t job, int64_t ensemble, int64_t index, int64_t number);
#endif
