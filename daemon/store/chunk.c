#include "daemon/store/chunk.h"

#include "daemon/store/series.h"

#include <endian.h>
#include <string.h>

/* An entry is the number of its 64-bit fields, in a byte, and the fields: ONE for a point, MERGED for several. */
enum { ONE = 5, MERGED = 13 };

static size_t entry_size(int fields)
{
    return 1 + (size_t)fields * sizeof(uint64_t);
}

static void write_field(unsigned char *to, const void *field)
{
    uint64_t n;

    memcpy(&n, field, sizeof n);
    n = htobe64(n);
    memcpy(to, &n, sizeof n);
}

static void read_field(const unsigned char *from, void *field)
{
    uint64_t n;

    memcpy(&n, from, sizeof n);
    n = be64toh(n);
    memcpy(field, &n, sizeof n);
}

/* Lists the fields of a point, those of every entry first. */
static void list_fields(struct series_point *p, void *out[MERGED])
{
    void *all[MERGED] = {&p->step,  &p->time_ms,    &p->attempt, &p->last, &p->area, &p->last_step, &p->last_time_ms,
                         &p->count, &p->not_finite, &p->first,   &p->min,  &p->max,  &p->within};

    memcpy(out, all, sizeof all);
}

bool chunk_add(struct chunk *chunk, const struct series_point *point)
{
    struct series_point p = *point;
    int n = p.count == 1 ? ONE : MERGED;
    void *fields[MERGED];

    if (entry_size(n) > CHUNK_SIZE - chunk->size)
        return false;
    list_fields(&p, fields);
    chunk->bytes[chunk->size++] = (unsigned char)n;
    for (int i = 0; i < n; i++, chunk->size += sizeof(uint64_t))
        write_field(chunk->bytes + chunk->size, fields[i]);
    return true;
}

bool chunk_next(const struct chunk *chunk, size_t *at, struct series_point *point)
{
    int n = *at < chunk->size ? chunk->bytes[*at] : 0;
    void *fields[MERGED];

    if ((n != ONE && n != MERGED) || entry_size(n) > chunk->size - *at)
        return false;
    list_fields(point, fields);
    for (int i = 0; i < n; i++)
        read_field(chunk->bytes + *at + 1 + (size_t)i * sizeof(uint64_t), fields[i]);
    if (n == ONE)
        *point = series_point_of(point->step, point->time_ms, point->attempt, point->last, point->area);
    *at += entry_size(n);
    return true;
}

size_t chunk_last(const struct chunk *chunk)
{
    struct series_point p;
    size_t last = 0;

    for (size_t at = 0, begin = 0; chunk_next(chunk, &at, &p); begin = at)
        last = begin;
    return last;
}
