/* What is written of checkpoints and of the streams beside them: every value of a record, the documented bytes of an
 * account, and which names of files are such. */
#include "common/files.h"
#include "common/process.h"
#include "tasks/proto/ckptdir.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64];
static struct error err;
static const struct ckpt_chain all = {.ensemble = 7};

static int setup(void **state)
{
    strcpy(dir, "/tmp/st-held.XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static char *in_dir(const char *name)
{
    static char path[2][200];
    static int n;

    n = !n;
    snprintf(path[n], sizeof path[n], "%s/%s", dir, name);
    return path[n];
}

static void write_file(const char *name, const void *text, size_t size)
{
    assert_int_equal(file_write_whole(in_dir(name), text, size, 0600, &err), 0);
}

static bool there(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

/* What stat() says of the next file, besides the truth: as if it had been changed since it was opened. */
static enum { NOTHING, ITS_INODE, ITS_SIZE, ITS_TIME } changed;

int stat(const char *path, struct stat *st)
{
    int rc = fstatat(AT_FDCWD, path, st, 0);

    st->st_ino += changed == ITS_INODE;
    st->st_size += changed == ITS_SIZE;
    st->st_mtim.tv_nsec += changed == ITS_TIME;
    return rc;
}

static void what_is_being_written_is_not_measured(void **state)
{
    struct ckpt ckpt = {.path = (char *)"a-1"};

    write_file("a-1", "one", 3);
    for (int i = ITS_INODE; i <= ITS_TIME; i++) {
        changed = i;
        err = (struct error){.text = ""};
        assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
        changed = NOTHING;
        assert_int_equal(errno, EBUSY);
        assert_string_equal(err.code, "checkpoint");
        assert_non_null(strstr(err.text, "/a-1"));
    }
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
}

static void a_record_needs_its_path_its_number_its_size_and_its_digest(void **state)
{
    static const struct {
        const char *key, *value;
        bool taken;
    } cases[] = {
        {"path", "null", false},      {"path", "7", false},        {"path", "\"\"", false},
        {"digest", "null", false},    {"digest", "\"0123456789abcde\"", false}, {"digest", "\"0123456789abcdef0\"", false},
        {"number", "null", false},    {"number", "-1", false},     {"number", "0", true},
        {"size", "null", false},      {"size", "-1", false},       {"size", "0", true},
        {"size", "1.5", false},       {"step", "null", true},      {"sent", "{\"a\": 1}", true},
        {"ensemble", "null", true},   {"attempt", "\"1\"", true},  {"time", "null", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json =
            json_pack("{s:i, s:s, s:i, s:s}", "number", 1, "path", "a", "size", 1, "digest", "0123456789abcdef");
        struct ckpt ckpt;

        json_object_set_new(json, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        if (ckpt_parse(json, &ckpt) != cases[i].taken)
            fail_msg("%s: %s", cases[i].key, cases[i].value);
        assert_int_equal(cases[i].taken && ckpt.sent != NULL, strcmp(cases[i].key, "sent") == 0);
        if (cases[i].taken)
            assert_true(ckpt.ensemble == 0 && ckpt.attempt == 0 && ckpt.time == 0 && ckpt.step == -1 && !ckpt.reported);
        ckpt_fini(&ckpt);
        json_decref(json);
    }
}

/* Beside the records may be anything. */
static void records_are_known_by_their_names(void **state)
{
    static const char *const others[] = {"1000000000000000000.json", ".json", "x1.json", "1x.json", "1.jso", "1.json~", "-1.json", "1"};
    static const char text[] = "{\"number\": 1, \"path\": \"a\", \"size\": 1, \"digest\": \"0123456789abcdef\"}";
    struct ckpt ckpt = {.path = (char *)"a-1", .ensemble = 7, .attempt = 1};
    struct ckpt_list list;
    char name[64];

    assert_int_equal(ckptdir_make(dir, &err), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(name, sizeof name, ".stretto/%s", others[i]);
        write_file(name, text, strlen(text));
    }
    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    assert_int_equal(list.n, 0);
    ckptdir_free(&list);
    write_file(".stretto/00000012.json", text, strlen(text)); /* its number is that of its name */
    write_file(".stretto/00000003.json", text, strlen(text));
    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    assert_true(list.n == 2 && list.items[0].number == 3 && list.items[1].number == 12);
    ckptdir_free(&list);
    write_file("a-1", "x", 1);
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), 0);
    assert_int_equal(ckpt.number, 13);
    write_file(".stretto/999999999999999999.json", "broken", 6); /* even so its number is taken */
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), 0);
    assert_int_equal(ckpt.number, INT64_C(1000000000000000001)); /* the next has a file, whatever that is */
}

static struct held_file *create(int64_t ensemble, int64_t attempt, uint64_t session, int64_t generation)
{
    struct held_file *file;

    assert_int_equal(ckptdir_make(dir, &err), 0);
    file = held_create(in_dir(".stretto"), ensemble, attempt, session, generation, &err);
    assert_non_null(file);
    return file;
}

static uint64_t number_at(const unsigned char *at)
{
    uint64_t n = 0;

    for (int i = 7; i >= 0; i--)
        n = n << 8 | at[i];
    return n;
}

/* Byte by byte, since members of other versions write it, too. */
static void an_account_has_the_documented_bytes(void **state)
{
    struct held_file *file = create(7, 12, 0xf3a7, 0x102);
    char boot_id[BOOT_ID_SIZE], *text;
    const unsigned char *bytes;
    struct stat st;
    size_t size;

    for (int step = 0; step < 3; step++) {
        if (step == 1) {
            held_note(file, 0x0a0b, 0x0908);
            held_flush(file);
        } else if (step == 2) {
            held_move(file, 0x304);
            held_destroy(file);
        }
        assert_int_equal(stat(in_dir(".stretto/stream-7-12-000000000000f3a7"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(file_read(in_dir(".stretto/stream-7-12-000000000000f3a7"), 4096, &text, &size, &err), 0);
        bytes = (const unsigned char *)text;
        assert_int_equal(size, 8 + 4 * 8 + BOOT_ID_SIZE);
        assert_memory_equal(bytes, "STRHELD1", 8);
        assert_int_equal(number_at(bytes + 8), step < 2 ? 0x102 : 0x304);
        assert_int_equal(number_at(bytes + 16), step < 1 ? 0 : 0x0a0b);
        assert_int_equal(number_at(bytes + 24), step < 1 ? 0 : 0x0908);
        assert_int_equal(number_at(bytes + 32), step < 2 ? 0 : 1);
        assert_string_equal(text + 40, process_boot_id(boot_id));
        free(text);
        assert_false(there(".stretto/stream-7-12-000000000000f3a7.part"));
    }
    held_destroy(NULL);
}

/* Reads all that is there. */
static struct held_list accounts(void)
{
    struct held_list list = {0};
    DIR *records = opendir(in_dir(".stretto"));

    assert_non_null(records);
    for (struct dirent *entry; (entry = readdir(records)) != NULL;)
        assert_int_equal(held_read(in_dir(".stretto"), entry->d_name, &list, &err), 0);
    closedir(records);
    return list;
}

static void accounts_are_known_by_their_names_and_contents(void **state)
{
    static const char *const others[] = {"stream-7-1-1", "stream-7-1-000000000000000A", "stream-7-1-0000000000000001.part", "stream-7-1",
                                         "stream-07-1-0000000000000001", "xstream-7-1-0000000000000001"};
    struct held_file *file = create(7, 1, 5, 3);
    struct held_list list;
    char *text, name[64];
    size_t size;
    int before = test_descriptors();

    held_note(file, 4, 2);
    assert_int_equal(file_read(in_dir(".stretto/stream-7-1-0000000000000005"), 4096, &text, &size, &err), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(name, sizeof name, ".stretto/%s", others[i]);
        write_file(name, text, size);
    }
    write_file(".stretto/stream-7-1-0000000000000006", text, size - 1); /* not whole */
    text[0] = 'x';
    write_file(".stretto/stream-7-1-0000000000000007", text, size); /* of another version */
    free(text);
    assert_int_equal(symlink("stream-7-1-0000000000000005", in_dir(".stretto/stream-7-1-0000000000000008")), 0);
    list = accounts();
    assert_int_equal(list.n, 1);
    assert_true(list.items[0].ensemble == 7 && list.items[0].attempt == 1 && list.items[0].session == 5);
    assert_true(list.items[0].generation == 3 && list.items[0].begun == 4 && list.items[0].held == 2 &&
                list.items[0].certain);
    assert_int_equal(list.afresh.attempt, 0);
    held_remove(in_dir(".stretto"), &list.items[0]);
    held_free(&list);
    assert_true(list.n == 0 && list.items == NULL);
    assert_false(there(".stretto/stream-7-1-0000000000000005"));
    assert_true(there(".stretto/stream-7-1-0000000000000006"));
    assert_int_equal(test_descriptors(), before);
    held_destroy(file);
    assert_int_equal(test_descriptors(), before - 1);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* and it was the right one */
}

static void record(const char *name, int64_t ensemble, int64_t attempt)
{
    struct ckpt ckpt = {.path = (char *)name, .step = 1, .ensemble = ensemble, .attempt = attempt};

    write_file(name, name, strlen(name));
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), 0);
}

/* An account is needed as long as its attempt, or one before it, has a record. */
static void accounts_stay_as_long_as_earlier_records(void **state)
{
    static const int64_t of[][2] = {{6, 9}, {7, 1}, {7, 2}, {8, 1}};
    struct ckpt_list list;
    char name[64];

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        held_destroy(create(of[i][0], of[i][1], 1, 1));
    record("a-1", 7, 1);
    record("a-2", 7, 2);
    record("a-3", 8, 1);
    for (int keep = 3; keep > 0; keep--) {
        assert_int_equal(ckptdir_read(dir, &list, &err), 0);
        assert_int_equal(list.n, keep == 3 ? 3 : keep + 1);
        ckptdir_retain(dir, &list, keep, &all);
        ckptdir_free(&list);
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, ".stretto/stream-%d-%d-0000000000000001", (int)of[i][0], (int)of[i][1]);
            assert_int_equal(there(name), i >= 4 - keep);
        }
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, ".stretto/0000000%d.json", i + 1);
            assert_int_equal(there(name), i >= 3 - keep);
            snprintf(name, sizeof name, "a-%d", i + 1);
            assert_int_equal(there(name), i >= 3 - keep);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_being_written_is_not_measured),
        cmocka_unit_test(a_record_needs_its_path_its_number_its_size_and_its_digest),
        TEST(records_are_known_by_their_names),
        TEST(an_account_has_the_documented_bytes),
        TEST(accounts_are_known_by_their_names_and_contents),
        TEST(accounts_stay_as_long_as_earlier_records),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
