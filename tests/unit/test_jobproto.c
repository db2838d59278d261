#include "common/files.h"
#include "tasks/proto/claim.h"
#include "tasks/proto/exitrec.h"
#include "tests/unit/jobdesc_whole.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static struct exitrec sample_record(void)
{
    struct exitrec rec = {.end = {.started_ms = 10250, .ended_ms = 12500, .outcome = ATTEMPT_FAILED, .exit_code = 1,
                                  .cpu_ms = 1750, .memory_peak = 4096}};

    strcpy(rec.job, "st-1-2");
    strcpy(rec.id, "7.123");
    strcpy(rec.end.host, "n12");
    strcpy(rec.end.reason, "exit status 1: cannot open mesh.dat");
    return rec;
}

/* Each with a value that no other has; what is not set is not there. */
static void an_exit_record_has_what_few_tasks_have(void **state)
{
    struct exitrec rec = sample_record(), back;
    json_t *checkpoints = json_pack("[{s:i}]", "step", 1), *resumed = json_pack("{s:i}", "step", 2), *json,
           *artefacts = json_pack("[{s:s}]", "path", "a");
    struct error err;

    json = exitrec_json(&rec);
    assert_int_equal(exitrec_parse(json, &back, &err), 0);
    assert_true(!back.end.late && !back.end.final && back.points == 0 && !back.end.at_rung && back.end.notice[0] == '\0');
    assert_true(back.end.checkpoints == NULL && back.end.resumed == NULL && back.end.artefacts == NULL);
    json_decref(json);

    rec.end.late = rec.end.final = rec.end.at_rung = true;
    rec.points = 4711;
    rec.end.rung_step = 12;
    rec.end.rung_value = 0.125;
    strcpy(rec.end.notice, "line 3 is no JSON");
    rec.end.checkpoints = checkpoints;
    rec.end.resumed = resumed;
    rec.end.artefacts = artefacts;
    json = exitrec_json(&rec);
    assert_int_equal(exitrec_parse(json, &back, &err), 0);
    assert_true(back.end.late && back.end.final && back.end.at_rung);
    assert_int_equal(back.points, 4711);
    assert_int_equal(back.end.rung_step, 12);
    assert_true(back.end.rung_value == 0.125);
    assert_string_equal(back.end.notice, rec.end.notice);
    assert_true(json_equal(back.end.checkpoints, checkpoints) && json_equal(back.end.resumed, resumed));
    assert_true(json_equal(back.end.artefacts, artefacts));
    json_decref(json);

    rec.end.rung_value = INFINITY; /* JSON has no number for it */
    json = exitrec_json(&rec);
    assert_int_equal(exitrec_parse(json, &back, &err), 0);
    assert_true(back.end.at_rung && isnan(back.end.rung_value));
    json_decref(json);
    json_decref(checkpoints);
    json_decref(resumed);
    json_decref(artefacts);
}

/* Reasons have room for so many bytes, whatever the last of them are. */
static void a_cut_character_costs_no_more_than_itself(void **state)
{
    static const char whole[] = "disk \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"; /* of two, three and four bytes */
    struct job_ended ended = {.time = 5.5}, read;
    struct exitrec rec = sample_record(), back;
    struct error err;
    size_t shown = 0;

    for (size_t n = 0; n < sizeof whole; n++) {
        if (((unsigned char)whole[n] & 0xc0) != 0x80)
            shown = n;
        snprintf(rec.end.reason, n + 1, "%s", whole);
        snprintf(ended.reason, n + 1, "%s", whole);
        unlink(in_dir("cut.json"));
        assert_int_equal(exitrec_write(in_dir("cut.json"), &rec, &err), 0);
        assert_int_equal(exitrec_read(in_dir("cut.json"), &back, &err), 0);
        assert_int_equal(job_ended_write(in_dir("ended.json"), &ended, &err), 0);
        assert_int_equal(job_ended_read(in_dir("ended.json"), &read, &err), 0);
        if (strncmp(back.end.reason, whole, shown) != 0 || strlen(back.end.reason) != shown)
            fail_msg("of %zu bytes \"%s\" is left", n, back.end.reason);
        assert_string_equal(read.reason, back.end.reason);
    }
}

/* By the processes of one application, whichever of them comes first, and by no others. */
static void a_job_is_claimed_by_many(void **state)
{
    const char *given_up = "{\"version\": 1, \"given_up\": true, \"time\": 1.5}";
    struct claim claim;
    struct error err;

    unlink(in_dir("claim.json")); /* of the test before */
    assert_int_equal(claim_join(dir, "1324249", &err), 0);
    assert_int_equal(claim_join(dir, "1324249", &err), 0);
    assert_int_equal(claim_join(dir, "1324250", &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_non_null(strstr(err.text, "application 1324249 has this job"));
    assert_int_equal(claim_make(dir, NULL, NULL, NULL, &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_string_equal(claim.application, "1324249");
    assert_int_equal(claim_make_rank(dir, 3, "1324249", "/tmp/stretto-job-abcdef", &err), 0);
    assert_int_equal(claim_make_rank(dir, 4, "1324249", NULL, &err), 0);
    assert_int_equal(claim_make_rank(dir, 3, "1324249", NULL, &err), -1); /* twice */
    assert_int_equal(errno, EEXIST);
    assert_int_equal(unlink(in_dir("claim.json")), 0);
    assert_int_equal(claim_make(dir, NULL, NULL, NULL, &err), 0);
    assert_int_equal(claim_join(dir, "1324249", &err), -1); /* one runner has all of it */
    assert_int_equal(errno, EEXIST);
    assert_int_equal(file_write_whole(in_dir("claim.json"), given_up, strlen(given_up), 0600, &err), 0);
    assert_int_equal(claim_join(dir, "1324249", &err), -1); /* the daemon waits for it no more */
    assert_int_equal(errno, EEXIST);
}

static void a_temporary_directory_is_private_and_goes(void **state)
{
    char path[128], below[160];
    struct error err;
    struct stat st;

    assert_int_equal(dir_make(in_dir("mine/inner"), &err), 0);
    assert_int_equal(file_write_whole(in_dir("mine/inner/file"), "x", 1, 0600, &err), 0);
    assert_int_equal(setenv("TMPDIR", dir, 1), 0);
    assert_int_equal(job_tmpdir_name(path, sizeof path, &err), 0);
    assert_int_equal(stat(path, &st), -1); /* not before it is claimed */
    assert_int_equal(job_tmpdir_make(path, &err), 0);
    assert_int_equal(job_tmpdir_make(path, &err), -1); /* never one that is there */
    unsetenv("TMPDIR");
    assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    snprintf(below, sizeof below, "%s/a", path);
    assert_int_equal(mkdir(below, 0700), 0);
    snprintf(below, sizeof below, "%s/a/link", path);
    assert_int_equal(symlink(dir, below), 0);
    snprintf(below, sizeof below, "%s/mine", path);
    assert_int_equal(symlink(in_dir("mine"), below), 0);
    job_tmpdir_remove(path);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(access(in_dir("mine/inner/file"), F_OK), 0); /* links are not followed */
    job_tmpdir_remove(dir); /* not of this kind */
    assert_int_equal(stat(dir, &st), 0);
}

/* Where it may be: a socket below it needs a short path, and whoever starts a job may have set TMPDIR to anything. */
static void a_temporary_directory_has_a_short_path(void **state)
{
    static const char far[] = "/a-directory-of-a-user-with-a-long-name/of-which-there-may-be-many/below-each-other";
    char place[256], path[128];
    const char *const unfit[] = {"tmp", "/nowhere/at/all", "", place};
    struct error err;

    snprintf(place, sizeof place, "%s%s", dir, far);
    assert_int_equal(dir_make(place, &err), 0);
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        assert_int_equal(setenv("TMPDIR", unfit[i], 1), 0);
        assert_int_equal(job_tmpdir_name(path, sizeof path, &err), 0);
        unsetenv("TMPDIR");
        assert_int_equal(strncmp(path, "/tmp/stretto-job-", 17), 0);
        assert_int_equal(job_tmpdir_make(path, &err), 0);
        job_tmpdir_remove(path);
        assert_int_equal(access(path, F_OK), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_record_has_what_few_tasks_have),
        cmocka_unit_test(a_cut_character_costs_no_more_than_itself),
        cmocka_unit_test(a_job_is_claimed_by_many),
        cmocka_unit_test(a_temporary_directory_is_private_and_goes),
        cmocka_unit_test(a_temporary_directory_has_a_short_path),
    };
    char rm[128];
    int rc;

    test_limit(11);
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}
