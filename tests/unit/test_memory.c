/* Blocks of SQLite's that are kept: none is given out twice, and what is in one stays as it is. */
#include "daemon/store/memory.h"
#include "tests/unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 400
#define TURNS 200000

struct held {
    unsigned char *block;
    int size;
    unsigned char mark;
};

static struct held held[BLOCKS];

static void check(const struct held *h)
{
    for (int i = 0; i < h->size; i += h->size > 256 ? h->size - 1 : 1)
        assert_int_equal(h->block[i], h->mark);
}

static void let_go(struct held *h)
{
    check(h);
    sqlite3_free(h->block);
    *h = (struct held){0};
}

static void get(struct held *h, int turn)
{
    h->size = turn % 7 == 0 ? 1 + rand() % 20000 : 1 + rand() % 300;
    h->mark = (unsigned char)rand();
    h->block = sqlite3_malloc(h->size);
    assert_non_null(h->block);
    memset(h->block, h->mark, (size_t)h->size);
}

static void grow(struct held *h)
{
    int size = h->size + 1 + rand() % 500;

    check(h);
    h->block = sqlite3_realloc(h->block, size);
    assert_non_null(h->block);
    check(h);
    memset(h->block, h->mark, (size_t)size);
    h->size = size;
}

static void *churn(void *arg)
{
    for (int turn = 0; turn < TURNS; turn++) {
        struct held *h = &held[rand() % BLOCKS];

        if (h->block == NULL)
            get(h, turn);
        else if (turn % 5 == 0 && h->size < 20000)
            grow(h);
        else
            let_go(h);
    }
    return NULL;
}

/* One after the other on two threads, which leave each other what they hold. */
static void no_block_is_given_out_twice(void **state)
{
    pthread_t other;

    churn(NULL);
    assert_int_equal(pthread_create(&other, NULL, churn, NULL), 0);
    pthread_join(other, NULL);
    churn(NULL);
    for (int i = 0; i < BLOCKS; i++)
        if (held[i].block != NULL)
            let_go(&held[i]);
}

static void a_block_is_kept_for_the_next_of_its_size(void **state)
{
    char *first = sqlite3_malloc(1000), *other;
    uintptr_t was = (uintptr_t)first;

    sqlite3_free(first);
    other = sqlite3_malloc(995);
    assert_true((uintptr_t)other == was);
    sqlite3_free(other);
}

static void little_of_a_block_is_wasted(void **state)
{
    for (int size = 1; size < 3000; size++) {
        char *block = sqlite3_malloc(size);

        assert_in_range(malloc_usable_size(block), size, size + 40);
        sqlite3_free(block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_block_is_given_out_twice),
        cmocka_unit_test(a_block_is_kept_for_the_next_of_its_size),
        cmocka_unit_test(little_of_a_block_is_wasted),
    };

    srand(1);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    memory_keep_blocks();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
