/* An MPI member for the tests of the stream: what stream-member.c sends, from blocks of 1 to 4 processes, the fourth of
 * which has none; and where the spec has them, particles, of which process r has (step + 3 r) mod 9, but the last what
 * is left. stream-mpi STEPS [KIND]: float32 gives the fields as they travel; others are mistakes. */
#include <math.h>
#include <stretto-mpi.h>

static int rank, size, member;

static int fail(struct stretto_mpi *m, int status)
{
    printf("process %d: %s\n", rank, stretto_mpi_error(m));
    fflush(stdout);
    stretto_mpi_abort(m);
    MPI_Finalize();
    return status;
}

/* Process 0 has the upper left corner, 1 the rest above, 2 the last row. */
static struct stretto_block cut(const char *kind)
{
    struct stretto_block b = {.ndim = 2, .whole = {3, 4}, .count = {2, 3}, .local = {5, 5}, .offset = {2, 1}};

    if (size == 1 || (size == 2 && rank == 0) || rank == 2)
        b.count[1] = 4;
    if (size == 1)
        b.count[0] = 3;
    if ((size == 2 && rank == 1) || rank == 2) {
        b.start[0] = 2;
        b.count[0] = 1;
        b.count[1] = 4;
    } else if (rank == 1) {
        b.start[1] = 3;
        b.count[1] = 1;
    } else if (rank == 3) {
        b.count[0] = 0;
    }
    if (rank == 1 && strcmp(kind, "overlap") == 0)
        b.start[1] = 2;
    if (rank == 1 && strcmp(kind, "hole") == 0)
        b.count[1] = 0;
    if (rank == 2 && strcmp(kind, "outside") == 0)
        b.start[0] = 3;
    if (rank == 2 && strcmp(kind, "beyond") == 0)
        b.offset[1] = 2;
    if (rank == 2 && strcmp(kind, "unlike") == 0)
        b.whole[0] = 4;
    return b;
}

static void fill(const struct stretto_block *b, int step, double *wide, float *narrow)
{
    for (int i = 0; i < 25; i++)
        wide[i] = narrow[i] = NAN;
    for (int i = 0; i < b->count[0]; i++)
        for (int j = 0; j < b->count[1]; j++) {
            int at = (i + b->offset[0]) * 5 + j + b->offset[1];

            wide[at] = 100 * member + step + ((b->start[0] + i) * 4 + b->start[1] + j) / 16.0;
            narrow[at] = (float)wide[at];
        }
}

/* Of all processes one behind the other, what stream-rank.py wants to see; NULL to a process that has none. */
static int send_particles(struct stretto_mpi *m, int p, int step, const char *kind)
{
    int all = step * 7 % 41, before = 0, own = 0;
    double wide[41 * 3] = {0};
    float narrow[41 * 3] = {0};

    for (int r = 0; r <= rank; r++) {
        before += own;
        own = r == size - 1 ? all - before : (step + 3 * r) % 9;
        own = own > all - before ? all - before : own;
    }
    for (int i = 0; i < 3 * own; i++)
        wide[i] = narrow[i] = (float)(member + step + (3 * before + i) / 16.0);
    if (rank == 1 && strcmp(kind, "backward") == 0)
        own = -1;
    if (rank == 1 && strcmp(kind, "crowd") == 0)
        own = 41;
    return stretto_mpi_send_extent(m, p, step, own, own == 0 ? NULL : strcmp(kind, "float32") == 0 ? (void *)narrow : wide);
}

int main(int argc, char **argv)
{
    int steps = atoi(argv[1]), t, f, p = -1, plain;
    const char *kind = argc > 2 ? argv[2] : "", *index = getenv("STRETTO_MEMBER");
    struct stretto_block flux = {.ndim = 1, .whole = {2}}, particles = {.ndim = 2, .whole = {-1, 3}}, block;
    const char *fields = getenv("STRETTO_FIELDS");
    struct stretto_mpi *m;
    double wide[25], own[2], whole[12];
    float narrow[25];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    member = index != NULL ? atoi(index) : 0;
    plain = strcmp(kind, "float32") == 0;
    if (stretto_mpi_open(&m, MPI_COMM_WORLD) < 0)
        return fail(m, 3);
    block = cut(kind);
    if (rank == size - 1)
        flux.count[0] = 2;
    t = stretto_mpi_field(m, "temperature", plain ? STRETTO_FLOAT32 : STRETTO_FLOAT64, &block);
    if (t < 0 && strcmp(kind, "outside") == 0) { /* a mistake costs nothing */
        block = cut("");
        t = stretto_mpi_field(m, "temperature", STRETTO_FLOAT64, &block);
    }
    if (t < 0)
        return fail(m, 4);
    f = stretto_mpi_field(m, strcmp(kind, "name") == 0 ? "flow" : "flux", STRETTO_FLOAT64, &flux);
    if (f < 0)
        return fail(m, 5);
    if (rank == 2 && strcmp(kind, "placed") == 0)
        particles.start[0] = 1;
    if (fields == NULL || strstr(fields, "particles") != NULL) {
        p = stretto_mpi_field(m, "particles", plain ? STRETTO_FLOAT32 : STRETTO_FLOAT64, &particles);
        if (p < 0)
            return fail(m, 5);
    }
    if (strcmp(kind, "unnumbered") == 0 && stretto_mpi_send(m, p, 0, &member) < 0)
        return fail(m, 6);
    for (int step = 0; step < steps; step++) {
        fill(&block, step, wide, narrow);
        own[0] = member + 0.1;
        own[1] = step + 0.1;
        if (stretto_mpi_send(m, t, strcmp(kind, "negative") == 0 ? -step : step, plain ? (void *)narrow : wide) < 0 ||
            stretto_mpi_send(m, f, step, own) < 0 || (p >= 0 && send_particles(m, p, step, kind) < 0))
            return fail(m, 6);
        if (plain)
            continue;
        stretto_mpi_gather(m, t, wide, whole);
        for (int i = 0; i < 12 && rank == 0; i++)
            if (whole[i] != 100 * member + step + i / 16.0)
                return fail(m, 7);
        memset(wide, 0, sizeof wide);
    }
    if (stretto_mpi_finish(m) < 0)
        return fail(m, 8);
    if (rank == 0)
        printf("%s, %s\n", stretto_mpi_active(m) ? "active" : "idle",
               stretto_time_left(m->stream) > 1e9 ? "without a limit" : "with a limit");
    stretto_mpi_abort(m);
    MPI_Finalize();
    return 0;
}
