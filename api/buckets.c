#include "api/buckets.h"

#include "api/value.h"

#include <inttypes.h>
#include <math.h>

void buckets_init(struct buckets *buckets, struct text *out, int64_t from, int64_t to, int64_t n)
{
    uint64_t span = (uint64_t)to - (uint64_t)from, width = span / (uint64_t)n + 1;

    *buckets = (struct buckets){.out = out, .from = from, .width = width > 0 ? width : UINT64_MAX};
}

static void write_bucket(struct buckets *b)
{
    struct text *out = b->out;

    text_add(out, "%s{\"step\":%" PRId64 ",\"last_step\":%" PRId64 ",\"time\":", b->any ? "," : "", b->first.step,
             b->last.step);
    value_put_time(out, b->first.time_ms);
    text_string(out, ",\"last_time\":");
    value_put_time(out, b->last.time_ms);
    text_add(out, ",\"count\":%" PRId64 ",\"not_finite\":%" PRId64 ",\"first\":", b->count, b->not_finite);
    value_put_real(out, b->first.value);
    text_string(out, ",\"last\":");
    value_put_real(out, b->last.value);
    text_string(out, ",\"min\":");
    value_put_real(out, b->min);
    text_string(out, ",\"max\":");
    value_put_real(out, b->max);
    text_string(out, "}");
    b->any = true;
}

void buckets_end(struct buckets *buckets)
{
    if (buckets->count > 0)
        write_bucket(buckets);
    buckets->count = 0;
}

void buckets_add(struct buckets *b, const struct metric_point *point)
{
    uint64_t at = ((uint64_t)point->step - (uint64_t)b->from) / b->width;

    if (b->count == 0 || at != b->at) {
        buckets_end(b);
        b->at = at;
        b->not_finite = 0;
        b->first = *point;
        b->min = b->max = NAN;
    }
    b->last = *point;
    b->count++;
    b->not_finite += !isfinite(point->value);
    if (isfinite(point->value)) {
        b->min = b->min <= point->value ? b->min : point->value; /* also replaces a NaN */
        b->max = b->max >= point->value ? b->max : point->value;
    }
}
