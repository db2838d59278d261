/* Sums up the points of a metric series by ranges of steps (buckets), keeping what a plot must not lose. */
#ifndef API_BUCKETS_H
#define API_BUCKETS_H
#include "common/text.h"
#include "daemon/store/series.h"

#include <stdbool.h>

/* Points must come in the order of their steps. A bucket is written when the first point behind it comes. */
struct buckets {
    struct text *out;        /* gets JSON objects with commas between them */
    int64_t from;            /* the first step of the first bucket */
    uint64_t width;          /* number of steps of each bucket */
    uint64_t at;             /* index of the bucket that is being filled */
    bool of_member;          /* buckets have attempt and area, too */
    bool any;                /* a bucket has been written */
    struct series_point sum; /* of the points in it */
};

/* Begins with at most `n` buckets for the steps `from` to `to`, inclusive. */
void buckets_init(struct buckets *buckets, struct text *out, int64_t from, int64_t to, int64_t n);
/* Adds a point, or several that were merged, to the bucket in which the first one is. */
void buckets_add(struct buckets *buckets, const struct series_point *point);
void buckets_end(struct buckets *buckets); /* writes the last bucket */
#endif
