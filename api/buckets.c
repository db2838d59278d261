#include "api/buckets.h"

#include "api/value.h"

#include <inttypes.h>

void buckets_init(struct buckets *buckets, struct text *out, int64_t from, int64_t to, int64_t n)
{
    uint64_t span = (uint64_t)to - (uint64_t)from, width = span / (uint64_t)n + 1;

    *buckets = (struct buckets){.out = out, .from = from, .width = width > 0 ? width : UINT64_MAX};
}

static void write_bucket(struct buckets *b)
{
    const struct series_point *sum = &b->sum;
    struct text *out = b->out;

    text_add(out, "%s{\"step\":%" PRId64 ",\"last_step\":%" PRId64 ",\"time\":", b->any ? "," : "", sum->step,
             sum->last_step);
    value_put_time(out, sum->time_ms);
    text_string(out, ",\"last_time\":");
    value_put_time(out, sum->last_time_ms);
    text_add(out, ",\"count\":%" PRId64 ",\"not_finite\":%" PRId64 ",\"first\":", sum->count, sum->not_finite);
    value_put_metric(out, sum->first);
    text_string(out, ",\"last\":");
    value_put_metric(out, sum->last);
    text_string(out, ",\"min\":");
    value_put_real(out, sum->min);
    text_string(out, ",\"max\":");
    value_put_real(out, sum->max);
    if (b->of_member) {
        text_add(out, ",\"attempt\":%" PRId64 ",\"area\":", sum->attempt);
        value_put_real(out, sum->area);
    }
    text_string(out, "}");
    b->any = true;
}

void buckets_end(struct buckets *buckets)
{
    if (buckets->sum.count > 0)
        write_bucket(buckets);
    buckets->sum.count = 0;
}

void buckets_add(struct buckets *b, const struct series_point *point)
{
    uint64_t at = ((uint64_t)point->step - (uint64_t)b->from) / b->width;

    if (b->sum.count > 0 && at == b->at) {
        series_point_merge(&b->sum, point);
        return;
    }
    buckets_end(b);
    b->at = at;
    b->sum = *point;
}
