/* stretto-mpi.h — the fields of an MPI program, put together from its processes' blocks and sent by one of them.
 *
 * Each process holds a block of a field, in an array of its own that may have a rim (ghost cells) around it. Every
 * process calls the functions below, in the same order: they are collective over the communicator, and return the same
 * result everywhere. The blocks travel by derived types straight from the arrays into the send buffer of rank 0's
 * stream (stretto.h); if the spec wants float32 of a float64 field, each process narrows its own block first. If the
 * program is not run under stretto, nothing is gathered either.
 *
 * libstretto does not use MPI: this header is compiled by the program's own MPI compiler, into static functions. It
 * needs MPI 3.0 and C99 or C++.
 *
 *     struct stretto_mpi *stream;
 *     struct stretto_block block = {.ndim = 2, .whole = {ny, nx}, .start = {y0, x0}, .count = {rows, columns},
 *                                   .local = {rows + 2, columns + 2}, .offset = {1, 1}};
 *
 *     if (stretto_mpi_open(&stream, MPI_COMM_WORLD) < 0 ||
 *         (temperature = stretto_mpi_field(stream, "temperature", STRETTO_FLOAT64, &block)) < 0)
 *         …stretto_mpi_error(stream)…
 *     for (step = 1; step <= steps; step++)
 *         …
 *         if (stretto_mpi_send(stream, temperature, step, u) < 0)
 *     …
 *     if (stretto_mpi_close(stream) < 0) */
#ifndef STRETTO_MPI_H
#define STRETTO_MPI_H

#include <mpi.h>
#include <stretto.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A process's part of a field, in elements, C order; each array has `ndim` entries. */
struct stretto_block {
    int ndim; /* from 0 to STRETTO_NDIM_MAX */
    /* extents of the field: the same on every process, and the spec's shape; if the first is -1 it varies: then all
     * members below are 0, see stretto_mpi_send_extent() */
    int whole[STRETTO_NDIM_MAX];
    int start[STRETTO_NDIM_MAX];  /* the place of this process's block in the field */
    int count[STRETTO_NDIM_MAX];  /* extents of the block; one of them is 0 if this process has none */
    int local[STRETTO_NDIM_MAX];  /* extents of its array; all 0 if the array is just the block */
    int offset[STRETTO_NDIM_MAX]; /* the place of the block in the array */
};

struct stretto_mpi;

/* Opens the stream on rank 0 of `comm`. Fails, too, if the launcher belonged to another MPI than the program's: each
 * process is then alone in a world of its own, and would send everything. On failure *out is still a handle, valid only
 * for stretto_mpi_error() and stretto_mpi_abort(). */
static inline int stretto_mpi_open(struct stretto_mpi **out, MPI_Comm comm);

/* Returns 1 if the stream leads to a training. Not collective. */
static inline int stretto_mpi_active(const struct stretto_mpi *m);

/* Declares a field, in the type of the processes' arrays; float64 may be float32 in the spec. The blocks must cover the
 * field, each point once. Returns its number, or -1. */
static inline int stretto_mpi_field(struct stretto_mpi *m, const char *name, enum stretto_dtype dtype,
                                    const struct stretto_block *block);

/* Sends one time step of a field; `local` is this process's array, and may be written to again at once. A failure of
 * rank 0 to send it is returned by the next call (one step later, or by stretto_mpi_close()), so that the other
 * processes need not wait for it. */
static inline int stretto_mpi_send(struct stretto_mpi *m, int field, int64_t step, const void *local);

/* Does the same for a field whose first extent varies, such as particles. `local` holds this process's part of it,
 * `count` times the other extents, contiguous. It is not read if count is 0. The parts of all processes are sent one
 * behind the other, in the order of their ranks. */
static inline int stretto_mpi_send_extent(struct stretto_mpi *m, int field, int64_t step, int count, const void *local);

/* Puts the blocks together in `whole` on rank 0, in the declared type, for the program's own use. Works on an idle
 * stream, too, but not for a field that varies. `whole` is ignored on the other ranks. */
static inline void stretto_mpi_gather(struct stretto_mpi *m, int field, const void *local, void *whole);

/* Returns the seconds until the member's walltime ends, by rank 0's clock. */
static inline double stretto_mpi_time_left(struct stretto_mpi *m);

/* Waits until everything is acknowledged, and tells the training that this member has finished. Returns 0 only if
 * everything is acknowledged; otherwise -1 with the reason in stretto_mpi_error(). In either case, stretto_mpi_abort()
 * then frees the stream. */
static inline int stretto_mpi_finish(struct stretto_mpi *m);

/* Does the same as stretto_mpi_finish(), and frees the stream in either case, with a message on stderr on failure. NULL
 * is allowed. */
static inline int stretto_mpi_close(struct stretto_mpi *m);

/* Ends the stream without finishing. NULL is allowed. */
static inline void stretto_mpi_abort(struct stretto_mpi *m);

/* Returns the reason of the last failure, on every rank; "" if there was none. Not collective. */
static inline const char *stretto_mpi_error(const struct stretto_mpi *m);

/* Returns 0, or -1 with a sentence in `why` if MPI_COMM_WORLD has another size than the launcher was told
 * (STRETTO_NTASKS). stretto_mpi_open() calls this. Not collective. */
static inline int stretto_mpi_check_world(char *why, size_t size);

/* --- the implementation */

#define STRETTO_MPI_FIELDS_MAX_ 64

/* A process's declaration of a field. */
struct stretto_mpi_claim_ {
    struct stretto_block block;
    int dtype;
};

/* The types by which blocks of one element type travel to rank 0. */
struct stretto_mpi_way_ {
    MPI_Datatype mine;    /* this process's block, in the memory from which it is sent */
    MPI_Datatype *pieces; /* rank 0: each process's block in the whole; MPI_DATATYPE_NULL for a process that has none */
};

struct stretto_mpi_field_ {
    struct stretto_block block;
    int dtype, wire;               /* the element type of the processes, and of the stream */
    struct stretto_mpi_way_ given; /* from the arrays, as they are */
    struct stretto_mpi_way_ sent;  /* the same, or from `narrow` */
    float *narrow;
    void *lent;         /* rank 0: the next send buffer */
    int varies;         /* the first extent varies; then the members below are used */
    size_t unit, room;  /* elements of an entry; entries that fit into `narrow` */
    MPI_Datatype entry; /* as it travels */
    int *counts;        /* rank 0: entries of each process, and behind them their places */
    int number;         /* rank 0: its number in the stream */
};

/* The result that rank 0 sends to the others. */
struct stretto_mpi_word_ {
    int rc;
    int wire;
    char text[496];
};

struct stretto_mpi {
    MPI_Comm comm;
    int rank, size, active;
    struct stretto *stream; /* rank 0 */
    MPI_Request told;       /* the result of the last stretto_mpi_send() is on its way */
    struct stretto_mpi_word_ word;
    MPI_Request *requests; /* rank 0 */
    int fields, failed;
    struct stretto_mpi_field_ field[STRETTO_MPI_FIELDS_MAX_];
};

static inline int stretto_mpi_check_world(char *why, size_t size)
{
    const char *text = getenv("STRETTO_NTASKS");
    char *end;
    long wanted;
    int world;

    MPI_Comm_size(MPI_COMM_WORLD, &world);
    wanted = text != NULL ? strtol(text, &end, 10) : 1;
    /* a program that stretto starts as one process may be a script with a launcher of its own */
    if (text == NULL || end == text || *end != '\0' || wanted <= 1 || wanted == world)
        return 0;
    snprintf(why, size,
             "started as %ld processes (STRETTO_NTASKS), but the MPI world has %d: the launcher is missing, or it is "
             "that of another MPI than this program was built with",
             wanted, world);
    return -1;
}

/* Sends rank 0's result to all processes. */
static inline int stretto_mpi_agree_(struct stretto_mpi *m)
{
    MPI_Bcast(&m->word, (int)sizeof m->word, MPI_BYTE, 0, m->comm);
    return m->word.rc;
}

static inline int stretto_mpi_say_(struct stretto_mpi *m, const char *text)
{
    snprintf(m->word.text, sizeof m->word.text, "%s", text);
    m->word.rc = -1;
    return -1;
}

/* Waits for the result of the last stretto_mpi_send(). */
static inline int stretto_mpi_hear_(struct stretto_mpi *m)
{
    if (m->told != MPI_REQUEST_NULL) {
        MPI_Wait(&m->told, MPI_STATUS_IGNORE);
        m->failed = m->word.rc < 0;
    }
    return m->failed ? -1 : 0;
}

static inline int stretto_mpi_open(struct stretto_mpi **out, MPI_Comm comm)
{
    struct stretto_mpi *m = (struct stretto_mpi *)calloc(1, sizeof *m);
    char why[400];

    *out = m;
    if (m == NULL) {
        fprintf(stderr, "stretto_mpi_open(): out of memory\n");
        MPI_Abort(comm, EXIT_FAILURE);
    }
    MPI_Comm_dup(comm, &m->comm);
    MPI_Comm_rank(m->comm, &m->rank);
    MPI_Comm_size(m->comm, &m->size);
    m->told = MPI_REQUEST_NULL;
    if (m->rank == 0) {
        m->requests = (MPI_Request *)malloc((size_t)m->size * sizeof *m->requests);
        if (m->requests == NULL)
            stretto_mpi_say_(m, "no memory for the stream");
        else if (stretto_mpi_check_world(why, sizeof why) < 0)
            stretto_mpi_say_(m, why);
        else if (stretto_open(&m->stream) < 0)
            stretto_mpi_say_(m, stretto_error(m->stream));
        else
            m->word.wire = stretto_active(m->stream);
    }
    m->failed = stretto_mpi_agree_(m) < 0;
    m->active = m->word.wire && !m->failed;
    return m->failed ? -1 : 0;
}

static inline int stretto_mpi_active(const struct stretto_mpi *m)
{
    return m->active;
}

static inline const char *stretto_mpi_error(const struct stretto_mpi *m)
{
    return m->word.text;
}

static inline MPI_Datatype stretto_mpi_type_(int dtype)
{
    switch (dtype) {
    case STRETTO_FLOAT32: return MPI_FLOAT;
    case STRETTO_FLOAT64: return MPI_DOUBLE;
    case STRETTO_INT32: return MPI_INT32_T;
    case STRETTO_INT64: return MPI_INT64_T;
    case STRETTO_UINT8: return MPI_UINT8_T;
    default: return MPI_DATATYPE_NULL;
    }
}

/* Makes the type of a part of an array; MPI_DATATYPE_NULL if the part is empty. */
static inline MPI_Datatype stretto_mpi_part_(int ndim, const int *array, const int *part, const int *at, int dtype)
{
    MPI_Datatype type;

    for (int d = 0; d < ndim; d++)
        if (part[d] == 0)
            return MPI_DATATYPE_NULL;
    if (ndim == 0)
        MPI_Type_contiguous(1, stretto_mpi_type_(dtype), &type);
    else
        MPI_Type_create_subarray(ndim, array, part, at, MPI_ORDER_C, stretto_mpi_type_(dtype), &type);
    MPI_Type_commit(&type);
    return type;
}

static inline size_t stretto_mpi_elements_(int ndim, const int *extents)
{
    size_t n = 1;

    for (int d = 0; d < ndim; d++)
        n *= (size_t)extents[d];
    return n;
}

/* Returns what is wrong with a process's block by itself, or NULL. */
static inline const char *stretto_mpi_wrong_(const struct stretto_block *b)
{
    if (b->ndim < 0 || b->ndim > STRETTO_NDIM_MAX)
        return "a field has from 0 to 4 dimensions";
    for (int d = 0; d < b->ndim; d++) {
        if (b->whole[0] == -1 && (b->start[d] || b->count[d] || b->local[d] || b->offset[d]))
            return "where the first extent varies, a block has no place: the rest of it is 0";
        if (d == 0 && b->whole[0] == -1)
            continue;
        if (b->whole[d] < 1)
            return "an extent of the field is below 1";
        if (b->count[d] < 0 || b->start[d] < 0 || b->start[d] > b->whole[d] - b->count[d])
            return "its block does not lie in the field";
        if (b->offset[d] < 0 || b->offset[d] > b->local[d] - b->count[d])
            return "its block does not lie in its array";
    }
    return NULL;
}

static inline int stretto_mpi_meet_(const struct stretto_block *a, const struct stretto_block *b)
{
    for (int d = 0; d < a->ndim; d++)
        if (a->start[d] >= b->start[d] + b->count[d] || b->start[d] >= a->start[d] + a->count[d])
            return 0;
    return 1;
}

static inline size_t stretto_mpi_points_(const struct stretto_mpi_claim_ *c)
{
    return stretto_mpi_elements_(c->block.ndim, c->block.count);
}

/* Checks that the blocks of all processes make up the field; reports what is wrong. */
static inline int stretto_mpi_fit_(struct stretto_mpi *m, const struct stretto_mpi_claim_ *all, const char *name)
{
    size_t covered = 0;
    char text[300];

    for (int r = 0; r < m->size; r++) {
        const char *wrong = stretto_mpi_wrong_(&all[r].block);

        if (wrong == NULL && stretto_mpi_type_(all[r].dtype) == MPI_DATATYPE_NULL)
            wrong = "its type is none of enum stretto_dtype";
        if (wrong == NULL && (all[r].dtype != all[0].dtype || all[r].block.ndim != all[0].block.ndim ||
                              memcmp(all[r].block.whole, all[0].block.whole, sizeof(int) * (size_t)all[0].block.ndim)))
            wrong = "it has another type or shape of the field than process 0";
        if (wrong != NULL) {
            snprintf(text, sizeof text, "field \"%s\", process %d: %s", name, r, wrong);
            return stretto_mpi_say_(m, text);
        }
        covered += stretto_mpi_points_(&all[r]);
    }
    if (all[0].block.ndim > 0 && all[0].block.whole[0] == -1)
        return 0;
    for (int r = 0; r < m->size; r++)
        for (int q = 0; q < r; q++)
            if (stretto_mpi_points_(&all[r]) > 0 && stretto_mpi_points_(&all[q]) > 0 &&
                stretto_mpi_meet_(&all[r].block, &all[q].block)) {
                snprintf(text, sizeof text, "field \"%s\": the blocks of processes %d and %d overlap", name, q, r);
                return stretto_mpi_say_(m, text);
            }
    if (covered == stretto_mpi_elements_(all[0].block.ndim, all[0].block.whole))
        return 0;
    snprintf(text, sizeof text, "field \"%s\": the blocks do not cover it", name);
    return stretto_mpi_say_(m, text);
}

static inline MPI_Datatype *stretto_mpi_pieces_(const struct stretto_mpi *m, const struct stretto_mpi_claim_ *all,
                                                int dtype)
{
    MPI_Datatype *pieces = (MPI_Datatype *)malloc((size_t)m->size * sizeof *pieces);

    for (int r = 0; pieces != NULL && r < m->size; r++)
        pieces[r] =
            stretto_mpi_part_(all[r].block.ndim, all[r].block.whole, all[r].block.count, all[r].block.start, dtype);
    return pieces;
}

/* Rank 0: declares the field to the stream, and prepares to receive it. */
static inline int stretto_mpi_declare_(struct stretto_mpi *m, struct stretto_mpi_field_ *f,
                                       const struct stretto_mpi_claim_ *all, const char *name)
{
    int64_t shape[STRETTO_NDIM_MAX], known[STRETTO_NDIM_MAX];
    enum stretto_dtype dtype = (enum stretto_dtype)f->dtype, spec = dtype;
    int ndim;

    if (stretto_mpi_fit_(m, all, name) < 0)
        return -1;
    for (int d = 0; d < f->block.ndim; d++)
        shape[d] = f->block.whole[d];
    /* the field is declared with the program's own type first, to learn whether the spec accepts it, and then with the
     * type in which it travels */
    f->number = stretto_field(m->stream, name, dtype, f->block.ndim, shape);
    if (f->number >= 0 && stretto_describe(m->stream, name, &spec, &ndim, known) == 1 && spec != dtype)
        f->number = stretto_field(m->stream, name, spec, f->block.ndim, shape);
    if (f->number < 0 || (m->active && !f->varies && stretto_lend(m->stream, f->number, &f->lent) < 0))
        return stretto_mpi_say_(m, stretto_error(m->stream));
    f->wire = spec;
    if (f->varies) {
        f->counts = (int *)malloc(2 * (size_t)m->size * sizeof *f->counts);
        return f->counts != NULL ? 0 : stretto_mpi_say_(m, "no memory for the parts of a field");
    }
    f->given.pieces = stretto_mpi_pieces_(m, all, f->dtype);
    f->sent.pieces = f->wire != f->dtype ? stretto_mpi_pieces_(m, all, f->wire) : f->given.pieces;
    if (f->given.pieces == NULL || f->sent.pieces == NULL)
        return stretto_mpi_say_(m, "no memory for the parts of a field");
    return 0;
}

/* Prepares this process to send its block. */
static inline int stretto_mpi_prepare_(struct stretto_mpi_field_ *f)
{
    static const int nowhere[STRETTO_NDIM_MAX] = {0, 0, 0, 0};
    const struct stretto_block *b = &f->block;

    if (f->varies) {
        f->unit = stretto_mpi_elements_(b->ndim - 1, b->whole + 1);
        MPI_Type_contiguous((int)f->unit, stretto_mpi_type_(f->wire), &f->entry);
        MPI_Type_commit(&f->entry);
        return 0;
    }
    f->given.mine = stretto_mpi_part_(b->ndim, b->local, b->count, b->offset, f->dtype);
    f->sent.mine = f->given.mine;
    if (f->wire == f->dtype)
        return 0;
    f->sent.mine = stretto_mpi_part_(b->ndim, b->count, b->count, nowhere, f->wire);
    f->narrow = (float *)malloc(stretto_mpi_elements_(b->ndim, b->count) * sizeof *f->narrow + 1);
    return f->narrow != NULL ? 0 : -1;
}

static inline void stretto_mpi_way_free_(struct stretto_mpi_way_ *way, int size)
{
    for (int r = 0; way->pieces != NULL && r < size; r++)
        if (way->pieces[r] != MPI_DATATYPE_NULL)
            MPI_Type_free(&way->pieces[r]);
    free(way->pieces);
    if (way->mine != MPI_DATATYPE_NULL)
        MPI_Type_free(&way->mine);
}

static inline void stretto_mpi_field_free_(struct stretto_mpi_field_ *f, int size)
{
    if (f->wire != f->dtype)
        stretto_mpi_way_free_(&f->sent, size);
    stretto_mpi_way_free_(&f->given, size);
    if (f->entry != MPI_DATATYPE_NULL)
        MPI_Type_free(&f->entry);
    free(f->counts);
    free(f->narrow);
    memset(f, 0, sizeof *f);
}

static inline int stretto_mpi_field(struct stretto_mpi *m, const char *name, enum stretto_dtype dtype,
                                    const struct stretto_block *block)
{
    struct stretto_mpi_field_ *f = &m->field[m->fields];
    struct stretto_mpi_claim_ claim, *all = NULL;
    int plain = 1, short_of_memory;

    if (stretto_mpi_hear_(m) < 0)
        return -1;
    if (m->fields == STRETTO_MPI_FIELDS_MAX_)
        return stretto_mpi_say_(m, "a stream has at most 64 fields");
    for (int d = 0; d < block->ndim && d < STRETTO_NDIM_MAX; d++)
        plain = plain && block->local[d] == 0;
    memset(&claim, 0, sizeof claim);
    claim.block = *block;
    claim.dtype = (int)dtype;
    if (plain)
        memcpy(claim.block.local, claim.block.count, sizeof claim.block.local);
    memset(f, 0, sizeof *f);
    f->block = claim.block;
    f->dtype = f->wire = claim.dtype;
    f->given.mine = f->sent.mine = f->entry = MPI_DATATYPE_NULL;
    f->varies = block->ndim > 0 && block->whole[0] == -1;
    if (m->rank == 0)
        all = (struct stretto_mpi_claim_ *)malloc((size_t)m->size * sizeof *all);
    short_of_memory = m->rank == 0 && all == NULL;
    MPI_Bcast(&short_of_memory, 1, MPI_INT, 0, m->comm);
    if (short_of_memory)
        return stretto_mpi_say_(m, "no memory for the blocks of a field");
    MPI_Gather(&claim, (int)sizeof claim, MPI_BYTE, all, (int)sizeof claim, MPI_BYTE, 0, m->comm);
    m->word.rc = 0;
    if (m->rank == 0 && stretto_mpi_declare_(m, f, all, name) == 0)
        m->word.wire = f->wire;
    free(all);
    if (stretto_mpi_agree_(m) == 0) {
        f->wire = m->word.wire;
        short_of_memory = stretto_mpi_prepare_(f) < 0;
        MPI_Allreduce(MPI_IN_PLACE, &short_of_memory, 1, MPI_INT, MPI_MAX, m->comm);
        if (!short_of_memory)
            return m->fields++;
        stretto_mpi_say_(m, "no memory for the narrowed block of a field");
    }
    stretto_mpi_field_free_(f, m->size);
    return -1;
}

static inline void stretto_mpi_collect_(struct stretto_mpi *m, const struct stretto_mpi_way_ *way, int tag,
                                        const void *mine, void *whole)
{
    MPI_Request own = MPI_REQUEST_NULL;

    for (int r = 0; m->rank == 0 && r < m->size; r++) {
        m->requests[r] = MPI_REQUEST_NULL;
        if (way->pieces[r] != MPI_DATATYPE_NULL)
            MPI_Irecv(whole, 1, way->pieces[r], r, tag, m->comm, &m->requests[r]);
    }
    if (way->mine != MPI_DATATYPE_NULL)
        MPI_Isend((void *)mine, 1, way->mine, 0, tag, m->comm, &own);
    for (int r = 0; m->rank == 0 && r < m->size; r++)
        MPI_Wait(&m->requests[r], MPI_STATUS_IGNORE);
    MPI_Wait(&own, MPI_STATUS_IGNORE);
}

static inline void stretto_mpi_gather(struct stretto_mpi *m, int field, const void *local, void *whole)
{
    stretto_mpi_collect_(m, &m->field[field].given, field, local, whole);
}

/* Narrows the block of an array, row by row. */
static inline void stretto_mpi_narrow_(struct stretto_mpi_field_ *f, const double *local)
{
    int count[STRETTO_NDIM_MAX] = {1, 1, 1, 1}, extent[STRETTO_NDIM_MAX] = {1, 1, 1, 1};
    int at[STRETTO_NDIM_MAX] = {0, 0, 0, 0}, skip = STRETTO_NDIM_MAX - f->block.ndim;
    float *to = f->narrow;

    for (int d = 0; d < f->block.ndim; d++) {
        count[skip + d] = f->block.count[d];
        extent[skip + d] = f->block.local[d];
        at[skip + d] = f->block.offset[d];
    }
    for (int h = 0; h < count[0]; h++)
        for (int i = 0; i < count[1]; i++)
            for (int j = 0; j < count[2]; j++) {
                size_t row = ((size_t)(at[0] + h) * (size_t)extent[1] + (size_t)(at[1] + i)) * (size_t)extent[2] +
                             (size_t)(at[2] + j);
                const double *from = local + row * (size_t)extent[3] + (size_t)at[3];

                for (int k = 0; k < count[3]; k++)
                    to[k] = (float)from[k];
                to += count[3];
            }
}

static inline int stretto_mpi_send(struct stretto_mpi *m, int field, int64_t step, const void *local)
{
    struct stretto_mpi_field_ *f;
    const void *mine = local;

    if (stretto_mpi_hear_(m) < 0)
        return -1;
    if (field < 0 || field >= m->fields)
        return stretto_mpi_say_(m, "this field was not declared");
    if (!m->active)
        return 0;
    f = &m->field[field];
    if (f->varies)
        return stretto_mpi_say_(m, "the first extent of the field varies: stretto_mpi_send_extent() sends it");
    if (f->narrow != NULL) {
        stretto_mpi_narrow_(f, (const double *)local);
        mine = f->narrow;
    }
    stretto_mpi_collect_(m, &f->sent, field, mine, f->lent);
    m->word.rc = 0;
    /* the next buffer is lent before anyone sends the next block, so that there is always memory to receive it */
    if (m->rank == 0 &&
        (stretto_send_lent(m->stream, f->number, step) < 0 || stretto_lend(m->stream, f->number, &f->lent) < 0))
        stretto_mpi_say_(m, stretto_error(m->stream));
    MPI_Ibcast(&m->word, (int)sizeof m->word, MPI_BYTE, 0, m->comm, &m->told);
    return 0;
}

static inline double stretto_mpi_time_left(struct stretto_mpi *m)
{
    double seconds = m->rank == 0 ? stretto_time_left(m->stream) : 0;

    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, m->comm);
    return seconds;
}

static inline int stretto_mpi_finish(struct stretto_mpi *m)
{
    if (stretto_mpi_hear_(m) < 0)
        return -1;
    m->word.rc = 0;
    if (m->rank == 0 && stretto_finish(m->stream) < 0)
        stretto_mpi_say_(m, stretto_error(m->stream));
    return stretto_mpi_agree_(m);
}

static inline void stretto_mpi_abort(struct stretto_mpi *m)
{
    if (m == NULL)
        return;
    stretto_mpi_hear_(m);
    for (int i = 0; i < m->fields; i++)
        stretto_mpi_field_free_(&m->field[i], m->size);
    if (m->stream != NULL)
        stretto_abort(m->stream);
    free(m->requests);
    MPI_Comm_free(&m->comm);
    free(m);
}

static inline int stretto_mpi_close(struct stretto_mpi *m)
{
    int rc = m != NULL ? stretto_mpi_finish(m) : 0;

    if (rc < 0 && m->rank == 0)
        fprintf(stderr, "stretto: %s\n", stretto_mpi_error(m));
    stretto_mpi_abort(m);
    return rc;
}

#include <stretto-mpi-extent.h>

#ifdef __cplusplus
}
#endif
#endif
