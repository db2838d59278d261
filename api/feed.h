/* Wakes event streams. A stream that has sent everything sleeps here, and costs nothing until a commit brings events,
 * or until it was silent for so long that its client would wonder. */
#ifndef API_FEED_H
#define API_FEED_H
#include "api/api.h"
#include "common/error.h"

enum feed_look {
    FEED_WENT,  /* it has something to send, and does not wait any more */
    FEED_WAITS, /* there was nothing for this stream, and it waits */
    FEED_TOLD,  /* it has sent everything, and waits */
    FEED_AGAIN, /* it has not sent all events yet: ask again in a later turn */
};

struct feed_waiter {
    enum feed_look (*look)(struct feed_waiter *waiter); /* called when there are new events */
    bool (*beat)(struct feed_waiter *waiter);           /* called after a long silence; false if it stops waiting */
    void (*wake)(struct feed_waiter *waiter);           /* called when it is over or the feed ends; it stops waiting */
    bool (*over)(struct feed_waiter *waiter);           /* returns whether its client has lost the right to be told */
    int64_t since;                                      /* private to the feed, as the pointers below */
    struct feed_waiter *prev, *next;
};

struct feed *feed_create(const struct api_config *config);
/* Wakes all streams that wait. Its handles are closed as the loop goes on. */
void feed_destroy(struct feed *feed);

/* Returns the newest event that is on disk, after which nothing may be sent; -1 before the first commit. */
int64_t feed_newest(const struct feed *feed);
/* Returns up to which event waiting streams are told now. It is the same for all of a round, so that they share a
 * text. */
int64_t feed_upto(const struct feed *feed);
bool feed_ending(const struct feed *feed);

/* Makes the feed ask all streams after the next commit whether they are over, because somebody may have lost that
 * right. */
void feed_review(struct feed *feed);

/* Returns the pieces that this round has read. */
struct pieces *feed_pieces(struct feed *feed);

/* Takes a place for the bearer of a token or (0) the Unix socket. Fails with an error of shares_take() if there is
 * no room. */
int feed_join(struct feed *feed, int64_t token, struct error *err);
void feed_leave(struct feed *feed, int64_t token);

/* Waits until look(), beat() or wake() is called. If `again` is true, look() is called as after FEED_AGAIN. */
void feed_wait(struct feed *feed, struct feed_waiter *waiter, bool again);
#endif
