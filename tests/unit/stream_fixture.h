/* A run directory, a rank and members in one process, for the tests of the stream. */
#ifndef TESTS_STREAM_FIXTURE_H
#define TESTS_STREAM_FIXTURE_H
#include "tasks/member/stretto.h"
#include "tasks/train/stretto-train.h"

#include <stdint.h>

#define RESERVOIR(capacity, threshold, batch)                                                                          \
    "{\"policy\": \"reservoir\", \"capacity\": " #capacity ", \"threshold\": " #threshold ", \"batch\": " #batch       \
    ", \"seed\": 7}"

#define FIXTURE_KEY 0x9f86d081884c7d65u

struct fixture {
    char dir[64];   /* removed by fixture_fini() */
    int width;      /* elements of the field "u", float32; "n" is one int64 */
    int with_n;     /* whether the stream has the field "n" */
    int ranks;
};

/* Of one rank. Writes training.json and current.json and sets the environment of a rank and of members. buffer: the
 * JSON of the buffer. */
void fixture_init(struct fixture *fx, int width, int with_n, int members, const char *buffer);
void fixture_init_ranks(struct fixture *fx, int ranks, int width, int with_n, int members, const char *buffer);
void fixture_fini(struct fixture *fx);

/* Start that rank. */
struct st_train *fixture_rank(int rank);

/* reception.json: what members have sent is all. */
void fixture_over(const struct fixture *fx);

/* A path in the fixture's directory; static storage. */
const char *fixture_path(const struct fixture *fx, const char *name);

/* Endpoint of the rank, from its file; static storage. */
const char *fixture_endpoint(const struct fixture *fx);

/* Make members connect there instead. */
void fixture_redirect(const struct fixture *fx, const char *endpoint);

/* Open a member's stream with its parameters {"a": index, "b": 0.5} and declare its fields: "u" is 0, and given as
 * float64, so that it is narrowed. (The fields' numbers follow their names: "n" before "u".) */
struct stretto *fixture_member(int member, int attempt);

/* Send all fields of a step; u[i] = member + step / 8 + i, n = member * 1000 + step. */
int fixture_send(const struct fixture *fx, struct stretto *s, int member, int64_t step);

/* Draw one batch and check its samples' contents; times[member * steps + step] counts the draws. Returns what
 * st_train_batch() did. */
int fixture_draw(const struct fixture *fx, struct st_train *t, int timeout_ms, int steps, int *times);

/* Draw until the end. */
void fixture_draw_all(const struct fixture *fx, struct st_train *t, int steps, int *times);

struct st_train_stats fixture_stats(struct st_train *t);

/* A test that gets no further for so long has failed. */
#define FIXTURE_LIMIT_SECONDS 40

/* Members that are opened from now on give up after that time. */
void fixture_member_limit(void);

/* Draw while members send, until so many have told their end; then until all is empty. Fails where nothing comes any more. */
void fixture_train(const struct fixture *fx, struct st_train *t, uint64_t finalized, int steps, int *times);

/* The rank's counters are those of so many samples, each drawn times[i] times, of which so many came twice. */
void fixture_check_books(struct st_train *t, const int *times, int samples, int duplicates);

/* A group's setup: who waits for what never comes is ended. */
int fixture_time_limit(void **state);

/* Milliseconds; at most `ms` until cond(arg). 1 where it came true. */
int fixture_wait(int (*cond)(void *arg), void *arg, int ms);
#endif
