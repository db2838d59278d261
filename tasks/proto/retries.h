/* The price of a life that ended without success: of an attempt of a member, or of the ranks of a training between two
 * starts of them. Daemon and runner count by the same rule (docs/cluster.md, "What costs a retry"). */
#ifndef TASKS_PROTO_RETRIES_H
#define TASKS_PROTO_RETRIES_H
#include <stdbool.h>
#include <stdint.h>

#define LOSSES_MAX 10 /* lives in a row that were ended from outside and got no further, before it is given up */
#define LOSSES_FREE 3 /* such lives in a row that cost nothing although they ran; each further one costs a retry */

enum retries_end {
    RETRIES_OWN_FAULT,   /* the program ended itself by an error */
    RETRIES_GOT_FURTHER, /* it was ended from outside, after it had left a newer checkpoint */
    RETRIES_LOST,        /* it was killed from outside, or lost while it ran, and had left none */
    RETRIES_TOLD         /* it had left none when it was told to end, or was lost before it ran */
};

/* Counts a life that ended so: `failures` cost a retry each, `losses` are those in a row without progress that were
 * ended from outside. Returns whether another life may follow, of a thing that has `allowed` retries. */
bool retries_count(enum retries_end end, int64_t allowed, int64_t *failures, int64_t *losses);

/* The progress of a training: by a checkpoint, or by the one that its ranks began from; all -1 without one. */
struct learnt {
    int64_t step, batches, drawn;
};

#define LEARNT_NOTHING ((struct learnt){-1, -1, -1})

bool learnt_more(const struct learnt *now, const struct learnt *before);

/* Returns whether a process that was ended by this signal was probably ended from outside: a program gets other signals
 * than these by an error of its own. */
bool retries_is_from_outside(int sig);
#endif
