/* The points of a metric series by ranges of steps, each with what a plot of it must not lose. */
#ifndef API_BUCKETS_H
#define API_BUCKETS_H
#include "common/text.h"
#include "daemon/store/training.h"

#include <stdbool.h>

/* Points come in the order of their steps; each bucket is written when the first point behind it comes. */
struct buckets {
    struct text *out; /* JSON objects with commas between them */
    int64_t from;     /* the first step of the first bucket */
    uint64_t width;   /* steps of each */
    uint64_t at;      /* the bucket that is being filled */
    bool any;         /* one has been written */
    int64_t count, not_finite;
    struct metric_point first, last;
    double min, max; /* NaN: none is finite */
};

/* At most `n` buckets over the steps `from` to `to`, inclusive. */
void buckets_init(struct buckets *buckets, struct text *out, int64_t from, int64_t to, int64_t n);
void buckets_add(struct buckets *buckets, const struct metric_point *point);
void buckets_end(struct buckets *buckets); /* there are no more points */
#endif
