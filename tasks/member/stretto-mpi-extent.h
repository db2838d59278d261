/* The part of stretto-mpi.h for fields whose first extent varies; stretto-mpi.h includes it. */
#ifndef STRETTO_MPI_EXTENT_H
#define STRETTO_MPI_EXTENT_H

/* Returns this process's part in the type in which it travels; *count becomes negative if there is no memory. */
static inline const void *stretto_mpi_part_to_send_(struct stretto_mpi_field_ *f, int *count, const void *local)
{
    size_t n = *count > 0 ? (size_t)*count * f->unit : 0;
    float *more;

    if (f->wire == f->dtype || n == 0)
        return local;
    if ((size_t)*count > f->room) {
        more = (float *)realloc(f->narrow, n * sizeof *more);
        if (more == NULL) {
            *count = -2;
            return local;
        }
        f->narrow = more;
        f->room = (size_t)*count;
    }
    for (size_t i = 0; i < n; i++)
        f->narrow[i] = (float)((const double *)local)[i];
    return f->narrow;
}

/* Rank 0: sets the places of each process's entries. Returns the number of entries, or -1 after reporting what is
 * wrong. */
static inline int64_t stretto_mpi_places_(struct stretto_mpi *m, const struct stretto_mpi_field_ *f)
{
    int64_t sum = 0;
    char text[120];
    int wrong = -1;

    for (int r = 0; r < m->size; r++) {
        if (f->counts[r] < 0 && wrong < 0) {
            wrong = r;
            snprintf(text, sizeof text,
                     f->counts[r] == -2 ? "process %d has no memory for the narrowed part of a field"
                                        : "process %d has a negative count of entries",
                     r);
        }
        sum += f->counts[r] > 0 ? f->counts[r] : 0;
    }
    if (wrong < 0 && sum > INT32_MAX) {
        wrong = 0;
        snprintf(text, sizeof text, "the processes have %lld entries: more than a field can", (long long)sum);
    }
    if (wrong >= 0)
        return stretto_mpi_say_(m, text);
    for (int r = 0, at = 0; r < m->size; at += f->counts[r++])
        f->counts[m->size + r] = at;
    return sum;
}

static inline size_t stretto_mpi_entry_size_(const struct stretto_mpi_field_ *f)
{
    int size;

    MPI_Type_size(f->entry, &size);
    return (size_t)size;
}

/* Rank 0: receives the parts of all processes into `whole`. */
static inline void stretto_mpi_receive_(struct stretto_mpi *m, const struct stretto_mpi_field_ *f, int tag,
                                        const void *mine, void *whole)
{
    size_t size = stretto_mpi_entry_size_(f);

    for (int r = 1; r < m->size; r++) {
        m->requests[r] = MPI_REQUEST_NULL;
        if (f->counts[r] > 0)
            MPI_Irecv((char *)whole + (size_t)f->counts[m->size + r] * size, f->counts[r], f->entry, r, tag, m->comm,
                      &m->requests[r]);
    }
    if (f->counts[0] > 0)
        memcpy(whole, mine, (size_t)f->counts[0] * size);
    for (int r = 1; r < m->size; r++)
        MPI_Wait(&m->requests[r], MPI_STATUS_IGNORE);
}

/* Rank 0: receives the parts and drops them, since the others send them in any case. */
static inline void stretto_mpi_discard_(struct stretto_mpi *m, const struct stretto_mpi_field_ *f, int tag)
{
    size_t size = stretto_mpi_entry_size_(f);

    for (int r = 1; r < m->size; r++) {
        void *scratch = f->counts[r] > 0 ? malloc((size_t)f->counts[r] * size) : NULL;

        if (f->counts[r] <= 0)
            continue;
        if (scratch == NULL)
            MPI_Abort(m->comm, EXIT_FAILURE);
        MPI_Recv(scratch, f->counts[r], f->entry, r, tag, m->comm, MPI_STATUS_IGNORE);
        free(scratch);
    }
}

/* Rank 0, whose own part is `mine`: collects and sends the parts; reports what is wrong. */
static inline void stretto_mpi_take_parts_(struct stretto_mpi *m, int field, int64_t step, const void *mine)
{
    struct stretto_mpi_field_ *f = &m->field[field];
    int64_t sum = stretto_mpi_places_(m, f);
    void *whole;

    if (sum >= 0 && stretto_lend_extent(m->stream, f->number, sum, &whole) < 0) {
        stretto_mpi_say_(m, stretto_error(m->stream));
        sum = -1;
    }
    if (sum < 0) {
        stretto_mpi_discard_(m, f, field);
        return;
    }
    stretto_mpi_receive_(m, f, field, mine, whole);
    if (stretto_send_lent(m->stream, f->number, step) < 0)
        stretto_mpi_say_(m, stretto_error(m->stream));
}

static inline int stretto_mpi_send_extent(struct stretto_mpi *m, int field, int64_t step, int count, const void *local)
{
    struct stretto_mpi_field_ *f;
    const void *mine;

    if (stretto_mpi_hear_(m) < 0)
        return -1;
    if (field < 0 || field >= m->fields)
        return stretto_mpi_say_(m, "this field was not declared");
    f = &m->field[field];
    if (!f->varies)
        return stretto_mpi_say_(m, "the first extent of the field does not vary: stretto_mpi_send() sends it");
    if (!m->active)
        return 0;
    mine = stretto_mpi_part_to_send_(f, &count, local);
    MPI_Gather(&count, 1, MPI_INT, f->counts, 1, MPI_INT, 0, m->comm);
    m->word.rc = 0;
    if (m->rank == 0)
        stretto_mpi_take_parts_(m, field, step, mine);
    else if (count > 0)
        MPI_Send((void *)mine, count, f->entry, 0, field, m->comm);
    MPI_Ibcast(&m->word, (int)sizeof m->word, MPI_BYTE, 0, m->comm, &m->told);
    return 0;
}
#endif
