/* Sums up the points of a metric by ranges of steps (buckets), keeping what a plot must not lose. */
#ifndef API_BUCKETS_H
#define API_BUCKETS_H
#include "common/text.h"
#include "daemon/store/training.h"

#include <stdbool.h>

/* Points must come in the order of their steps. A bucket is written when the first point behind it comes. */
struct buckets {
    struct text *out; /* gets JSON objects with commas between them */
    int64_t from;     /* the first step of the first bucket */
    uint64_t width;   /* number of steps of each bucket */
    uint64_t at;      /* index of the bucket that is being filled */
    bool any;         /* a bucket has been written */
    int64_t count, not_finite;
    struct metric_point first, last;
    double min, max; /* NaN where no point is finite */
};

/* Begins with at most `n` buckets for the steps `from` to `to`, inclusive. */
void buckets_init(struct buckets *buckets, struct text *out, int64_t from, int64_t to, int64_t n);
void buckets_add(struct buckets *buckets, const struct metric_point *point);
void buckets_end(struct buckets *buckets); /* writes the last bucket */
#endif
