/* Copies that several threads share: each byte is there when copies_make() returns, whatever the helpers do. */
#include "tasks/train/copies.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM ((size_t)12 << 20)

static unsigned char *from, *to;
static uint64_t random_state = 7;

static size_t below(size_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % n;
}

static int make_memory(void **state)
{
    from = malloc(ROOM);
    to = malloc(ROOM);
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 31 + i / 251);
    return from == NULL || to == NULL;
}

static int drop_memory(void **state)
{
    free(from);
    free(to);
    return 0;
}

/* Copies parts of all sizes, or many small ones up to that limit, with gaps between them, and compares all of the
 * memory. */
static void copy_once(struct copies *copies, size_t limit)
{
    size_t at = 0, gap[512], gaps = 0;
    bool untouched = true;

    memset(to, 0xa5, ROOM);
    while (gaps < 512) {
        size_t size = limit == ROOM && below(4) == 0 ? below((size_t)3 << 20) : below(9000);

        if (at + size + 1 > limit)
            break;
        copies_add(copies, to + at, from + at, size);
        at += size;
        gap[gaps++] = at++;
    }
    copies_make(copies);
    for (size_t i = 0, begin = 0; i < gaps; begin = gap[i++] + 1) {
        assert_memory_equal(to + begin, from + begin, gap[i] - begin);
        assert_int_equal(to[gap[i]], 0xa5);
    }
    for (size_t i = at; i < ROOM; i++)
        untouched &= to[i] == 0xa5;
    assert_true(untouched);
}

static void all_is_copied_when_it_returns(void **state)
{
    for (int helpers = 0; helpers <= COPIES_HELPERS_MAX; helpers++) {
        struct copies *copies = copies_create(helpers);

        copies_make(copies); /* of nothing */
        for (int round = 0; round < 12; round++)
            copy_once(copies, round % 4 == 0 ? (size_t)1 << 20 : ROOM);
        copies_destroy(copies);
    }
}

/* A child of fork() has no helpers, though its memory says so. */
static void a_child_copies_alone(void **state)
{
    struct copies *copies = copies_create(COPIES_HELPERS_MAX);
    int status;
    pid_t pid;

    copy_once(copies, ROOM);
    pid = fork();
    if (pid == 0) {
        copies_add(copies, to, from, ROOM);
        copies_make(copies);
        _exit(memcmp(to, from, ROOM) != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    copies_destroy(copies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_copied_when_it_returns),
        cmocka_unit_test(a_child_copies_alone),
    };

    return cmocka_run_group_tests(tests, make_memory, drop_memory);
}
