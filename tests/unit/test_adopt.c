/* The checkpoint that one training takes over from another. */
#include "common/log.h"
#include "daemon/rundir/adopt.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char dir[64];
static struct error err;

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int tear_down(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static const char *in_dir(const char *name)
{
    static char paths[4][256];
    static int i;

    i = (i + 1) % 4;
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    return paths[i];
}

static void write_file(const char *name, mode_t mode, const char *text)
{
    FILE *file = fopen(in_dir(name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(in_dir(name), mode), 0);
}

static const char *text_of(const char *name)
{
    static char text[8192];
    FILE *file = fopen(in_dir(name), "r");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

    text[n] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

static bool cannot_link;

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (cannot_link) {
        errno = EXDEV;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

static ino_t inode_of(const char *name)
{
    struct stat st;

    return lstat(in_dir(name), &st) == 0 ? st.st_ino : 0;
}

static void the_programs_state_is_taken_over(void **state)
{
    enum { LARGE = 1300000 }; /* more than is copied at once */
    char *large = malloc(LARGE + 1), *copy = malloc(LARGE + 1);
    static const char *const rest[] = {"from/rank0.bin", "from/held-rank0", "from/.json", "from/books.json", "from/state-ran0"};
    FILE *file;
    struct stat st;

    assert_true(large != NULL && copy != NULL);
    for (int i = 0; i < LARGE; i++)
        large[i] = (char)('a' + i % 23);
    large[LARGE] = '\0';
    mkdir(in_dir("from"), 0700);
    mkdir(in_dir("from/state-rank1"), 0700);
    mkdir(in_dir("from/state-rank1/sub"), 0700);
    write_file("from/state-rank0", 0644, large);
    write_file("from/state-rank1/model.json", 0600, "model");
    write_file("from/state-rank1/sub/rank", 0600, "deep");
    write_file("from/rank0.json", 0600, "{}");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        write_file(rest[i], 0600, "x");

    for (int copied = 0; copied < 2; copied++) {
        const char *to = copied ? "copied" : "linked";
        char name[64];

        cannot_link = copied;
        assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir(to), &err), 0);
        cannot_link = false;
        snprintf(name, sizeof name, "%s/state-rank0", to);
        assert_int_equal(inode_of(name) == inode_of("from/state-rank0"), !copied);
        assert_int_equal(stat(in_dir(name), &st), 0);
        assert_int_equal(st.st_size, LARGE);
        assert_int_equal(st.st_mode & 0777, copied ? 0600 : 0644);
        file = fopen(in_dir(name), "r");
        assert_int_equal(fread(copy, 1, LARGE, file), LARGE);
        fclose(file);
        assert_memory_equal(copy, large, LARGE);
        snprintf(name, sizeof name, "%s/state-rank1/sub/rank", to);
        assert_string_equal(text_of(name), "deep");
        snprintf(name, sizeof name, "%s/state-rank1/model.json", to);
        assert_string_equal(text_of(name), "model");
        snprintf(name, sizeof name, "%s/rank0.json", to);
        assert_string_equal(text_of(name), "{}");
        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
            snprintf(name, sizeof name, "%s/%s", to, strchr(rest[i], '/') + 1);
            assert_int_not_equal(access(in_dir(name), F_OK), 0);
        }
        snprintf(name, sizeof name, "%s.part", to);
        assert_int_not_equal(access(in_dir(name), F_OK), 0);
    }
    free(large);
    free(copy);
}

/* Once it is there it stays as it is; what a daemon that was killed has begun is gone on with; and what fails leaves
 * nothing that ranks would take for a checkpoint. */
static void taking_over_is_all_or_nothing(void **state)
{
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("to"), &err), 0); /* the other one is gone */
    assert_int_not_equal(access(in_dir("to"), F_OK), 0);
    mkdir(in_dir("from"), 0700);
    mkdir(in_dir("to"), 0700);
    write_file("from/state-rank0", 0600, "a");
    write_file("from/state-rank1", 0600, "b");
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("to"), &err), 0);
    assert_int_not_equal(access(in_dir("to/state-rank0"), F_OK), 0);

    mkdir(in_dir("next.part"), 0700);
    assert_int_equal(link(in_dir("from/state-rank0"), in_dir("next.part/state-rank0")), 0);
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("next"), &err), 0);
    assert_string_equal(text_of("next/state-rank0"), "a");
    assert_string_equal(text_of("next/state-rank1"), "b");

    assert_int_equal(symlink("nowhere", in_dir("from/state-rank2")), 0);
    cannot_link = true;
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("third"), &err), -1);
    assert_string_equal(err.code, "run_dir");
    assert_int_not_equal(access(in_dir("third"), F_OK), 0);
    cannot_link = false;
    write_file("file", 0600, "");
    assert_int_equal(adopt_checkpoint(in_dir("file"), in_dir("fourth"), &err), -1);
    assert_int_equal(adopt_checkpoint(in_dir("from"), in_dir("file/fifth"), &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_programs_state_is_taken_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(taking_over_is_all_or_nothing, set_up, tear_down),
    };

    test_limit(60);
    log_init("adopt", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
