/* Archives: what goes into them, what stays, and what a disk that fails, or a write that was cut short, leaves
 * behind. */
#include "common/files.h"
#include "common/xalloc.h"
#include "daemon/rundir/archiving.h"
#include "tests/unit/failing_disk.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct error err;
static struct archiving p;

static void add(const char *name, const char *text)
{
    char *path = xasprintf("%s/e1/%s", dir, name), *parent = xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);

    assert_int_equal(dir_make(parent, &err), 0);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
    free(parent);
    free(path);
}

static bool is_there(const char *name)
{
    char *path = xasprintf("%s/e1/%s", dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static void remove_file(const char *name)
{
    char *path = xasprintf("%s/e1/%s", dir, name);

    assert_int_equal(unlink(path), 0);
    free(path);
}

static void add_attempt(int index, const char *job)
{
    char name[80], record[120];

    snprintf(record, sizeof record, "{\"job\":\"%s\",\"id\":\"1.%d\",\"started\":1795470844.8510001}", job, index);
    snprintf(name, sizeof name, "members/0/%d/a1/exit.json", index);
    add(name, record);
    snprintf(name, sizeof name, "members/0/%d/a1/stdout", index);
    add(name, index == 0 ? "first" : "other");
    snprintf(name, sizeof name, "members/0/%d/a1/stderr", index);
    add(name, "");
}

/* One job of two attempts that succeeded, and what archiving_write() is told of it. */
static int setup(void **state)
{
    fault.call = NULL;
    strcpy(dir, "/tmp/st-archive.XXXXXX");
    assert_non_null(mkdtemp(dir));
    add_attempt(0, "st-1");
    add_attempt(1, "st-1");
    add("members/0/0/checkpoint/.stretto/x", "");
    remove_file("members/0/0/checkpoint/.stretto/x");
    add("jobs/st-1/claim.json", "{\"pid\":1}");
    add("jobs/st-1/runner.log", "the runner says\n");
    p = (struct archiving){.run_dir = dir, .ensemble = 1, .n_jobs = 1, .n_attempts = 2};
    p.jobs = xcalloc(1, sizeof *p.jobs);
    p.jobs[0] = (struct archiving_job){.id = 1, .name = "st-1", .n = 2};
    p.attempts = xcalloc(2, sizeof *p.attempts);
    p.attempts[0] = (struct archiving_attempt){.index = 0, .number = 1, .kind = ARCHIVE_SUCCEEDED, .last = true};
    p.attempts[1] = (struct archiving_attempt){.index = 1, .number = 1, .kind = ARCHIVE_SUCCEEDED, .last = true};
    return 0;
}

static int teardown(void **state)
{
    char *command = xasprintf("rm -rf '%s'", dir);
    int rc = system(command);

    fault.call = NULL;
    free(command);
    archiving_clear(&p);
    return rc;
}

static void write_all(void)
{
    assert_int_equal(archiving_write(&p, &err), 0);
}

static void remove_all(void)
{
    assert_int_equal(archiving_remove(&p, &err), 0);
}

/* Returns the part of an attempt, to be freed; NULL if it is in no archive. */
static char *part_of(size_t i, enum archive_part part)
{
    const struct archiving_attempt *a = &p.attempts[i];
    char *path = archive_path(dir, 1, a->kind, a->file), *text;
    int64_t first, size;
    int fd = archive_open(path, a->at, a->index, a->number, part, &first, &size, &err);

    free(path);
    assert_true(fd >= 0);
    text = size < 0 ? NULL : xcalloc((size_t)size + 1, 1);
    assert_true(text == NULL || pread(fd, text, (size_t)size, first) == size);
    close(fd);
    return text;
}

static void assert_part(size_t i, enum archive_part part, const char *wanted)
{
    char *text = part_of(i, part);

    if (wanted == NULL)
        assert_null(text);
    else
        assert_string_equal(text, wanted);
    free(text);
}

static void a_member_that_goes_on_keeps_its_directory(void **state)
{
    p.attempts[0].last = false;
    write_all();
    remove_all();
    assert_true(is_there("members/0/0/checkpoint"));
    assert_false(is_there("members/0/0/a1") || is_there("members/0/1"));
}

static void a_fence_stays(void **state)
{
    add("members/0/1/a1/exit.json", "{\"given_up\":true,\"job\":\"st-1\",\"id\":\"1.1\"}");
    write_all();
    remove_all();
    assert_true(p.attempts[0].archived && !p.attempts[1].archived && !p.jobs[0].whole);
    assert_true(is_there("members/0/1/a1/exit.json") && is_there("members/0/1/a1/stdout"));
    assert_true(is_there("jobs/st-1/claim.json"));
    assert_false(is_there("members/0/0/a1"));
}

static void the_record_of_another_job_proves_nothing(void **state)
{
    add_attempt(1, "st-2");
    write_all();
    assert_true(!p.attempts[1].archived && !p.jobs[0].whole);
}

static void a_job_that_the_daemon_claimed_stays(void **state)
{
    add("jobs/st-1/claim.json", "{\"given_up\":true}");
    write_all();
    remove_all();
    assert_true(!p.attempts[0].archived && is_there("jobs/st-1/claim.json") && is_there("members/0/0/a1/exit.json"));
}

static void a_job_with_files_of_others_stays(void **state)
{
    add("jobs/st-1/pbs.log", "said");
    write_all();
    remove_all();
    assert_true(is_there("jobs/st-1/claim.json") && is_there("jobs/st-1/pbs.log"));
    assert_false(is_there("members/0/0"));
}

static void an_attempt_that_never_began_is_nothing_to_archive(void **state)
{
    p.attempts[1].index = 7;
    write_all();
    remove_all();
    assert_true(!p.attempts[1].archived && p.jobs[0].whole);
    assert_false(is_there("jobs/st-1"));
}

static void what_is_no_file_of_ours_stays(void **state)
{
    char *path = xasprintf("%s/e1/members/0/0/a1/stdout", dir);

    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("stderr", path), 0);
    free(path);
    write_all();
    remove_all();
    assert_part(0, ARCHIVE_STDOUT, NULL);
    assert_part(0, ARCHIVE_STDERR, "");
    assert_true(is_there("members/0/0/a1"));
}

static void what_has_changed_since_stays(void **state)
{
    write_all();
    add("members/0/0/a1/stdout", "first and more");
    remove_all();
    assert_true(p.attempts[0].changed && !p.attempts[1].changed && !p.jobs[0].whole);
    assert_true(is_there("members/0/0/a1/stdout") && is_there("members/0/0/a1/exit.json") && is_there("jobs/st-1"));
    assert_false(is_there("members/0/1"));
}

static void without_its_copy_nothing_is_removed(void **state)
{
    write_all();
    p.attempts[1].at = p.attempts[0].at; /* the entry of another attempt */
    remove_all();
    assert_true(p.attempts[1].changed && is_there("members/0/1/a1/stdout") && is_there("jobs/st-1"));
    assert_false(is_there("members/0/0/a1"));
}

static void what_the_database_does_not_know_is_not_overwritten(void **state)
{
    int64_t at;

    write_all();
    at = p.attempts[1].at;
    p.files[ARCHIVE_SUCCEEDED].size = at; /* as if the second had not been committed, or had been cut short */
    write_all();
    assert_int_equal(p.attempts[0].file, 2);
    assert_int_equal(p.files[ARCHIVE_SUCCEEDED].number, 2);
    p.attempts[1].file = 1;
    p.attempts[1].at = at;
    assert_part(1, ARCHIVE_STDOUT, "other");
    p.files[ARCHIVE_SUCCEEDED].number = 0; /* as if the database were an older one */
    write_all();
    assert_int_equal(p.attempts[0].file, 3);
}

static void an_entry_that_is_cut_short_is_none(void **state)
{
    struct archive_entry entry;
    char *path, *texts[ARCHIVE_PARTS];
    int64_t parts;
    int fd;

    write_all();
    path = archive_path(dir, 1, ARCHIVE_SUCCEEDED, 1);
    fd = open(path, O_RDWR);
    assert_int_equal(archive_entry_read(fd, p.attempts[1].at, &entry, &parts, &err), 1);
    assert_int_equal(archive_entry_end(&entry, parts), p.files[ARCHIVE_SUCCEEDED].size);
    assert_int_equal(archive_parts_read(fd, &entry, parts, texts, &err), 1);
    assert_string_equal(texts[ARCHIVE_STDOUT], "other");
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        free(texts[i]);
    assert_int_equal(pwrite(fd, "X", 1, parts), 1);
    assert_int_equal(archive_parts_read(fd, &entry, parts, texts, &err), 0);
    assert_int_equal(archive_entry_read(fd, p.attempts[1].at + 1, &entry, &parts, &err), 0);
    assert_int_equal(ftruncate(fd, p.files[ARCHIVE_SUCCEEDED].size - 1), 0);
    assert_int_equal(archive_entry_read(fd, p.attempts[1].at, &entry, &parts, &err), 0);
    assert_int_equal(archive_open(path, p.attempts[1].at, 1, 1, ARCHIVE_STDOUT, &parts, &parts, &err), -1);
    close(fd);
    free(path);
}

static int64_t size_of(const char *name)
{
    char *path = xasprintf("%s/e1/%s", dir, name);
    struct stat st;
    int64_t size = stat(path, &st) == 0 ? st.st_size : -1;

    free(path);
    return size;
}

static void write_fails(const char *code)
{
    assert_int_equal(archiving_write(&p, &err), -1);
    assert_string_equal(err.code, code);
    fault.call = NULL;
}

static void remove_fails(void)
{
    assert_int_equal(archiving_remove(&p, &err), -1);
    assert_string_equal(err.code, "file_remove");
    fault.call = NULL;
}

static const int of_a_user[] = {ENOENT, ENOTDIR, ELOOP, EACCES, EPERM}; /* who has closed a directory, or put another thing in its place */
static const int of_a_disk[] = {EIO, ENOSPC, EROFS, ESTALE, EDQUOT};

#define EACH(errors) (size_t i = 0; i < sizeof errors / sizeof *errors; i++)

static void what_a_user_has_closed_stays(void **state)
{
    write_all();
    for EACH (of_a_user) {
        every("unlinkat", "stdout", of_a_user[i]);
        remove_all();
        every("open", "a1", of_a_user[i]);
        remove_all();
        every("unlinkat", "runner.log", of_a_user[i]);
        assert_true(is_there("members/0/0/a1/stdout") && is_there("members/0/1/a1/stdout"));
    }
    fault.call = NULL;
    assert_false(p.attempts[0].changed || p.attempts[1].changed);
    remove_all();
    assert_false(is_there("members/0/0") || is_there("members/0/1") || is_there("jobs/st-1"));
}

/* Whoever removes the originals comes back, and they go then. */
static void originals_that_a_failing_disk_keeps_are_told(void **state)
{
    write_all();
    for EACH (of_a_disk) {
        every("open", "a1", of_a_disk[i]);
        remove_fails();
        every("unlinkat", "exit.json", of_a_disk[i]);
        remove_fails();
        assert_true(is_there("members/0/0/a1/exit.json") && is_there("members/0/1/a1/exit.json"));
        assert_true(is_there("jobs/st-1/claim.json"));
    }
    remove_all();
    assert_false(is_there("members/0/0") || is_there("members/0/1") || is_there("jobs/st-1"));
}

static void a_job_that_a_failing_disk_keeps_is_told(void **state)
{
    write_all();
    every("rename", "st-1", EIO);
    remove_fails();
    assert_true(is_there("jobs/st-1/claim.json"));
    every("rename", "st-1", EACCES);
    remove_all();
    assert_true(is_there("jobs/st-1/claim.json"));
    every("unlinkat", "claim.json", EIO);
    remove_fails();
    assert_true(is_there("jobs/st-1.over/claim.json"));
    every("unlinkat", "claim.json", EACCES);
    remove_all();
    assert_true(is_there("jobs/st-1.over/claim.json"));
    fault.call = NULL;
    remove_all();
    assert_false(is_there("jobs/st-1.over") || is_there("jobs/st-1"));
}

static void without_the_archive_nothing_is_removed(void **state)
{
    write_all();
    every("open", "succeeded-1.archive", EIO);
    assert_int_equal(archiving_remove(&p, &err), -1);
    every("open", "succeeded-1.archive", ENOENT);
    remove_all();
    assert_true(p.attempts[0].changed && p.attempts[1].changed && is_there("members/0/0/a1/stdout"));
    assert_true(is_there("members/0/1/a1/stdout") && is_there("jobs/st-1/claim.json"));
}

static void what_cannot_be_read_is_not_archived(void **state)
{
    every("open", "a1", EIO);
    write_fails("file_read");
    every("open", "stdout", EIO);
    write_fails("file_read");
    every("read", NULL, EIO);
    write_fails("file_read");
    every("open", "claim.json", EIO);
    write_fails("file_read");
    every("open", "a1", EACCES);
    write_all();
    assert_true(!p.attempts[0].archived && !p.attempts[1].archived && !p.jobs[0].whole);
    assert_false(is_there("succeeded-1.archive"));
    every("open", "stdout", EACCES);
    write_all();
    fault.call = NULL;
    assert_part(0, ARCHIVE_STDOUT, NULL);
    assert_part(0, ARCHIVE_STDERR, "");
    remove_all();
    assert_true(is_there("members/0/0/a1/stdout") && !is_there("members/0/0/a1/stderr"));
}

static void calls_that_a_signal_interrupts_are_made_again(void **state)
{
    every("read", NULL, EINTR);
    fault.times = 3;
    write_all();
    every("write", NULL, EINTR);
    fault.times = 3;
    write_all();
    assert_part(0, ARCHIVE_STDOUT, "first");
    assert_part(1, ARCHIVE_STDOUT, "other");
}

/* The next call goes on with the file where the database says that it ends, so that a disk which is full for long has
 * no file more. */
static void what_a_full_disk_cut_short_is_taken_back(void **state)
{
    static const char *const calls[] = {"write", "fdatasync"};
    int64_t size;

    for (int i = 0; i < 6; i++) {
        every(calls[i % 2], NULL, i < 3 ? ENOSPC : EIO);
        write_fails("file_write");
        assert_int_equal(p.files[ARCHIVE_SUCCEEDED].number, 0);
    }
    write_all();
    size = p.files[ARCHIVE_SUCCEEDED].size;
    assert_true(p.attempts[0].file == 1 && size == size_of("succeeded-1.archive"));
    for (int i = 0; i < 6; i++) {
        every(calls[i % 2], NULL, i < 3 ? ENOSPC : EIO);
        write_fails("file_write");
        assert_int_equal(p.files[ARCHIVE_SUCCEEDED].size, size);
        assert_int_equal(size_of("succeeded-1.archive"), size);
    }
    write_all();
    assert_true(p.attempts[0].file == 1 && p.attempts[0].at == size && !is_there("succeeded-2.archive"));
    assert_part(0, ARCHIVE_STDOUT, "first");
    assert_part(1, ARCHIVE_STDOUT, "other");
}

static void an_archive_that_cannot_be_made_is_told(void **state)
{
    every("open", "succeeded-1.archive", EROFS);
    write_fails("file_write");
    assert_false(is_there("succeeded-1.archive"));
    assert_int_equal(p.files[ARCHIVE_SUCCEEDED].number, 0);
    write_all();
    assert_part(1, ARCHIVE_STDOUT, "other");
}

/* What is written while more is added is flushed with the rest. */
static void more_than_is_written_at_once(void **state)
{
    static const size_t count = 6;
    char *large = xcalloc(ARCHIVE_PART_MAX + 1, 1), *part, name[80];

    p.attempts = xrealloc(p.attempts, count, sizeof *p.attempts);
    for (size_t i = 0; i < count; i++) {
        memset(large, 'a' + (int)i, ARCHIVE_PART_MAX);
        add_attempt((int)i, "st-1");
        snprintf(name, sizeof name, "members/0/%zu/a1/stdout", i);
        add(name, large);
        p.attempts[i] = (struct archiving_attempt){.index = (int64_t)i, .number = 1, .kind = ARCHIVE_SUCCEEDED, .last = true};
    }
    p.jobs[0].n = p.n_attempts = count;
    every("write", NULL, ENOSPC);
    write_fails("file_write");
    write_all();
    assert_int_equal(size_of("succeeded-1.archive"), p.files[ARCHIVE_SUCCEEDED].size);
    for (size_t i = 0; i < count; i++) {
        memset(large, 'a' + (int)i, ARCHIVE_PART_MAX);
        part = part_of(i, ARCHIVE_STDOUT);
        assert_int_equal(strcmp(part, large), 0);
        free(part);
    }
    free(large);
}

static void names_of_archives(void **state)
{
    enum archive_kind kind;
    int64_t number;

    assert_true(archive_name_parse("succeeded-12.archive", &kind, &number) && kind == ARCHIVE_SUCCEEDED &&
                number == 12);
    assert_true(archive_name_parse("other-1.archive", &kind, &number) && kind == ARCHIVE_OTHER && number == 1);
    assert_false(archive_name_parse("other-1.archive~", &kind, &number) ||
                 archive_name_parse("other-.archive", &kind, &number) || archive_name_parse("jobs", &kind, &number));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_member_that_goes_on_keeps_its_directory),
        TEST(a_fence_stays),
        TEST(the_record_of_another_job_proves_nothing),
        TEST(a_job_that_the_daemon_claimed_stays),
        TEST(a_job_with_files_of_others_stays),
        TEST(an_attempt_that_never_began_is_nothing_to_archive),
        TEST(what_is_no_file_of_ours_stays),
        TEST(what_has_changed_since_stays),
        TEST(without_its_copy_nothing_is_removed),
        TEST(what_the_database_does_not_know_is_not_overwritten),
        TEST(an_entry_that_is_cut_short_is_none),
        TEST(what_a_user_has_closed_stays),
        TEST(originals_that_a_failing_disk_keeps_are_told),
        TEST(a_job_that_a_failing_disk_keeps_is_told),
        TEST(without_the_archive_nothing_is_removed),
        TEST(what_cannot_be_read_is_not_archived),
        TEST(calls_that_a_signal_interrupts_are_made_again),
        TEST(what_a_full_disk_cut_short_is_taken_back),
        TEST(an_archive_that_cannot_be_made_is_told),
        TEST(more_than_is_written_at_once),
        cmocka_unit_test(names_of_archives),
    };

    return cmocka_run_group_tests_name("archives", tests, NULL, NULL);
}
