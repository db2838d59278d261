#include "tests/unit/mpi_rig.h"

#include "tasks/member/fortran/stretto_mpi_shim.c"

char place[160];
struct spec_field spec[SPEC_MAX];
struct rank0_stream stream;
bool by_fortran;
int short_rank = -1;
_Thread_local int left;
static _Thread_local int this_rank;

static bool is_short(void)
{
    return this_rank == short_rank && left-- == 0;
}

void *few_malloc(size_t size)
{
    return is_short() ? NULL : malloc(size);
}

void *few_realloc(void *old, size_t size)
{
    return is_short() ? NULL : realloc(old, size);
}

struct stretto {
    int fields;
    struct {
        void *lent;
        int64_t extent;
    } field[SPEC_MAX];
};

size_t size_of(int dtype)
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

int stretto_describe(struct stretto *s, const char *name, enum stretto_dtype *dtype, int *ndim,
                     int64_t shape[STRETTO_NDIM_MAX])
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

void nothing_is_sent(int field, int64_t step, int64_t extent, const void *data)
{
    WANT(!"sent");
}

int begin(void **state)
{
    static const int64_t shape[STRETTO_NDIM_MAX] = {5, 3, 4, 6};

    memset(&stream, 0, sizeof stream);
    memset(spec, 0, sizeof spec);
    spec[0].dtype = STRETTO_FLOAT64;
    spec[0].ndim = 2;
    memcpy(spec[0].shape, shape, sizeof shape);
    by_fortran = false;
    short_rank = -1;
    unsetenv("STRETTO_NTASKS");
    return 0;
}

int open_stream(struct stretto_mpi **out, int rank)
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

int declare(struct stretto_mpi *m, const char *name, int dtype, const struct stretto_block *b)
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
