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
    int width;      /* elements of the field "u", which is float32; the field "n" is one int64 */
    int with_n;     /* the stream has the field "n" */
    int ranks, generation; /* the latest */
};

#define FIXTURE_RANKS_MAX 4

/* Prepares the run directory: writes training.json and current.json, and sets the environment of a rank and of members.
 * fixture_init() is for one rank. `buffer` is the JSON of the buffer. */
void fixture_init(struct fixture *fx, int width, int with_n, int members, const char *buffer);
void fixture_init_ranks(struct fixture *fx, int ranks, int width, int with_n, int members, const char *buffer);
void fixture_fini(struct fixture *fx);

/* Makes the ranks that are started from now on those of another generation, and tells members of it: it keeps what
 * generation `keeps` and later ones have acknowledged, or nothing (0). */
void fixture_generation(struct fixture *fx, int generation, int ranks);
void fixture_announce(const struct fixture *fx, int keeps);

/* Starts that rank. */
struct stretto_train *fixture_rank(int rank);

/* Writes reception.json, which says that no more members will send. */
void fixture_over(const struct fixture *fx);

/* Returns a path in the fixture's directory, in static storage. */
const char *fixture_path(const struct fixture *fx, const char *name);

/* Returns the endpoint of the rank, read from its file, in static storage. */
const char *fixture_endpoint(const struct fixture *fx);

/* Makes members connect to another endpoint. */
void fixture_redirect(const struct fixture *fx, const char *endpoint);

/* Opens a member's stream with its parameters {"a": index, "b": 0.5} and declares its fields. "u" is field 0, and given
 * as float64, so that it is narrowed. (In frames the fields are numbered by their names: "n" before "u".) */
struct stretto *fixture_member(int member, int attempt);

/* Sends all fields of a step: u[i] = member + step / 8 + i, n = member * 1000 + step. */
int fixture_send(const struct fixture *fx, struct stretto *s, int member, int64_t step);

/* Draws one batch and checks the contents of its samples. times[member * steps + step] counts the draws. Returns the
 * result of stretto_train_batch(). */
int fixture_draw(const struct fixture *fx, struct stretto_train *t, int timeout_ms, int steps, int *times);

/* Draws until the end. */
void fixture_draw_all(const struct fixture *fx, struct stretto_train *t, int steps, int *times);

struct stretto_train_stats fixture_stats(struct stretto_train *t);

/* A test that makes no progress for so long has failed. */
#define FIXTURE_LIMIT_SECONDS 40

/* Lets members that are opened from now on give up after that time. */
void fixture_member_limit(void);

/* Draws while members send, until so many have ended, and then until the buffer is empty. Fails if nothing comes any
 * more. */
void fixture_train(const struct fixture *fx, struct stretto_train *t, uint64_t finalized, int steps, int *times);

/* Verifies that the rank's counters are those of so many samples, each drawn times[i] times, and of so many
 * duplicates. */
void fixture_check_books(struct stretto_train *t, const int *times, int samples, int duplicates);

/* A group's setup: ends a test that waits for ever. */
int fixture_time_limit(void **state);

/* Waits until cond(arg), for at most `ms` milliseconds. Returns 1 if it came true. */
int fixture_wait(int (*cond)(void *arg), void *arg, int ms);
#endif
