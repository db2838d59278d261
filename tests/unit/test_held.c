/* What is written of checkpoints and of the streams beside them: every value of a record, the documented bytes of an
 * account, and which names of files are such. */
#include "common/files.h"
#include "common/process.h"
#include "common/xalloc.h"
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/ckptfind.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

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

static void a_checkpoint_is_measured(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 5, 3 << 20};
    const struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 7}, {.tv_sec = 2000, .tv_nsec = 123456789}};
    unsigned char *content = malloc(3 << 20);

    for (size_t i = 0; i < 3 << 20; i++)
        content[i] = (unsigned char)(i * 31 + i / 4099);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ckpt ckpt = {.path = (char *)"a-1"};
        char digest[CKPT_DIGEST_SIZE];
        struct stat st;

        write_file("a-1", content, sizes[i]);
        assert_int_equal(utimensat(AT_FDCWD, in_dir("a-1"), times, 0), 0);
        assert_int_equal(stat(in_dir("a-1"), &st), 0);
        assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
        snprintf(digest, sizeof digest, "%016llx", (unsigned long long)XXH3_64bits(content, sizes[i]));
        assert_string_equal(ckpt.digest, digest);
        assert_int_equal(ckpt.size, sizes[i]);
        assert_int_equal(ckpt.inode, st.st_ino);
        assert_int_equal(ckpt.mtime_ns, INT64_C(2000123456789));
        assert_int_equal(ckpt_mtime_ns(&st), INT64_C(2000123456789));
    }
    free(content);
}

static void what_cannot_be_measured_is_told(void **state)
{
    static const struct {
        const char *name;
        int errnum;
    } cases[] = {{"none", ENOENT}, {"sub", EBUSY}, {"pipe", EBUSY}, {"link", ELOOP}};
    int before = test_descriptors();

    assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(symlink("sub", in_dir("link")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ckpt ckpt = {.path = (char *)cases[i].name};

        err = (struct error){.text = ""};
        errno = 0;
        assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
        assert_int_equal(errno, cases[i].errnum);
        assert_string_equal(err.code, "checkpoint");
        assert_non_null(strstr(err.text, in_dir(cases[i].name)));
    }
    assert_int_equal(test_descriptors(), before);
}

static json_t *read_json(const char *name)
{
    json_t *json = file_read_json(in_dir(name), &err);

    assert_non_null(json);
    return json;
}

static void a_record_has_all_of_its_checkpoint(void **state)
{
    struct ckpt ckpt = {.path = (char *)"a-1", .step = 9, .reported = true, .ensemble = 7, .attempt = 3}, back;
    struct timespec before, after;
    struct ckpt_list list;
    struct stat st;
    json_t *json, *public;

    write_file("a-1", "one", 3);
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    clock_gettime(CLOCK_REALTIME, &before);
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), 0);
    clock_gettime(CLOCK_REALTIME, &after);
    assert_int_equal(ckpt.number, 1);
    assert_true(ckpt.time >= (double)before.tv_sec && ckpt.time <= (double)after.tv_sec + 1);
    assert_int_equal(stat(in_dir(".stretto/00000001.json"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    json = read_json(".stretto/00000001.json");
    assert_true(ckpt_parse(json, &back));
    assert_true(back.number == 1 && back.step == 9 && back.reported && back.size == 3 && back.ensemble == 7 &&
                back.attempt == 3);
    assert_string_equal(back.path, "a-1");
    assert_string_equal(back.digest, ckpt.digest);
    assert_true(back.time == ckpt.time && back.mtime_ns == ckpt.mtime_ns && back.inode == ckpt.inode &&
                back.sent == NULL);
    public = ckpt_json(&back);
    assert_int_equal(json_object_size(public), 9);
    assert_int_equal(json_integer_value(json_object_get(public, "step")), 9);
    assert_true(json_is_true(json_object_get(public, "reported")));
    json_decref(public);
    back.step = -1;
    back.reported = false;
    public = ckpt_json(&back);
    assert_true(json_is_null(json_object_get(public, "step")) && json_is_false(json_object_get(public, "reported")));
    ckpt_fini(&back);
    assert_true(ckpt_parse(public, &back));
    assert_int_equal(back.step, -1);
    ckpt_fini(&back);
    json_decref(public);
    json_decref(json);
    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    assert_true(list.n == 1 && list.items[0].mtime_ns == ckpt.mtime_ns && list.items[0].inode == ckpt.inode);
    ckptdir_free(&list);
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

static void a_directory_that_cannot_be_read_is_told(void **state)
{
    struct ckpt ckpt = {.path = (char *)"\xff", .ensemble = 7};
    struct ckpt_list list;
    int before = test_descriptors();

    write_file("\xff", "x", 1);
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    err = (struct error){.text = ""};
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), -1); /* JSON has no such names */
    assert_string_equal(err.code, "checkpoint");
    assert_false(there(".stretto/00000001.json"));
    write_file("file", "x", 1);
    assert_int_equal(ckptdir_read(in_dir("file"), &list, &err), 0); /* there are none */
    assert_int_equal(list.n, 0);
    err = (struct error){.text = ""};
    assert_int_equal(ckptdir_add(in_dir("file"), &ckpt, &err), -1);
    assert_true(err.text[0] != '\0');
    assert_int_equal(symlink("loop", in_dir("loop")), 0);
    err = (struct error){.text = ""};
    assert_int_equal(ckptdir_read(in_dir("loop"), &list, &err), -1);
    assert_int_equal(errno, ELOOP);
    assert_string_equal(err.code, "checkpoints");
    assert_null(ckptdir_json(in_dir("loop"), &all, &err));
    assert_int_equal(test_descriptors(), before);
}

static void a_chain_begins_with_an_attempt_of_an_ensemble(void **state)
{
    static const struct ckpt_chain chains[] = {{.ensemble = 7, .since = 3}, {.ensemble = 7}};
    static const struct {
        int64_t ensemble, attempt;
        bool counts[2];
    } cases[] = {{7, 2, {false, true}}, {7, 3, {true, true}}, {7, 4, {true, true}}, {6, 3, {false, true}}, {6, 9, {false, true}},
                 {8, 1, {true, true}}, {8, 9, {true, true}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int c = 0; c < 2; c++)
            assert_int_equal(ckpt_counts(&chains[c], cases[i].ensemble, cases[i].attempt), cases[i].counts[c]);
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

static void an_account_that_cannot_be_made_is_told(void **state)
{
    int before = test_descriptors();

    err = (struct error){.text = ""};
    errno = 0;
    assert_null(held_create(in_dir("none"), 7, 1, 1, 1, &err));
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.code, "stream_held");
    assert_non_null(strstr(err.text, "/none/stream-7-1-0000000000000001"));
    assert_int_equal(ckptdir_make(dir, &err), 0);
    assert_int_equal(mkdir(in_dir(".stretto/stream-7-1-0000000000000001"), 0700), 0);
    assert_null(held_create(in_dir(".stretto"), 7, 1, 1, 1, &err));
    held_destroy(create(7, 1, 2, 1));
    held_begin_afresh(in_dir(".stretto"), 7, 2);
    held_begin_afresh(in_dir("none"), 7, 2); /* that does no harm */
    assert_int_equal(test_descriptors(), before);
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

static void the_latest_fresh_start_counts(void **state)
{
    static const char *const names[] = {"afresh-7-2", "afresh-7-10", "afresh-6-99", "afresh-7-9", "afresh-8-1x", "afresh-9", "xafresh-9-9", "afresh-9-9-9"};
    struct held_list list;
    char name[64];

    assert_int_equal(ckptdir_make(dir, &err), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, ".stretto/%s", names[i]);
        write_file(name, "", 0);
    }
    list = accounts();
    assert_true(list.afresh.ensemble == 7 && list.afresh.attempt == 10);
    assert_false(held_covers(&list, 7, 10, NULL, 0));
    assert_false(held_covers(&list, 6, 100, NULL, 0));
    assert_true(held_covers(&list, 7, 11, NULL, 0));
    assert_true(held_covers(&list, 8, 1, NULL, 0));
    held_free(&list);
    held_begin_afresh(in_dir(".stretto"), 8, 1);
    list = accounts();
    assert_true(list.afresh.ensemble == 8 && list.afresh.attempt == 1);
    held_free(&list);
}

/* Of each stream of the attempt, by its session; of none where it has none. */
static void a_record_tells_what_was_sent(void **state)
{
    struct held_stream streams[] = {{.ensemble = 7, .attempt = 1, .session = 0xabc, .begun = 5, .held = 5, .certain = true},
                                    {.ensemble = 7, .attempt = 1, .session = 2, .begun = 6, .held = 7, .certain = true},
                                    {.ensemble = 7, .attempt = 2, .session = 3, .begun = 9, .certain = false},
                                    {.ensemble = 8, .attempt = 1, .session = 4, .begun = 8, .certain = true}};
    struct held_list list = {.items = streams, .n = 4};
    json_t *sent;

    assert_true(held_sent(&list, 7, 1, &sent));
    assert_int_equal(json_object_size(sent), 2);
    assert_int_equal(json_integer_value(json_object_get(sent, "0000000000000abc")), 5);
    assert_int_equal(json_integer_value(json_object_get(sent, "0000000000000002")), 6);
    assert_true(held_covers(&list, 7, 1, sent, 0));
    streams[0].begun = 6; /* one more is on its way */
    assert_false(held_covers(&list, 7, 1, sent, 0));
    streams[0].held = 6;
    assert_true(held_covers(&list, 7, 1, sent, 0));
    streams[0].held = 4;
    assert_false(held_covers(&list, 7, 1, sent, 0));
    streams[0].held = 6;
    streams[1].generation = 3;
    assert_false(held_covers(&list, 7, 1, sent, 1)); /* the other is of generation 0 */
    streams[0].generation = 1;
    assert_true(held_covers(&list, 7, 1, sent, 1));
    assert_false(held_covers(&list, 7, 1, sent, 2));
    assert_false(held_covers(&list, 8, 1, sent, 0)); /* whose accounts are not those of the record */
    json_decref(sent);
    assert_true(held_sent(&list, 9, 1, &sent));
    assert_null(sent);
    assert_false(held_sent(&list, 7, 2, &sent)); /* nobody here knows */
    json_decref(sent);
}

static void a_step_is_the_last_number_of_a_name(void **state)
{
    static const struct {
        const char *path;
        int64_t step;
    } paths[] = {{"a-0123456789", 123456789}, {"a-9", 9}, {"a-0", 0}, {"0", 0}, {"9.ckpt", 9}, {"a10b20c", 20}, {"x", -1}, {"", -1}, {"5/x", -1},
                 {"5/x7", 7}, {"a:1/b;2", 2}, {"999999999999999999", INT64_C(999999999999999999)}, {"1000000000000000000", -1}};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(ckptfind_step(paths[i].path), paths[i].step);
}

static void files_are_found_with_their_sizes_and_times(void **state)
{
    struct ckpt_files files;
    struct stat st;

    write_file("a-10.ckpt", "abc", 3);
    assert_int_equal(utimensat(AT_FDCWD, in_dir("a-10.ckpt"), (const struct timespec[2]){{1, 1}, {1000, 500}}, 0), 0);
    write_file("a-9.ckpt", "", 0);
    assert_int_equal(utimensat(AT_FDCWD, in_dir("a-9.ckpt"), (const struct timespec[2]){{1, 1}, {1000, 501}}, 0), 0);
    assert_int_equal(stat(in_dir("a-10.ckpt"), &st), 0);
    assert_int_equal(ckptfind(dir, "*.ckpt", &files, &err), 0);
    assert_int_equal(files.n, 2);
    assert_string_equal(files.items[0].path, "a-10.ckpt"); /* a nanosecond before */
    assert_int_equal(files.items[0].size, 3);
    assert_int_equal(files.items[0].mtime_ns, INT64_C(1000000000500));
    assert_int_equal(files.items[0].inode, st.st_ino);
    assert_ptr_equal(ckptfind_get(&files, "a-9.ckpt"), &files.items[1]);
    assert_null(ckptfind_get(&files, "a-8.ckpt"));
    ckptfind_free(&files);
    assert_true(files.n == 0 && files.items == NULL);
    assert_int_equal(ckptfind(in_dir("none"), "*", &files, &err), 0);
    assert_int_equal(ckptfind(in_dir("a-9.ckpt"), "*", &files, &err), 0);
    assert_int_equal(files.n, 0);
    assert_int_equal(ckptfind(dir, "*.none", &files, &err), 0);
    assert_int_equal(files.n, 0);
    assert_int_equal(symlink("loop", in_dir("loop")), 0);
    err = (struct error){.text = ""};
    assert_int_equal(ckptfind(in_dir("loop"), "*", &files, &err), -1);
    assert_string_equal(err.code, "checkpoints");
    assert_non_null(strstr(err.text, "/loop"));
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
        TEST(a_checkpoint_is_measured),
        TEST(what_cannot_be_measured_is_told),
        TEST(what_is_being_written_is_not_measured),
        TEST(a_record_has_all_of_its_checkpoint),
        cmocka_unit_test(a_record_needs_its_path_its_number_its_size_and_its_digest),
        TEST(records_are_known_by_their_names),
        TEST(a_directory_that_cannot_be_read_is_told),
        cmocka_unit_test(a_chain_begins_with_an_attempt_of_an_ensemble),
        TEST(an_account_has_the_documented_bytes),
        TEST(an_account_that_cannot_be_made_is_told),
        TEST(accounts_are_known_by_their_names_and_contents),
        TEST(the_latest_fresh_start_counts),
        cmocka_unit_test(a_record_tells_what_was_sent),
        cmocka_unit_test(a_step_is_the_last_number_of_a_name),
        TEST(files_are_found_with_their_sizes_and_times),
        TEST(accounts_stay_as_long_as_earlier_records),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
