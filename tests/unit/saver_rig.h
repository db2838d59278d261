/* Ranks that save checkpoints: a fixture whose training has a directory of checkpoints, and generations that go on from
 * them. */
#ifndef TESTS_SAVER_RIG_H
#define TESTS_SAVER_RIG_H
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit_dir.h"

#include <jansson.h>

#define STEPS 20
#define LIMIT_MS (FIXTURE_LIMIT_SECONDS * 1000)
#define FIFO "{\"policy\": \"fifo\", \"capacity\": 100, \"threshold\": 0, \"batch\": 5, \"seed\": 7}"

extern char dir[64]; /* the directory of checkpoints */

/* Sets a key of training.json. */
void configure(const struct fixture *fx, const char *key, json_t *value);
void set_up(struct fixture *fx, int ranks, int members, int keep, double every);
void tear_down(struct fixture *fx);
/* Begins another generation of ranks, which goes on from that checkpoint. */
void begin_anew(const struct fixture *fx, int generation, const char *name, int step);
int write_state(const char *path, const char *text);
/* Saves a checkpoint with this state, NULL for none. */
void save(struct stretto_train *t, int64_t step, const char *text, int due);
/* Returns whether checkpoints.json has these names, each followed by a blank. */
int lists(void *arg);
/* Sends the steps before `to` from `from` on as one attempt of the member, which ends then. */
void send_steps(const struct fixture *fx, int member, int attempt, int from, int to);
void wait_for_samples(struct stretto_train *t, uint64_t n);
/* Changes the last byte of a file of a checkpoint. */
void damage(const char *name, const char *file);
/* Returns the memory of a rank, as the runner makes it. */
int make_memory(void);
/* Returns whether the rank has written all into that memory (an int). */
int is_complete(void *arg);

#define WAIT_FOR_LIST(names) assert_true(fixture_wait(lists, (void *)(uintptr_t)(names), LIMIT_MS))
#endif
