/* The memory in which a rank keeps its samples, so that they outlive its process. The runner makes it (a memfd), and
 * passes its path to the rank in STRETTO_KEPT. The next process of the same rank maps it again. The runner reads the
 * head only; tasks/train/kept.h has the rest. */
#ifndef TASKS_PROTO_KEPT_H
#define TASKS_PROTO_KEPT_H
#include <stdint.h>

#define KEPT_MAGIC UINT64_C(0x315450454b545353) /* "SSTKEPT1" */
#define KEPT_HEAD_SIZE 4096
#define KEPT_NAME_SIZE 64
#define KEPT_PORTS_MAX 16

/* The state of a rank's memory, as the rank itself says. */
enum kept_state {
    KEPT_UNUSED, /* it keeps nothing there */
    /* Together with the checkpoint `base`, or a newer one, it has all that was acknowledged; of samples that the spec
     * lets it forget, it has which they are. */
    KEPT_COMPLETE,
    KEPT_LACKING /* some of that was let go */
};

struct kept_head {
    uint64_t magic;  /* by the runner, like `owner` */
    char owner[192]; /* STRETTO_TASK of the rank: a path may lead to the memory of another one on another host */
    uint32_t state;  /* enum kept_state */
    uint32_t bases;  /* base[bases % 2] is valid */
    char base[2][KEPT_NAME_SIZE]; /* a checkpoint's name, "": the beginning */
    uint64_t members, slot_size,
        chunks; /* the layout: 4 bytes for each member, rounded up to pages, and chunks of slots */
    /* the rank's endpoint, which its next process opens again, so that members find it */
    char path[192];
    char public_key[48], secret_key[48];
    uint32_t ports;
    uint16_t port[KEPT_PORTS_MAX]; /* in the order in which they were bound */
};

_Static_assert(sizeof(struct kept_head) <= KEPT_HEAD_SIZE, "the head has its place");
#endif
