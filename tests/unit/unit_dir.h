/* A directory for files that the product removes. */
#ifndef TESTS_UNIT_DIR_H
#define TESTS_UNIT_DIR_H
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/stat.h>

/* Makes the directory, in a temporary one of its own: a bug that removes its neighbours, or "..", does
 * no harm then. `dir` has 64 bytes; unit_dir_top() returns the one to be removed, in place. */
static inline void unit_dir_make(char dir[64])
{
    strcpy(dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    strcat(dir, "/files");
    assert_int_equal(mkdir(dir, 0700), 0);
}

static inline char *unit_dir_top(char dir[64])
{
    *strrchr(dir, '/') = '\0';
    return dir;
}
#endif
