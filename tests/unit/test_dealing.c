/* Each rank gets its share of each member, whatever the distances and the order of its steps. */
#include "tasks/proto/dealing.h"
#include "tests/unit/unit.h"

#include <math.h>

#define N 3000
#define RANKS_MAX 16

enum kind { EQUAL, POWERS_OF_2, POWERS_OF_10, IRREGULAR };

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

/* Fills in the steps of a member, and returns how many there are. */
static int fill(int64_t *steps, enum kind kind, int64_t from, int64_t distance)
{
    int64_t step = kind == POWERS_OF_2 || kind == POWERS_OF_10 ? 1 : from;
    int n = 0;

    while (n < N && step < INT64_C(1) << 38) {
        steps[n++] = step;
        step = kind == EQUAL          ? step + distance
               : kind == POWERS_OF_2  ? 2 * step
               : kind == POWERS_OF_10 ? 10 * step
                                      : step + 1 + (int64_t)random_below((uint64_t)(2 * distance));
    }
    return n;
}

static void shuffle(int64_t *steps, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int other = (int)random_below((uint64_t)i + 1);
        int64_t step = steps[i];

        steps[i] = steps[other];
        steps[other] = step;
    }
}

/* Returns the greatest difference between the counts of two ranks at any moment. */
static int worst(const struct dealing *dealing, int ranks, uint64_t member, const int64_t *steps, int n)
{
    int count[RANKS_MAX] = {0}, most = 0;

    for (int i = 0; i < n; i++) {
        int rank = dealing_rank(dealing, member, steps[i]), low = n, high = 0;

        assert_true(rank >= 0 && rank < ranks);
        count[rank]++;
        for (int r = 0; r < ranks; r++) {
            low = count[r] < low ? count[r] : low;
            high = count[r] > high ? count[r] : high;
        }
        most = high - low > most ? high - low : most;
    }
    return most;
}

static int by_chance(int n)
{
    return 6 + (int)(4 * sqrt(n));
}

static void ranks_share_each_member(void **state)
{
    static const int rank_counts[] = {2, 3, 4, 5, 7, 8, 16};
    static const struct {
        enum kind kind;
        int64_t from, distance;
        int bound; /* 0: by chance */
    } cases[] = {{EQUAL, 0, 1, 1}, {EQUAL, 1, 1, 2}, {EQUAL, 77777, 1, 2}, {EQUAL, 0, 2, 100}, {EQUAL, 1, 2, 100}, {EQUAL, 0, 3, 100}, {EQUAL, 0, 4, 100},
                 {EQUAL, 0, 5, 100}, {EQUAL, 0, 7, 100}, {EQUAL, 0, 8, 100}, {EQUAL, 0, 10, 100}, {EQUAL, 9, 10, 100}, {EQUAL, 0, 12, 100}, {EQUAL, 0, 16, 100},
                 {EQUAL, 0, 24, 100}, {EQUAL, 5, 25, 100}, {EQUAL, 0, 50, 100}, {EQUAL, 0, 55, 100}, {EQUAL, 0, 60, 100}, {EQUAL, 0, 89, 100}, {EQUAL, 0, 99, 100},
                 {EQUAL, 0, 100, 100}, {EQUAL, 99, 100, 100}, {EQUAL, 0, 101, 100}, {EQUAL, 0, 128, 100}, {EQUAL, 0, 250, 100}, {EQUAL, 0, 365, 100},
                 {EQUAL, 0, 500, 100}, {EQUAL, 0, 1000, 100}, {EQUAL, 0, 1024, 100}, {EQUAL, 0, 3600, 100}, {EQUAL, 0, 10000, 100}, {EQUAL, 0, 1000000, 100},
                 {POWERS_OF_2, 0, 0, 0}, {POWERS_OF_10, 0, 0, 0}, {IRREGULAR, 0, 1, 0}, {IRREGULAR, 0, 10, 0}, {IRREGULAR, 3, 1000, 0}};
    static int64_t steps[N];

    for (size_t r = 0; r < sizeof rank_counts / sizeof *rank_counts; r++) {
        int ranks = rank_counts[r];
        struct dealing *dealing = dealing_create(ranks);

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (uint64_t member = 0; member < 4000000; member = 3 * member + 1) {
                int n = fill(steps, cases[i].kind, cases[i].from, cases[i].distance);
                int found = worst(dealing, ranks, member, steps, n), bound = cases[i].bound > 0 ? cases[i].bound : by_chance(n);

                if (found > bound)
                    fail_msg("case %zu, %d ranks, member %d: the counts differ by %d", i, ranks, (int)member, found);
                shuffle(steps, n);
                found = worst(dealing, ranks, member, steps, n);
                if (found > by_chance(n))
                    fail_msg("case %zu, %d ranks, member %d: in random order the counts differ by %d", i, ranks, (int)member, found);
            }
        dealing_destroy(dealing);
    }
}

/* With as many members as ranks, the differences cancel out. */
static void neighbours_make_up_for_each_other(void **state)
{
    for (int ranks = 1; ranks <= RANKS_MAX; ranks++) {
        struct dealing *dealing = dealing_create(ranks);

        for (int64_t step = 0; step < 100000; step += 37) {
            uint32_t seen = 0;

            for (uint64_t member = 0; member < (uint64_t)ranks; member++)
                seen |= 1u << dealing_rank(dealing, (uint64_t)(5 * ranks) + member, step);
            assert_int_equal(seen, (1u << ranks) - 1);
        }
        dealing_destroy(dealing);
    }
}

/* The example of docs/protocol.md: other implementations deal alike. */
static void the_dealing_is_the_documented_one(void **state)
{
    static const struct {
        int ranks;
        uint64_t member;
        int64_t step[8];
        int rank[8];
    } cases[] = {{1, 7, {0, 1, 2, 3, 10, 20, 30, 40}, {0, 0, 0, 0, 0, 0, 0, 0}},
                 {2, 0, {0, 10, 20, 30, 40, 50, 60, 70}, {0, 1, 1, 1, 0, 1, 0, 0}},
                 {3, 7, {0, 10, 20, 30, 40, 50, 60, 70}, {1, 1, 1, 2, 1, 2, 2, 1}},
                 {4, 123, {0, 1, 2, 3, 404, 40400, 4080400, 274877906943}, {3, 0, 1, 2, 3, 1, 1, 0}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dealing *dealing = dealing_create(cases[i].ranks);

        for (int k = 0; k < 8; k++)
            assert_int_equal(dealing_rank(dealing, cases[i].member, cases[i].step[k]), cases[i].rank[k]);
        dealing_destroy(dealing);
    }
}

static void there_may_be_very_many_ranks(void **state)
{
    struct dealing *dealing = dealing_create(65536);

    for (int64_t step = 0; step < 200000; step += 10)
        assert_in_range(dealing_rank(dealing, 3, step), 0, 65535);
    dealing_destroy(dealing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_share_each_member),
        cmocka_unit_test(neighbours_make_up_for_each_other),
        cmocka_unit_test(the_dealing_is_the_documented_one),
        cmocka_unit_test(there_may_be_very_many_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
