/* stretto-mpi.h and the functions of its Fortran module where something goes wrong: all processes are told the same,
 * and none is left waiting. */
#include "tests/unit/mpi_rig.h"

#include <stdio.h>
#include <string.h>

/* --- mistakes */

static const struct {
    const char *name, *reason;
    int rank;
    struct stretto_block block; /* of that rank, in place of its own */
    int dtype;
} mistakes[] = {
    {"dimensions", "field \"0\", process 1: a field has from 0 to 4 dimensions", 1, {.ndim = 5}, STRETTO_FLOAT64},
    {"below", "field \"0\", process 0: an extent of the field is below 1", 0, {.ndim = 2, .whole = {0, 4}},
     STRETTO_FLOAT64},
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
     {.ndim = 2, .whole = {3, 4}, .start = {1, 0}, .count = {1, 4}, .local = {2, 5}, .offset = {1, 2}},
     STRETTO_FLOAT64},
    {"overlap", "field \"0\": the blocks of processes 0 and 1 overlap", 1,
     {.ndim = 2, .whole = {3, 4}, .start = {0, 3}, .count = {2, 1}}, STRETTO_FLOAT64},
    {"hole", "field \"0\": the blocks do not cover it", 1,
     {.ndim = 2, .whole = {3, 4}, .start = {1, 1}, .count = {1, 3}}, STRETTO_FLOAT64},
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
static int steps_sent;

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
    WANT(strcmp(stretto_mpi_error(m), "it is refused") == 0);
    WANT(stretto_mpi_finish(m) == -1 && stretto_mpi_close(m) == -1);
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
