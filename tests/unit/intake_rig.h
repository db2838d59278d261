/* A real rank, and a raw ZeroMQ socket that sends it frames that no member would send, for the tests of the intake. */
#ifndef TESTS_INTAKE_RIG_H
#define TESTS_INTAKE_RIG_H
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"

#include <stdio.h>

#define WIDTH 6 /* elements of the field "u" */
#define BYTES (WIDTH * 4)
#define HELLO "{\"version\": 1, \"parameters\": {\"a\": 0, \"b\": 0.5}}"
#define CAPACITY 10 /* samples in the buffer of the rank */

struct rig {
    struct fixture fx;
    struct stretto_train *t;
    void *zmq, *raw;
    FILE *log; /* receives the rank's stderr from its start on; NULL: stderr is unchanged */
};

/* Set up and tear down a test, whose state is the rig. If there are two fields, "n" is the first by name and "u" the
 * second. */
int rig_setup(void **state);
int rig_setup_two_fields(void **state);
int rig_setup_with_log(void **state); /* the rank's threads keep the stderr with which they were started */
int rig_teardown(void **state);
void *connection(const struct rig *rig); /* opens another socket */

struct frame frame(enum frame_kind kind, uint64_t sequence, int64_t step); /* a frame of session 5, attempt 1 */
struct frame of_session(struct frame f, uint64_t session);

void send_bytes(struct rig *rig, const struct frame *f, const void *payload, size_t size);
void send_sample(struct rig *rig, struct frame f);
void hello(struct rig *rig, uint64_t acked, uint64_t sent); /* for session 5 of attempt 1 */
void hello_of_attempt(struct rig *rig, uint32_t attempt, uint64_t acked, uint64_t sent);
void say_hello(struct rig *rig, uint64_t session);

struct frame next_answer(struct rig *rig);
/* returns the sequence number of the next answer, which must be of this kind */
uint64_t expect(struct rig *rig, enum frame_kind kind);
enum frame_kind answer_to(struct rig *rig, uint64_t session); /* returns the kind of the next answer to that session */

void await_rejected(struct rig *rig, uint64_t count); /* waits until so many frames are rejected */
/* Waits until so many frames are rejected, and verifies that no sample is received. */
void assert_rejected(struct rig *rig, uint64_t count);
int fault_number(const char *name);
#endif
