/* Who waits for events. Streams that have sent everything sleep here and cost nothing until a commit brings news, or
 * until they have been silent for so long that their client wonders. */
#ifndef API_FEED_H
#define API_FEED_H
#include "api/api.h"
#include "common/error.h"

enum feed_look {
    FEED_WENT,  /* it has something to send, and waits no more */
    FEED_WAITS, /* nothing in it for this one */
    FEED_TOLD,  /* it has sent all there was, and waits on */
    FEED_AGAIN, /* not through all of the news yet: ask again in a later turn */
};

struct feed_waiter {
    enum feed_look (*look)(struct feed_waiter *waiter); /* there are new events */
    bool (*beat)(struct feed_waiter *waiter);           /* too long silent: a sign of life; false: it waits no more */
    void (*wake)(struct feed_waiter *waiter);           /* over, or the feed ends: it waits no more */
    bool (*over)(struct feed_waiter *waiter);           /* nothing may be told to it any more */
    int64_t since;                                      /* the feed's own, as what follows */
    struct feed_waiter *prev, *next;
};

struct feed *feed_create(const struct api_config *config);
/* Wakes all who wait. Its handles are closed as the loop goes on. */
void feed_destroy(struct feed *feed);

/* The newest event that is on disk: nothing after it may be told. -1: not known before the first commit. */
int64_t feed_newest(const struct feed *feed);
/* How far those who wait are told now: the same for all of one round, so that they get the same text. */
int64_t feed_upto(const struct feed *feed);
bool feed_ending(const struct feed *feed);

/* Somebody may have lost the right to be told: ask all, after the next commit. */
void feed_review(struct feed *feed);

/* What this round has read. */
struct pieces *feed_pieces(struct feed *feed);

/* Take part, for the bearer of a token or (0) on the Unix socket; -1 with an error of shares_take() where there is no room. */
int feed_join(struct feed *feed, int64_t token, struct error *err);
void feed_leave(struct feed *feed, int64_t token);

/* Sleep until look(), beat() or wake(); `again`: as though look() had said so. */
void feed_wait(struct feed *feed, struct feed_waiter *waiter, bool again);
#endif
