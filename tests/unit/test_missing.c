/* How many steps a training lacks, by the files of its ranks, of which each holds a part. */
#include "daemon/rundir/missing.h"
#include "common/files.h"
#include "tests/unit/unit.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS 2
#define MEMBERS 200000 /* more than are counted at once, more than once */
#define STEPS 10

static char dir[64];
static char *paths[RANKS + 1]; /* the last one is not there: a rank that holds nothing */
static uint32_t held[RANKS][MEMBERS];

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    for (int i = 0; i <= RANKS; i++) {
        paths[i] = malloc(96);
        snprintf(paths[i], 96, "%s/held-rank%d.bin", dir, i);
    }
    return 0;
}

static int remove_dir(void **state)
{
    char rm[96];

    for (int i = 0; i <= RANKS; i++)
        free(paths[i]);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

/* All steps of all members, of which each rank has its own part. */
static void hold_all(void)
{
    for (int64_t i = 0; i < MEMBERS; i++) {
        held[0][i] = (uint32_t)(i * 7 % (STEPS + 1));
        held[1][i] = STEPS - held[0][i];
    }
}

/* What is counted, as JSON; to be freed. `n`: members that the files have. */
static char *count(size_t n, const struct missing_question *question)
{
    struct error err;
    json_t *result;
    char *text;

    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < n; i++)
            held[rank][i] = htole32(held[rank][i]);
        assert_int_equal(file_write_whole(paths[rank], held[rank], n * sizeof held[rank][0], 0600, &err), 0);
    }
    result = missing_count(paths, RANKS + 1, question, &err);
    assert_non_null(result);
    text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(result);
    return text;
}

/* Its last members have sent it nothing. */
static void a_file_that_ends_early_holds_nothing_of_the_others(void **state)
{
    struct missing_question all = {.count = MEMBERS, .steps = STEPS};
    char *text;

    hold_all();
    text = count(MEMBERS - 2, &all);
    assert_string_equal(text, "{\"first\":[{\"member\":199998,\"steps\":10},{\"member\":199999,\"steps\":10}],\"members\":2,\"steps\":20}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_ends_early_holds_nothing_of_the_others, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
