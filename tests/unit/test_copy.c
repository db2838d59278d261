#include "tasks/proto/copy.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* Sizes around those where the way of copying changes, at every alignment that matters: all bytes, and none beyond. */
static void every_byte_is_copied_and_no_other(void **state)
{
    static const size_t sizes[] = {0,      1,      127,    4096,   262143, 262144,
                                   262145, 262271, 262272, 300001, 1 << 20};
    size_t room = ((size_t)1 << 20) + 256;
    unsigned char *from = malloc(room), *to = malloc(room);

    for (size_t i = 0; i < room; i++)
        from[i] = (unsigned char)(i * 31 + i / 251);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t shift = 0; shift < 64; shift += s % 2 ? 16 : 7) {
            size_t at = 64 + shift, source = 17 + shift / 2;

            memset(to, 0xa5, room);
            copy_out(to + at, from + source, sizes[s]);
            assert_memory_equal(to + at, from + source, sizes[s]);
            for (size_t i = 0; i < 64; i++)
                assert_true(to[at - 1 - i] == 0xa5 && to[at + sizes[s] + i] == 0xa5);
        }
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_byte_is_copied_and_no_other)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
