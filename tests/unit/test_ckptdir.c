/* The books of a checkpoint directory: numbers, digests, chains, what is kept and what is never touched. */
#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/ckptfind.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct error err;
static const struct ckpt_chain all = {.ensemble = 7};

static int setup(void **state)
{
    strcpy(dir, "/tmp/st-ckpt.XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    char *command = xasprintf("rm -rf '%s'", dir);
    int rc = system(command);

    free(command);
    return rc;
}

static char *in_dir(const char *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    assert_int_equal(file_write_whole(in_dir(name), text, strlen(text), 0600, &err), 0);
}

static int64_t record(const char *name, int64_t attempt)
{
    struct ckpt ckpt = {.path = (char *)name, .step = ckptfind_step(name), .ensemble = 7, .attempt = attempt};

    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), 0);
    return ckpt.number;
}

/* The newest's path, "" if there is none. */
static const char *newest(const struct ckpt_chain *chain)
{
    static char path[64];
    struct ckpt_list list;
    const struct ckpt *ckpt;

    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    ckpt = ckptdir_newest(dir, &list, chain);
    snprintf(path, sizeof path, "%s", ckpt ? ckpt->path : "");
    ckptdir_free(&list);
    return path;
}

static void retain(int64_t keep)
{
    struct ckpt_list list;

    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    ckptdir_retain(dir, &list, keep, &all);
    ckptdir_free(&list);
}

static bool there(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

static size_t whole(void)
{
    json_t *json = ckptdir_json(dir, &all, &err);
    size_t n = json_array_size(json);

    assert_non_null(json);
    json_decref(json);
    return n;
}

static void only_what_was_recorded_is_removed(void **state)
{
    char name[] = "a-1";

    write_file("notes", "mine");
    for (name[2] = '1'; name[2] <= '5'; name[2]++) {
        write_file(name, name);
        record(name, 1);
    }
    write_file("a-2", "changed since");
    retain(2);
    assert_false(there("a-1"));
    assert_true(there("a-2")); /* is somebody's */
    assert_false(there("a-3"));
    assert_true(there("a-4") && there("a-5") && there("notes"));
    assert_int_equal(whole(), 2);
}

static void the_one_before_is_kept_until_the_next_is_whole(void **state)
{
    char name[] = "a-1";

    for (name[2] = '1'; name[2] <= '3'; name[2]++) {
        write_file(name, name);
        record(name, 1);
    }
    assert_int_equal(truncate(in_dir("a-3"), 1), 0);
    retain(1);
    assert_true(there("a-2"));
    assert_false(there("a-1"));
    assert_string_equal(newest(&all), "a-2");
}

static void no_number_is_given_twice(void **state)
{
    write_file("a-1", "one");
    record("a-1", 1);
    unlink(in_dir("a-1"));
    retain(1);
    write_file("a-2", "two");
    assert_int_equal(record("a-2", 2), 2);
    assert_int_equal(whole(), 1);
}

/* Written again under the same name, the former is not there any more. */
static void a_name_may_be_used_again(void **state)
{
    write_file("state", "first");
    record("state", 1);
    write_file("state", "second one");
    assert_string_equal(newest(&all), "");
    record("state", 1);
    assert_string_equal(newest(&all), "state");
    assert_int_equal(whole(), 1);
    retain(1);
    assert_true(there("state"));
    assert_int_equal(whole(), 1);
}

static void a_fresh_start_does_not_count_what_was_before(void **state)
{
    struct ckpt_chain fresh = {.ensemble = 7, .since = 3}, other = {.ensemble = 8, .since = 1}, parent = {.ensemble = 6, .since = 9};

    write_file("a-1", "one");
    record("a-1", 2);
    assert_string_equal(newest(&fresh), "");
    assert_string_equal(newest(&other), "");
    assert_string_equal(newest(&parent), "a-1"); /* what follows it up goes on */
    write_file("a-2", "two");
    record("a-2", 3);
    assert_string_equal(newest(&fresh), "a-2");
    assert_string_equal(newest(&all), "a-2");
}

static struct held_file *open_stream(int64_t attempt, uint64_t session, int64_t generation)
{
    struct held_file *stream;

    assert_int_equal(ckptdir_make(dir, &err), 0);
    stream = held_create(in_dir(".stretto"), 7, attempt, session, generation, &err);
    assert_non_null(stream);
    return stream;
}

static void what_was_sent_before_is_held(void **state)
{
    struct held_file *stream = open_stream(1, 0xf00f, 1);

    held_note(stream, 10, 8);
    write_file("a-1", "one");
    record("a-1", 1);
    assert_string_equal(newest(&all), "");
    assert_int_equal(whole(), 0);
    held_note(stream, 10, 9);
    assert_string_equal(newest(&all), "");
    held_note(stream, 10, 10);
    assert_string_equal(newest(&all), "a-1");
    assert_int_equal(whole(), 1);
    held_note(stream, 11, 10); /* a step that it may cover is on its way */
    assert_string_equal(newest(&all), "");
    held_note(stream, 12, 11);
    assert_string_equal(newest(&all), "a-1");
    held_destroy(stream);
    assert_string_equal(newest(&all), "a-1");
}

static void the_one_before_is_kept_until_the_next_is_held(void **state)
{
    struct held_file *stream = open_stream(1, 1, 1);

    write_file("a-1", "one");
    record("a-1", 1);
    held_note(stream, 5, 5);
    write_file("a-2", "two");
    record("a-2", 1);
    held_note(stream, 9, 7);
    write_file("a-3", "three");
    record("a-3", 1);
    write_file("a-4", "four");
    record("a-4", 1);
    assert_string_equal(newest(&all), "a-2");
    retain(1);
    assert_false(there("a-1"));
    assert_true(there("a-2") && there("a-3") && there("a-4"));
    held_note(stream, 9, 9);
    assert_string_equal(newest(&all), "a-4");
    retain(1);
    assert_false(there("a-2"));
    assert_string_equal(newest(&all), "a-4");
    held_destroy(stream);
}

static void every_stream_of_an_attempt_counts_and_no_other(void **state)
{
    struct held_file *one = open_stream(1, 1, 1), *two = open_stream(1, 2, 1), *later = open_stream(2, 3, 1);

    held_note(one, 4, 4);
    held_note(two, 3, 2);
    held_note(later, 9, 0);
    write_file("a-1", "one");
    record("a-1", 1);
    assert_string_equal(newest(&all), "");
    held_note(two, 3, 3);
    assert_string_equal(newest(&all), "a-1");
    assert_int_equal(unlink(in_dir(".stretto/stream-7-1-0000000000000002")), 0); /* a crash of the host */
    assert_string_equal(newest(&all), "");
    held_destroy(one);
    held_destroy(two);
    held_destroy(later);
}

static void what_other_ranks_held_does_not_count(void **state)
{
    struct ckpt_chain first = {.ensemble = 7, .generation = 1}, second = {.ensemble = 7, .generation = 2};
    struct held_file *stream = open_stream(1, 1, 1);

    held_note(stream, 3, 3);
    write_file("a-1", "one");
    record("a-1", 1);
    assert_string_equal(newest(&first), "a-1");
    assert_string_equal(newest(&second), "");
    held_move(stream, 2); /* which keep it, too */
    assert_string_equal(newest(&first), "a-1");
    assert_string_equal(newest(&second), "a-1");
    held_destroy(stream);
}

static void nothing_is_gone_on_from_after_steps_were_found_missing(void **state)
{
    write_file("a-1", "one");
    record("a-1", 1);
    write_file("a-2", "two");
    record("a-2", 2);
    held_begin_afresh(in_dir(".stretto"), 7, 2);
    assert_string_equal(newest(&all), "");
    assert_int_equal(whole(), 0);
    write_file("a-3", "three");
    record("a-3", 3);
    assert_string_equal(newest(&all), "a-3");
}

/* How much was sent cannot be told on this host while the stream is open there. */
static void a_stream_of_another_host_is_believed_when_it_is_closed(void **state)
{
    struct held_file *stream = open_stream(1, 1, 1);
    struct ckpt ckpt = {.path = (char *)"a-1", .ensemble = 7, .attempt = 1};
    FILE *file = fopen(in_dir(".stretto/stream-7-1-0000000000000001"), "r+");

    assert_non_null(file);
    assert_int_equal(fseek(file, 40, SEEK_SET), 0);
    assert_int_equal(fwrite("elsewhere", 10, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    held_note(stream, 3, 3);
    write_file("a-1", "one");
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    assert_int_equal(ckptdir_add(dir, &ckpt, &err), -1);
    held_destroy(stream);
    record("a-1", 1);
    assert_string_equal(newest(&all), "a-1");
}

static void broken_records_are_passed_over(void **state)
{
    write_file("a-1", "one");
    record("a-1", 1);
    write_file(".stretto/00000002.json",
               "{\"path\": \"../../etc/passwd\", \"size\": 1, \"digest\": \"0123456789abcdef\"}");
    write_file(".stretto/00000003.json", "{\"path\": \"a-1\"");
    write_file(".stretto/00000004.json.tmp", "{}");
    assert_string_equal(newest(&all), "a-1");
    retain(1);
    assert_true(there("a-1"));
}

/* The directory can be written to by the member. */
static void records_of_files_elsewhere_are_passed_over(void **state)
{
    static const char *const elsewhere[] = {"", "/etc/passwd", "..", "../a-1", "sub/..", "sub/../../a-1", "./../a-1"};
    static const char *const here[] = {"..a", "sub/..b", "sub/c..", "..."};
    struct ckpt_list list;
    char name[64], *text;
    int number = 1;

    assert_int_equal(ckptdir_make(dir, &err), 0);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere + sizeof here / sizeof *here; i++, number++) {
        size_t n = sizeof elsewhere / sizeof *elsewhere;

        snprintf(name, sizeof name, ".stretto/%08d.json", number);
        text = xasprintf("{\"number\": %d, \"path\": \"%s\", \"size\": 1, \"digest\": \"0123456789abcdef\"}", number,
                         i < n ? elsewhere[i] : here[i - n]);
        write_file(name, text);
        free(text);
    }
    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    assert_int_equal(list.n, sizeof here / sizeof *here);
    for (size_t i = 0; i < list.n; i++)
        assert_string_equal(list.items[i].path, here[i]);
    ckptdir_free(&list);
}

static void only_regular_files_are_measured(void **state)
{
    struct ckpt ckpt = {.path = (char *)"pipe"};

    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(symlink("/etc/passwd", in_dir("link")), 0);
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
    ckpt.path = (char *)"link";
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
    ckpt.path = (char *)"nothing";
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
}

static void touch_at(const char *name, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    write_file(name, "x");
    assert_int_equal(utimensat(AT_FDCWD, in_dir(name), times, 0), 0);
}

static bool is_true(const void *arg)
{
    return *(const bool *)arg;
}

/* A small file is read all the same. */
static void reading_can_be_stopped(void **state)
{
    struct ckpt ckpt = {.path = (char *)"large"};
    bool stop = true;

    write_file("large", "x");
    ckptdir_heed(is_true, &stop);
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    assert_int_equal(truncate(in_dir("large"), (off_t)1 << 40), 0);
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
    assert_int_equal(truncate(in_dir("large"), 3 << 20), 0);
    stop = false;
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
    ckptdir_heed(NULL, NULL);
}

/* Some file systems know no more than seconds, so that the step decides between files of one time. */
static void files_are_found_in_their_order(void **state)
{
    static const char *const order[] = {"z-100.ckpt", "a-9.ckpt", "b-9.ckpt", "a-10.ckpt", "c-2.ckpt"};
    struct ckpt_files files;

    touch_at("z-100.ckpt", 1000);
    touch_at("a-10.ckpt", 2000);
    touch_at("b-9.ckpt", 2000);
    touch_at("a-9.ckpt", 2000);
    touch_at("c-2.ckpt", 3000);
    assert_int_equal(ckptfind(dir, "*.ckpt", &files, &err), 0);
    assert_int_equal(files.n, sizeof order / sizeof *order);
    for (size_t i = 0; i < files.n; i++)
        assert_string_equal(files.items[i].path, order[i]);
    assert_int_equal(ckptfind_get(&files, "a-10.ckpt")->mtime_ns, 2000 * INT64_C(1000000000));
    assert_null(ckptfind_get(&files, "a-1"));
    ckptfind_free(&files);
}

/* Of such a name a pattern would mean something. */
static void a_directory_s_name_is_no_pattern(void **state)
{
    static const char *const names[] = {"a[b]", "a*", "a?", "a\\b"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *below = xstrdup(in_dir(names[i])), *file = xasprintf("%s/x-1", names[i]);
        struct ckpt_files files;

        assert_int_equal(dir_make(below, &err), 0);
        write_file(file, "x");
        assert_int_equal(ckptfind(below, "*-[0-9]", &files, &err), 0);
        assert_int_equal(files.n, 1);
        assert_string_equal(files.items[0].path, "x-1");
        ckptfind_free(&files);
        free(file);
        free(below);
    }
}

/* Files elsewhere are neither found nor measured, nor removed as old checkpoints. */
static void links_lead_nowhere(void **state)
{
    char *elsewhere = xasprintf("%s.other", dir), *file = xasprintf("%s/a-1.ckpt", elsewhere);
    struct ckpt ckpt = {.path = (char *)"out/a-1.ckpt", .step = 1, .ensemble = 7, .attempt = 1};
    struct ckpt_files files;
    struct stat st;

    assert_int_equal(dir_make(elsewhere, &err), 0);
    assert_int_equal(dir_make(in_dir("out"), &err), 0);
    for (int i = 1; i < 4; i++) {
        write_file("out/a-1.ckpt", "x");
        assert_int_equal(ckpt_measure(dir, &ckpt, &err), 0);
        assert_int_equal(ckptdir_add(dir, &ckpt, &err), 0);
        ckpt.path = i == 1 ? (char *)"out/a-2.ckpt" : (char *)"out/a-1.ckpt";
        ckpt.step++;
        write_file("out/a-2.ckpt", "x");
    }
    assert_int_equal(unlink(in_dir("out/a-1.ckpt")), 0);
    assert_int_equal(rename(in_dir("out/a-2.ckpt"), file), 0);
    assert_int_equal(rmdir(in_dir("out")), 0);
    assert_int_equal(symlink(elsewhere, in_dir("out")), 0);
    assert_int_equal(ckptfind(dir, "*/*.ckpt", &files, &err), 0);
    assert_int_equal(files.n, 0);
    assert_string_equal(files.linked, "out/a-1.ckpt");
    ckptfind_free(&files);
    ckpt.path = (char *)"out/a-1.ckpt";
    assert_int_equal(ckpt_measure(dir, &ckpt, &err), -1);
    assert_non_null(strstr(err.text, "symbolic link"));
    retain(1);
    assert_int_equal(stat(file, &st), 0);
    unlink(file);
    rmdir(elsewhere);
    free(file);
    free(elsewhere);
}

static void files_are_found_by_name(void **state)
{
    struct ckpt_files files;

    write_file("a-10.ckpt", "x");
    write_file("b.txt", "x");
    assert_int_equal(dir_make(in_dir("sub"), &err), 0);
    assert_int_equal(dir_make(in_dir("dir.ckpt"), &err), 0);
    write_file("sub/c-3.ckpt", "x");
    assert_int_equal(symlink("a-10.ckpt", in_dir("latest.ckpt")), 0);
    assert_int_equal(ckptfind(dir, "*.ckpt", &files, &err), 0);
    assert_int_equal(files.n, 1);
    assert_string_equal(files.items[0].path, "a-10.ckpt");
    ckptfind_free(&files);
    assert_int_equal(ckptfind(dir, "*/*.ckpt", &files, &err), 0);
    assert_int_equal(files.n, 1);
    assert_string_equal(files.items[0].path, "sub/c-3.ckpt");
    ckptfind_free(&files);
    assert_null(files.linked);
    assert_int_equal(ckptfind_step("sub-9/a-10.ckpt"), 10);
    assert_int_equal(ckptfind_step("sub-9/state.ckpt"), -1);
    assert_int_equal(ckptfind_step("7/12"), 12);
    assert_int_equal(ckptfind_step("2026/3.ckpt"), 3);
    assert_int_equal(ckptfind_step("state"), -1);
    assert_int_equal(ckptfind_step("99999999999999999999"), -1);
}

/* A library and a runner may record at the same time. */
static void writers_do_not_disturb_each_other(void **state)
{
    enum { WRITERS = 4, EACH = 20 };
    struct ckpt_list list;

    write_file("a-1", "one");
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            struct ckpt ckpt = {.path = (char *)"a-1", .ensemble = 7, .attempt = i + 1};

            for (int n = 0; n < EACH; n++)
                if (ckpt_measure(dir, &ckpt, &err) < 0 || ckptdir_add(dir, &ckpt, &err) < 0)
                    _exit(1);
            _exit(0);
        }
    }
    for (int i = 0, status; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    assert_int_equal(list.n, WRITERS * EACH);
    for (size_t i = 0; i < list.n; i++)
        assert_int_equal(list.items[i].number, i + 1);
    ckptdir_free(&list);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_was_recorded_is_removed),
        TEST(the_one_before_is_kept_until_the_next_is_whole),
        TEST(no_number_is_given_twice),
        TEST(a_name_may_be_used_again),
        TEST(a_fresh_start_does_not_count_what_was_before),
        TEST(what_was_sent_before_is_held),
        TEST(the_one_before_is_kept_until_the_next_is_held),
        TEST(every_stream_of_an_attempt_counts_and_no_other),
        TEST(what_other_ranks_held_does_not_count),
        TEST(nothing_is_gone_on_from_after_steps_were_found_missing),
        TEST(a_stream_of_another_host_is_believed_when_it_is_closed),
        TEST(broken_records_are_passed_over),
        TEST(records_of_files_elsewhere_are_passed_over),
        TEST(only_regular_files_are_measured),
        TEST(reading_can_be_stopped),
        TEST(files_are_found_in_their_order),
        TEST(a_directory_s_name_is_no_pattern),
        TEST(files_are_found_by_name),
        TEST(links_lead_nowhere),
        TEST(writers_do_not_disturb_each_other),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
