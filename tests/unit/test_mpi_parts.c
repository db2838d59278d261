/* stretto-mpi.h and the functions of its Fortran module, in a small MPI whose ranks are threads (tests/unit/mpi): each point of
 * each block comes to its place, all processes are told the same, none is left waiting, and nothing is left over. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory as the header gets it: of rank `short_rank`, the call after `left` others fails. */
static int short_rank = -1;
static _Thread_local int this_rank, left;

static bool is_short(void)
{
    return this_rank == short_rank && left-- == 0;
}

static void *few_malloc(size_t size)
{
    return is_short() ? NULL : malloc(size);
}

static void *few_realloc(void *old, size_t size)
{
    return is_short() ? NULL : realloc(old, size);
}

#define malloc few_malloc
#define realloc few_realloc
#include "tasks/member/fortran/stretto_mpi_shim.c"
#undef malloc
#undef realloc

/* Says what does not hold, and where. */
#define WANT(condition)                                                                                                             \
    do                                                                                                                              \
        if (!(condition))                                                                                                           \
            fake_mpi_fail("%s, line %d: %s is false", place, __LINE__, #condition);                                                 \
    while (0)

static char place[160];

/* --- rank 0's stream, as libstretto promises it */

#define SPEC_MAX 64

static struct {
    enum stretto_dtype dtype;
    int ndim;
    int64_t shape[STRETTO_NDIM_MAX];
} spec[SPEC_MAX];

static struct {
    bool idle, no_open, no_finish, finished;
    int send_fails, lend_fails; /* counted down: the call at which it is 1 fails */
    void (*sent)(int field, int64_t step, int64_t extent, const void *data);
} stream;

struct stretto {
    int fields;
    struct {
        void *lent;
        int64_t extent;
    } field[SPEC_MAX];
};

static size_t size_of(int dtype)
{
    return dtype == STRETTO_UINT8 ? 1 : dtype == STRETTO_FLOAT64 || dtype == STRETTO_INT64 ? 8 : 4;
}

int stretto_open(struct stretto **out)
{
    *out = calloc(1, sizeof **out);
    return stream.no_open ? -1 : 0;
}

int stretto_active(const struct stretto *s)
{
    return !stream.idle;
}

const char *stretto_error(const struct stretto *s)
{
    return stream.no_open ? "it does not open" : stream.no_finish ? "it does not finish" : "it is refused";
}

int stretto_describe(struct stretto *s, const char *name, enum stretto_dtype *dtype, int *ndim, int64_t shape[STRETTO_NDIM_MAX])
{
    int i = atoi(name);

    if (stream.idle)
        return 0;
    *dtype = spec[i].dtype;
    *ndim = spec[i].ndim;
    memcpy(shape, spec[i].shape, sizeof spec[i].shape);
    return 1;
}

/* Fields are numbered from 0, and named so. */
int stretto_field(struct stretto *s, const char *name, enum stretto_dtype dtype, int ndim, const int64_t *shape)
{
    int i = atoi(name);

    if (stream.idle)
        return i;
    if (ndim != spec[i].ndim || memcmp(shape, spec[i].shape, sizeof *shape * (size_t)ndim) != 0 ||
        (dtype != spec[i].dtype && (dtype != STRETTO_FLOAT64 || spec[i].dtype != STRETTO_FLOAT32)))
        return -1;
    return i;
}

int stretto_lend_extent(struct stretto *s, int field, int64_t extent, void **data)
{
    size_t size = size_of(spec[field].dtype);

    if (stream.lend_fails > 0 && --stream.lend_fails == 0)
        return -1;
    for (int d = 0; d < spec[field].ndim; d++)
        size *= (size_t)(d == 0 && spec[field].shape[0] == -1 ? extent : spec[field].shape[d]);
    free(s->field[field].lent);
    *data = s->field[field].lent = malloc(size > 0 ? size : 1);
    memset(*data, 0xee, size);
    s->field[field].extent = extent;
    return 0;
}

int stretto_lend(struct stretto *s, int field, void **data)
{
    return stretto_lend_extent(s, field, 0, data);
}

int stretto_send_lent(struct stretto *s, int field, int64_t step)
{
    if (stream.send_fails > 0 && --stream.send_fails == 0)
        return -1;
    WANT(s->field[field].lent != NULL);
    stream.sent(field, step, s->field[field].extent, s->field[field].lent);
    free(s->field[field].lent);
    s->field[field].lent = NULL;
    return 0;
}

double stretto_time_left(const struct stretto *s)
{
    return 77.5;
}

int stretto_finish(struct stretto *s)
{
    stream.finished = !stream.no_finish;
    return stream.no_finish ? -1 : 0;
}

void stretto_abort(struct stretto *s)
{
    for (int i = 0; i < SPEC_MAX; i++)
        free(s->field[i].lent);
    free(s);
}

static void nothing_is_sent(int field, int64_t step, int64_t extent, const void *data)
{
    WANT(!"sent");
}

/* --- blocks of all shapes */

static enum stretto_dtype given; /* the type of the arrays */
static bool by_fortran;          /* through the functions that the Fortran module calls */

static int open_stream(struct stretto_mpi **out, int rank)
{
    this_rank = rank;
    return by_fortran ? stretto_mpi_f_open(out, MPI_COMM_WORLD) : stretto_mpi_open(out, MPI_COMM_WORLD);
}

/* An array of Fortran has as many elements as the field has dimensions. */
static int *extents_of(int ndim, const int *from)
{
    int *to = calloc((size_t)ndim, sizeof *to);

    memcpy(to, from, (size_t)(ndim < STRETTO_NDIM_MAX ? ndim : STRETTO_NDIM_MAX) * sizeof *to);
    return to;
}

static int declare(struct stretto_mpi *m, const char *name, int dtype, const struct stretto_block *b)
{
    int *given_to[5], rc;

    if (!by_fortran || b->ndim < 0)
        return stretto_mpi_field(m, name, (enum stretto_dtype)dtype, b);
    given_to[0] = extents_of(b->ndim, b->whole);
    given_to[1] = extents_of(b->ndim, b->start);
    given_to[2] = extents_of(b->ndim, b->count);
    given_to[3] = extents_of(b->ndim, b->local);
    given_to[4] = extents_of(b->ndim, b->offset);
    rc = stretto_mpi_f_field(m, name, dtype, b->ndim, given_to[0], given_to[1], given_to[2], given_to[3], given_to[4]);
    for (int i = 0; i < 5; i++)
        free(given_to[i]);
    return rc;
}

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

/* Cuts the field along one dimension into parts that differ; the last process has none where there are more than two. */
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

static int begin(void **state)
{
    static const int64_t shape[STRETTO_NDIM_MAX] = {5, 3, 4, 6};

    memset(&stream, 0, sizeof stream);
    memset(spec, 0, sizeof spec);
    spec[0].dtype = given = STRETTO_FLOAT64;
    spec[0].ndim = 2;
    memcpy(spec[0].shape, shape, sizeof shape);
    by_fortran = false;
    short_rank = -1;
    cut_along = 0;
    rim = 1;
    unsetenv("STRETTO_NTASKS");
    return 0;
}

static void each_point_comes_to_its_place(void **state)
{
    static const enum stretto_dtype types[][2] = {{STRETTO_FLOAT32, STRETTO_FLOAT32}, {STRETTO_FLOAT64, STRETTO_FLOAT64},
                                                  {STRETTO_FLOAT64, STRETTO_FLOAT32}, {STRETTO_INT32, STRETTO_INT32},
                                                  {STRETTO_INT64, STRETTO_INT64},     {STRETTO_UINT8, STRETTO_UINT8}};

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
    static const enum stretto_dtype types[][2] = {{STRETTO_FLOAT64, STRETTO_FLOAT32}, {STRETTO_FLOAT64, STRETTO_FLOAT64},
                                                  {STRETTO_INT64, STRETTO_INT64}, {STRETTO_UINT8, STRETTO_UINT8}};

    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (ranks_now = 1; ranks_now <= 4; ranks_now++) {
            snprintf(place, sizeof place, "particles of type %d as %d, %d ranks", (int)types[t][0], (int)types[t][1], ranks_now);
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

/* --- mistakes */

static const struct {
    const char *name, *reason;
    int rank;
    struct stretto_block block; /* of that rank, in place of its own */
    int dtype;
} mistakes[] = {
    {"dimensions", "field \"0\", process 1: a field has from 0 to 4 dimensions", 1, {.ndim = 5}, STRETTO_FLOAT64},
    {"below", "field \"0\", process 0: an extent of the field is below 1", 0, {.ndim = 2, .whole = {0, 4}}, STRETTO_FLOAT64},
    {"type", "field \"0\", process 2: its type is none of enum stretto_dtype", 2,
     {.ndim = 2, .whole = {3, 4}, .start = {2, 0}, .count = {1, 4}}, 9},
    {"other type", "field \"0\", process 2: it has another type or shape of the field than process 0", 2,
     {.ndim = 2, .whole = {3, 4}, .start = {2, 0}, .count = {1, 4}}, STRETTO_FLOAT32},
    {"other shape", "field \"0\", process 2: it has another type or shape of the field than process 0", 2,
     {.ndim = 2, .whole = {4, 4}, .start = {2, 0}, .count = {1, 4}}, STRETTO_FLOAT64},
    {"negative", "field \"0\", process 2: its block does not lie in the field", 2,
     {.ndim = 2, .whole = {3, 4}, .start = {2, 0}, .count = {1, -4}}, STRETTO_FLOAT64},
    {"before", "field \"0\", process 2: its block does not lie in the field", 2,
     {.ndim = 2, .whole = {3, 4}, .start = {2, -1}, .count = {1, 4}}, STRETTO_FLOAT64},
    {"outside", "field \"0\", process 2: its block does not lie in the field", 2,
     {.ndim = 2, .whole = {3, 4}, .start = {3, 0}, .count = {1, 4}}, STRETTO_FLOAT64},
    {"array", "field \"0\", process 1: its block does not lie in its array", 1,
     {.ndim = 2, .whole = {3, 4}, .start = {1, 0}, .count = {1, 4}, .local = {2, 5}, .offset = {1, 2}}, STRETTO_FLOAT64},
    {"overlap", "field \"0\": the blocks of processes 0 and 1 overlap", 1,
     {.ndim = 2, .whole = {3, 4}, .start = {0, 3}, .count = {2, 1}}, STRETTO_FLOAT64},
    {"hole", "field \"0\": the blocks do not cover it", 1, {.ndim = 2, .whole = {3, 4}, .start = {1, 1}, .count = {1, 3}},
     STRETTO_FLOAT64},
    {"placed", "field \"0\", process 2: where the first extent varies, a block has no place: the rest of it is 0", 2,
     {.ndim = 2, .whole = {-1, 4}, .count = {1, 0}}, STRETTO_FLOAT64},
};

static size_t mistake;

static struct stretto_block row_of(int rank)
{
    return (struct stretto_block){.ndim = 2, .whole = {3, 4}, .start = {rank, 0}, .count = {1, 4}};
}

static void make_mistake(int rank, int ranks)
{
    struct stretto_block right = row_of(rank), wrong = rank == mistakes[mistake].rank ? mistakes[mistake].block : right;
    struct stretto_mpi *m;

    WANT(open_stream(&m, rank) == 0);
    WANT(declare(m, "0", rank == mistakes[mistake].rank ? mistakes[mistake].dtype : STRETTO_FLOAT64, &wrong) == -1);
    if (strncmp(stretto_mpi_error(m), mistakes[mistake].reason, strlen(mistakes[mistake].reason)) != 0)
        fake_mpi_fail("%s: it says: %s", place, stretto_mpi_error(m));
    WANT(declare(m, "0", STRETTO_FLOAT64, &right) == 0); /* a mistake costs nothing */
    stretto_mpi_abort(m);
}

static void all_are_told_of_a_mistake(void **state)
{
    spec[0].shape[0] = 3;
    spec[0].shape[1] = 4;
    for (mistake = 0; mistake < sizeof mistakes / sizeof *mistakes; mistake++) {
        snprintf(place, sizeof place, "mistake: %s", mistakes[mistake].name);
        by_fortran = mistake % 2 == 0 || mistakes[mistake].block.ndim > STRETTO_NDIM_MAX;
        fake_mpi_run(3, make_mistake);
    }
}

static void send_wrongly(int rank, int ranks)
{
    struct stretto_block varies = {.ndim = 2, .whole = {-1, 4}}, row = row_of(rank);
    double own[12] = {0};
    struct stretto_mpi *m;

    WANT(open_stream(&m, rank) == 0);
    WANT(declare(m, "1", STRETTO_FLOAT64, &varies) == 0 && declare(m, "0", STRETTO_FLOAT64, &row) == 1);
    WANT(stretto_mpi_send(m, -1, 0, own) == -1 && strcmp(stretto_mpi_error(m), "this field was not declared") == 0);
    WANT(stretto_mpi_send(m, 2, 0, own) == -1 && stretto_mpi_send_extent(m, 2, 0, 1, own) == -1);
    WANT(stretto_mpi_send(m, 0, 0, own) == -1 && stretto_mpi_send_extent(m, 1, 0, 1, own) == -1);
    /* what rank 0 finds is told by the next call */
    WANT(stretto_mpi_send_extent(m, 0, 0, rank == 1 ? -3 : 2, own) == 0);
    WANT(stretto_mpi_send(m, 1, 1, own) == -1);
    WANT(strcmp(stretto_mpi_error(m), "process 1 has a negative count of entries") == 0);
    WANT(stretto_mpi_close(m) == -1);
}

static void a_wrong_send_is_told_to_all(void **state)
{
    snprintf(place, sizeof place, "wrong sends");
    spec[0].shape[0] = 3;
    spec[0].shape[1] = spec[1].shape[1] = 4;
    spec[1].shape[0] = -1;
    spec[1].ndim = 2;
    spec[1].dtype = STRETTO_FLOAT64;
    stream.sent = nothing_is_sent;
    fake_mpi_run(3, send_wrongly);
}

static void declare_too_many(int rank, int ranks)
{
    struct stretto_block one = {.ndim = 1, .whole = {1}, .count = {rank == 0}};
    struct stretto_mpi *m;
    char name[16];

    WANT(open_stream(&m, rank) == 0);
    for (int i = 0; i < SPEC_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        WANT(declare(m, name, STRETTO_FLOAT64, &one) == i);
    }
    WANT(declare(m, "0", STRETTO_FLOAT64, &one) == -1);
    stretto_mpi_abort(m);
}

static void there_are_as_many_fields_as_a_stream_may_have(void **state)
{
    snprintf(place, sizeof place, "fields");
    for (int i = 0; i < SPEC_MAX; i++) {
        spec[i].dtype = STRETTO_FLOAT64;
        spec[i].ndim = 1;
        spec[i].shape[0] = 1;
    }
    fake_mpi_run(2, declare_too_many);
}

/* --- failures of rank 0's stream */

static bool opens;

static void fail_somewhere(int rank, int ranks)
{
    struct stretto_block row = row_of(rank);
    int failed_at = -1;
    double own[4] = {0};
    struct stretto_mpi *m;

    WANT(open_stream(&m, rank) == (opens ? 0 : -1));
    if (!opens) {
        WANT(*stretto_mpi_error(m) != '\0' && !stretto_mpi_active(m));
        stretto_mpi_abort(m);
        return;
    }
    WANT(declare(m, "0", STRETTO_FLOAT64, &row) == 0);
    for (int step = 0; step < 5 && failed_at < 0; step++)
        if (stretto_mpi_send(m, 0, step, own) < 0)
            failed_at = step;
    if (stream.no_finish) {
        WANT(failed_at < 0 && stretto_mpi_finish(m) == -1);
        WANT(strcmp(stretto_mpi_error(m), "it does not finish") == 0);
        WANT(stretto_mpi_close(m) == -1);
        return;
    }
    WANT(failed_at == steps_sent);
    WANT(strcmp(stretto_mpi_error(m), "it is refused") == 0 && stretto_mpi_finish(m) == -1 && stretto_mpi_close(m) == -1);
}

static void send_anything(int field, int64_t step, int64_t extent, const void *data)
{
}

static void all_are_told_of_a_failure_one_step_later(void **state)
{
    spec[0].shape[0] = 3;
    spec[0].shape[1] = 4;
    stream.sent = send_anything;
    opens = true;
    for (int at = 1; at <= 4; at++) { /* the send of step at - 1 */
        snprintf(place, sizeof place, "send %d fails", at);
        stream.send_fails = steps_sent = at;
        fake_mpi_run(3, fail_somewhere);
        snprintf(place, sizeof place, "lend %d fails", at);
        stream.lend_fails = at + 1; /* the first is made when the field is declared */
        fake_mpi_run(3, fail_somewhere);
    }
    snprintf(place, sizeof place, "it does not finish");
    stream.no_finish = true;
    fake_mpi_run(3, fail_somewhere);
}

static void all_are_told_that_it_does_not_open(void **state)
{
    snprintf(place, sizeof place, "it does not open");
    opens = false;
    stream.no_open = true;
    fake_mpi_run(3, fail_somewhere);
    stream.no_open = false;
    snprintf(place, sizeof place, "the launcher of another MPI");
    setenv("STRETTO_NTASKS", "4", 1);
    fake_mpi_run(1, fail_somewhere);
    fake_mpi_run(3, fail_somewhere);
    opens = true;
    stream.no_finish = true;
    stream.sent = send_anything;
    spec[0].shape[0] = 3;
    spec[0].shape[1] = 4;
    for (int i = 0; i < 3; i++) {
        static const char *const fitting[] = {"3", "1", "x"};

        setenv("STRETTO_NTASKS", fitting[i], 1);
        fake_mpi_run(3, fail_somewhere);
    }
}

/* --- memory */

static int memory_left;
static int rc_of[3][8];

static void run_short(int rank, int ranks)
{
    struct stretto_block row = row_of(rank), varies = {.ndim = 2, .whole = {-1, 4}};
    double own[8] = {0};
    struct stretto_mpi *m;
    int *rc = rc_of[rank];

    memset(rc, 0, sizeof rc_of[rank]);
    left = memory_left;
    rc[0] = open_stream(&m, rank);
    if (rc[0] == 0) {
        rc[1] = declare(m, "0", STRETTO_FLOAT64, &row);
        rc[2] = declare(m, "1", STRETTO_FLOAT64, &varies);
    }
    if (rc[0] == 0 && rc[1] >= 0)
        rc[3] = stretto_mpi_send(m, rc[1], 0, own);
    if (rc[0] == 0 && rc[2] >= 0) {
        rc[4] = stretto_mpi_send_extent(m, rc[2], 0, 1, own);
        rc[5] = stretto_mpi_send_extent(m, rc[2], 1, 2, own);
    }
    if (rc[0] == 0)
        rc[6] = stretto_mpi_finish(m);
    rc[7] = *stretto_mpi_error(m) != '\0';
    stretto_mpi_abort(m);
}

/* Whatever process lacks memory for whatever: all are told the same, or that process's own library ends all of them. */
static void who_lacks_memory_hangs_nobody(void **state)
{
    int failures = 0;

    spec[0].shape[0] = 3;
    spec[0].shape[1] = spec[1].shape[1] = 4;
    spec[1].shape[0] = -1;
    spec[0].dtype = spec[1].dtype = STRETTO_FLOAT32;
    spec[1].ndim = 2;
    stream.sent = send_anything;
    for (short_rank = 0; short_rank < 3; short_rank++)
        for (memory_left = 0; memory_left < 12; memory_left++) {
            snprintf(place, sizeof place, "rank %d has no memory after %d calls", short_rank, memory_left);
            fake_mpi_run(3, run_short);
            for (int r = 1; r < 3; r++)
                WANT(memcmp(rc_of[r], rc_of[0], sizeof rc_of[0]) == 0);
            failures += rc_of[0][7];
        }
    assert_true(failures >= 9);
}

static void what_is_not_there_can_be_closed(void **state)
{
    assert_int_equal(stretto_mpi_close(NULL), 0);
    stretto_mpi_abort(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_point_comes_to_its_place, begin),
        cmocka_unit_test_setup(where_the_stream_is_idle_nothing_is_sent, begin),
        cmocka_unit_test_setup(parts_that_vary_come_one_behind_the_other, begin),
        cmocka_unit_test_setup(all_are_told_of_a_mistake, begin),
        cmocka_unit_test_setup(a_wrong_send_is_told_to_all, begin),
        cmocka_unit_test_setup(there_are_as_many_fields_as_a_stream_may_have, begin),
        cmocka_unit_test_setup(all_are_told_of_a_failure_one_step_later, begin),
        cmocka_unit_test_setup(all_are_told_that_it_does_not_open, begin),
        cmocka_unit_test_setup(who_lacks_memory_hangs_nobody, begin),
        cmocka_unit_test(what_is_not_there_can_be_closed),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
