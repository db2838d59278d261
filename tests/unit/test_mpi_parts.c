/* stretto-mpi.h and the functions of its Fortran module: each point of each block comes to its place, whatever the
 * shape and the type of the field, and nothing is left over. */
#include "tests/unit/mpi_rig.h"

#include <stdio.h>
#include <string.h>

static enum stretto_dtype given; /* the type of the arrays */

/* A value that each type can have, another one at each place of a field with few points, and at each step. */
static double value_at(size_t index, int64_t step)
{
    return (double)((index * 7 + (size_t)step * 3 + 1) % 251);
}

static void put(void *data, int dtype, size_t at, double value)
{
    switch (dtype) {
    case STRETTO_FLOAT32: ((float *)data)[at] = (float)value; break;
    case STRETTO_FLOAT64: ((double *)data)[at] = value; break;
    case STRETTO_INT32: ((int32_t *)data)[at] = (int32_t)value; break;
    case STRETTO_INT64: ((int64_t *)data)[at] = (int64_t)value; break;
    default: ((uint8_t *)data)[at] = (uint8_t)value; break;
    }
}

static double get(const void *data, int dtype, size_t at)
{
    switch (dtype) {
    case STRETTO_FLOAT32: return ((const float *)data)[at];
    case STRETTO_FLOAT64: return ((const double *)data)[at];
    case STRETTO_INT32: return ((const int32_t *)data)[at];
    case STRETTO_INT64: return (double)((const int64_t *)data)[at];
    default: return ((const uint8_t *)data)[at];
    }
}

static int cut_along, rim;

/* Cuts the field along one dimension into parts that differ; the last process has none where there are more than
 * two. */
static struct stretto_block block_of(int rank, int ranks)
{
    int having = ranks > 2 ? ranks - 1 : ranks;
    struct stretto_block b = {.ndim = spec[0].ndim};

    for (int d = 0; d < b.ndim; d++) {
        b.whole[d] = b.count[d] = (int)spec[0].shape[d];
        if (d == cut_along) {
            b.start[d] = rank < having ? b.whole[d] * rank / having : 0;
            b.count[d] = rank < having ? b.whole[d] * (rank + 1) / having - b.start[d] : 0;
        }
        if (rim > 0) {
            b.offset[d] = rim + d;
            b.local[d] = b.count[d] + 2 * rim + 2 * d;
        }
    }
    return b;
}

static size_t points(int ndim, const int *extents)
{
    size_t n = 1;

    for (int d = 0; d < ndim; d++)
        n *= (size_t)extents[d];
    return n;
}

/* Fills a process's array: its block with the field's values, the rest with a value that the field does not have. */
static void fill(void *array, const struct stretto_block *b, int64_t step)
{
    const int *local = rim > 0 ? b->local : b->count;
    size_t all = points(b->ndim, local), of_block = points(b->ndim, b->count);

    for (size_t i = 0; i < all; i++)
        put(array, (int)given, i, 252);
    for (size_t i = 0; i < of_block; i++) {
        size_t rest = i, at = 0, index = 0, place_of[STRETTO_NDIM_MAX];

        for (int d = b->ndim - 1; d >= 0; d--) {
            place_of[d] = rest % (size_t)b->count[d];
            rest /= (size_t)b->count[d];
        }
        for (int d = 0; d < b->ndim; d++) {
            at = at * (size_t)local[d] + place_of[d] + (size_t)b->offset[d];
            index = index * (size_t)b->whole[d] + place_of[d] + (size_t)b->start[d];
        }
        put(array, (int)given, at, value_at(index, step));
    }
}

static int steps_sent;

static void check_whole(const void *data, int dtype, int64_t step)
{
    size_t n = 1;

    for (int d = 0; d < spec[0].ndim; d++)
        n *= (size_t)spec[0].shape[d];
    for (size_t i = 0; i < n; i++)
        if (get(data, dtype, i) != value_at(i, step))
            fake_mpi_fail("%s: point %zu of step %lld is %g, not %g", place, i, (long long)step, get(data, dtype, i),
                          value_at(i, step));
}

static void check_sent(int field, int64_t step, int64_t extent, const void *data)
{
    WANT(step == steps_sent);
    steps_sent++;
    check_whole(data, (int)spec[0].dtype, step);
}

static void send_blocks(int rank, int ranks)
{
    struct stretto_block b = block_of(rank, ranks);
    size_t n = points(b.ndim, rim > 0 ? b.local : b.count);
    unsigned char *array = malloc(n * size_of((int)given) + 1), *whole = NULL;
    size_t in_all = 1;
    struct stretto_mpi *m;
    int f;

    for (int d = 0; d < b.ndim; d++)
        in_all *= (size_t)b.whole[d];
    whole = malloc(in_all * size_of((int)given));
    WANT(open_stream(&m, rank) == 0);
    WANT((by_fortran ? stretto_mpi_f_active(m) : stretto_mpi_active(m)) == !stream.idle);
    f = declare(m, "0", (int)given, &b);
    WANT(f == 0);
    for (int64_t step = 0; step < 3; step++) {
        fill(array, &b, step);
        WANT((by_fortran ? stretto_mpi_f_send(m, f, step, array) : stretto_mpi_send(m, f, step, array)) == 0);
        stretto_mpi_gather(m, f, array, rank == 0 ? whole : NULL);
        if (rank == 0)
            check_whole(whole, (int)given, step);
        memset(array, 0xdd, n * size_of((int)given)); /* it may be written to again */
    }
    WANT((by_fortran ? stretto_mpi_f_time_left(m) : stretto_mpi_time_left(m)) == 77.5);
    WANT((by_fortran ? stretto_mpi_f_finish(m) : stretto_mpi_finish(m)) == 0);
    WANT(*(by_fortran ? stretto_mpi_f_error(m) : stretto_mpi_error(m)) == '\0');
    if (by_fortran)
        stretto_mpi_f_abort(m);
    else
        stretto_mpi_abort(m);
    free(array);
    free(whole);
}

static void run_blocks(int ranks, const char *what)
{
    snprintf(place, sizeof place, "%s: type %d as %d, %d dimensions cut along %d, rim %d, %d ranks", what, (int)given,
             (int)spec[0].dtype, spec[0].ndim, cut_along, rim, ranks);
    steps_sent = 0;
    stream.sent = stream.idle ? nothing_is_sent : check_sent;
    stream.finished = false;
    fake_mpi_run(ranks, send_blocks);
    WANT(steps_sent == (stream.idle ? 0 : 3) && stream.finished);
}

static int begin_blocks(void **state)
{
    given = STRETTO_FLOAT64;
    cut_along = 0;
    rim = 1;
    return begin(state);
}

static void each_point_comes_to_its_place(void **state)
{
    static const enum stretto_dtype types[][2] = {
        {STRETTO_FLOAT32, STRETTO_FLOAT32}, {STRETTO_FLOAT64, STRETTO_FLOAT64}, {STRETTO_FLOAT64, STRETTO_FLOAT32},
        {STRETTO_INT32, STRETTO_INT32},     {STRETTO_INT64, STRETTO_INT64},     {STRETTO_UINT8, STRETTO_UINT8}};

    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int ndim = 0; ndim <= STRETTO_NDIM_MAX; ndim++)
            for (int ranks = 1; ranks <= (ndim == 0 ? 1 : 4); ranks++) {
                given = types[t][0];
                spec[0].dtype = types[t][1];
                spec[0].ndim = ndim;
                cut_along = (ranks + (int)t) % (ndim > 0 ? ndim : 1);
                rim = (ranks + (int)t) % 2;
                by_fortran = ranks % 2 == 0;
                run_blocks(ranks, "blocks");
            }
}

static void where_the_stream_is_idle_nothing_is_sent(void **state)
{
    stream.idle = true;
    for (int ranks = 1; ranks <= 3; ranks++)
        run_blocks(ranks, "idle");
}

/* --- a field whose first extent varies */

static int count_of(int rank, int64_t step)
{
    return (int)((rank * 3 + step * (rank + 2)) % 5); /* 0 now and then */
}

static int ranks_now;

static void check_particles(int field, int64_t step, int64_t extent, const void *data)
{
    int64_t wanted = 0;

    WANT(step == steps_sent);
    steps_sent++;
    for (int r = 0; r < ranks_now; r++)
        wanted += count_of(r, step);
    WANT(extent == wanted);
    for (size_t i = 0; i < (size_t)(3 * extent); i++)
        WANT(get(data, (int)spec[0].dtype, i) == value_at(i, step));
}

static void send_particles(int rank, int ranks)
{
    struct stretto_block b = {.ndim = 2, .whole = {-1, 3}};
    struct stretto_mpi *m;
    int f;

    WANT(open_stream(&m, rank) == 0);
    f = declare(m, "0", (int)given, &b);
    WANT(f == 0);
    for (int64_t step = 0; step < 8; step++) {
        int before = 0, count = count_of(rank, step);
        void *own = malloc((size_t)count * 3 * size_of((int)given) + 1);

        for (int r = 0; r < rank; r++)
            before += count_of(r, step);
        for (int i = 0; i < 3 * count; i++)
            put(own, (int)given, (size_t)i, value_at((size_t)(3 * before + i), step));
        WANT((by_fortran ? stretto_mpi_f_send_extent(m, f, step, count, own)
                         : stretto_mpi_send_extent(m, f, step, count, own)) == 0);
        free(own);
    }
    WANT(stretto_mpi_close(m) == 0);
}

static void parts_that_vary_come_one_behind_the_other(void **state)
{
    static const enum stretto_dtype types[][2] = {{STRETTO_FLOAT64, STRETTO_FLOAT32},
                                                  {STRETTO_FLOAT64, STRETTO_FLOAT64},
                                                  {STRETTO_INT64, STRETTO_INT64},
                                                  {STRETTO_UINT8, STRETTO_UINT8}};

    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (ranks_now = 1; ranks_now <= 4; ranks_now++) {
            snprintf(place, sizeof place, "particles of type %d as %d, %d ranks", (int)types[t][0], (int)types[t][1],
                     ranks_now);
            given = types[t][0];
            spec[0].dtype = types[t][1];
            spec[0].ndim = 2;
            spec[0].shape[0] = -1;
            by_fortran = ranks_now % 2 == 0;
            steps_sent = 0;
            stream.sent = check_particles;
            fake_mpi_run(ranks_now, send_particles);
            WANT(steps_sent == 8);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_point_comes_to_its_place, begin_blocks),
        cmocka_unit_test_setup(where_the_stream_is_idle_nothing_is_sent, begin_blocks),
        cmocka_unit_test_setup(parts_that_vary_come_one_behind_the_other, begin_blocks),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
