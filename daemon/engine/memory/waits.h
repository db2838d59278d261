/* The side of a training that waits: for which part of the time its ranks waited for samples, and its members for room
 * in the buffer. It is computed from the ranks' counters, between two looks that lie far enough apart, by the clocks of
 * the ranks. */
#ifndef DAEMON_ENGINE_MEMORY_WAITS_H
#define DAEMON_ENGINE_MEMORY_WAITS_H
#include <stdbool.h>
#include <stdint.h>

#define WAITS_SPAN_S 10.0 /* at least so long for each rank, so that one long batch decides nothing */
#define WAITS_MANY 0.5    /* from this part on it is told … */
#define WAITS_FEW 0.3     /* … until it is less than this: what changes to and fro is no help */

/* Sums over all ranks, in seconds. */
struct waits_sum {
    double time, for_samples, for_room;
};

/* The samples that all ranks have drawn. */
struct rank_draws {
    int64_t drawn, repeats;
};

struct waits {
    struct waits_sum before; /* as of the look since which is counted; its time 0: none yet */
    bool known;
    double for_samples, for_room; /* parts of the time, from 0 to 1 */
    bool tell_samples, tell_room;
};

/* A rank waits for samples while the buffer of another one is full. If the ranks learn in step, neither goes on. */
struct waits_uneven {
    int64_t since_ms; /* 0: it is not so */
    int starving, full;
};

enum waits_news {
    WAITS_BEGIN,   /* a measurement begins: of the first ranks, or of others than before */
    WAITS_GO_ON,   /* it goes on */
    WAITS_MEASURED /* it is over, and its figures are in `waits`; the next one begins */
};

/* Notes sums. A measurement lasts span_s seconds for each rank. */
enum waits_news waits_note(struct waits *waits, const struct waits_sum *now, int ranks, double span_s);

/* Notes which rank waits for samples, and of which the buffer is full; -1: none. */
void waits_note_uneven(struct waits_uneven *uneven, int starving, int full, int64_t now_ms);
#endif
