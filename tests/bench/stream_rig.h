/* The shared parts of the benchmarks of the stream: the run directory of one rank, and member processes that send to
 * it. */
#ifndef TESTS_BENCH_STREAM_RIG_H
#define TESTS_BENCH_STREAM_RIG_H
#include <stdbool.h>
#include <stddef.h>

#define RIG_BATCH 10
#define RIG_SENDERS_MAX 8

enum rig_transport {
    RIG_MEMORY, /* what members on the rank's host take: an ipc socket, and shared memory for what is large */
    RIG_IPC,   /* all through that socket */
    RIG_TCP,   /* over the loopback interface, as it is for measurements only: not encrypted */
    RIG_CURVE, /* the same as between hosts */
};

struct rig {
    char dir[64]; /* for rig_remove() */
    enum rig_transport transport;
    size_t bytes;    /* of a sample: one field of float32 */
    size_t capacity; /* of the reservoir */
    long senders;
};

/* Ends the program. */
void die(const char *why) __attribute__((noreturn));
void must(bool held, const char *why);

/* "memory", "ipc", "tcp" or "curve" */
enum rig_transport rig_transport(const char *name);

/* Makes the directory, and sets the environment of rank and members. capacity: of half a GiB, at most 6000. */
void rig_init(struct rig *rig);

/* After stretto_train_open(): members would take the Unix socket on one host. */
void rig_offer(const struct rig *rig);

/* Reception is over. */
void rig_over(const struct rig *rig);

/* Replaces the process by one that removes the directory. */
int rig_remove(const struct rig *rig);

/* Acts as that member: sends the same data in so many steps, and closes. */
void rig_send(const struct rig *rig, long member, const float *data, long steps);

double now(void);
#endif
