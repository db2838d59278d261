#include "common/files.h"
#include "tasks/proto/claim.h"
#include "tasks/proto/exitrec.h"
#include "tasks/proto/jobdesc.h"
#include "tests/unit/jobdesc_whole.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static const char good_job[] =
    "{\"version\": 1, \"job\": \"st-3f9c-12\", \"ensemble\": 7, \"kind\": \"members\", \"control\": \"/x\","
    " \"walltime\": 600.005, \"grace\": 10, \"silence\": 2.5, \"umask\": \"0027\", \"output\": \"merged\", \"artefacts\": [\"m.pt\", \"r/*\"], \"tmpdir\": true,"
    " \"checkpoint\": {\"before\": 30, \"signal\": \"USR1\", \"glob\": \"*.ckpt\", \"keep\": 3},"
    " \"metrics\": {\"file\": \"m/runs\", \"format\": \"tensorboard\", \"diverged\": \"ignore\", \"rung\": \"loss\","
    " \"success\": \"accuracy\", \"at_least\": 0.1, \"at_most\": 0.9, \"best\": true},"
    " \"later\": true, \"tasks\": [{\"id\": \"7.123\", \"dir\": \"/d/a1\","
    " \"argv\": [\"heat2d\", \"\"], \"env\": {\"A\": \"1\"}, \"path\": [\"/bin\"], \"launcher\": \"mpiexec\","
    " \"ntasks\": 2, \"success_file\": \"out/r..npz\", \"results\": \"/r/1\", \"owner\": \"7.123\","
    " \"resume\": [\"--from\", \"{checkpoint}\"], \"since\": 4, \"since_in\": 6, \"later\": 1},"
    " {\"id\": \"7.124\", \"dir\": \"/d/a2\", \"argv\": [\"x\"], \"launcher\": null}]}";

static const char *in_dir(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void a_descriptor_survives_the_round_trip(void **state)
{
    struct error err;
    json_t *root = json_loads(good_job, 0, NULL), *again;
    struct jobdesc *desc = jobdesc_parse(root, &err), *copy;
    char *text;

    assert_non_null(desc);
    text = jobdesc_whole(desc);
    again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    copy = jobdesc_parse(again, &err);
    assert_non_null(copy);
    for (int i = 0; i < 2; i++) {
        struct jobdesc *d = i ? copy : desc;

        assert_string_equal(d->job, "st-3f9c-12");
        assert_int_equal(d->ensemble, 7);
        assert_int_equal(d->kind, JOBDESC_MEMBERS);
        assert_string_equal(d->control, "/x");
        assert_int_equal(d->walltime_ms, 600005);
        assert_int_equal(d->grace_ms, 10000);
        assert_int_equal(d->silence_ms, 2500);
        assert_string_equal(d->umask, "0027");
        assert_true(d->tmpdir && d->merged && d->checkpoint.any);
        assert_int_equal(d->checkpoint.before_ms, 30000);
        assert_int_equal(d->checkpoint.signal, SIGUSR1);
        assert_string_equal(d->checkpoint.glob, "*.ckpt");
        assert_int_equal(d->checkpoint.keep, 3);
        assert_string_equal(d->metrics.file, "m/runs");
        assert_int_equal(d->metrics.format, JOBDESC_TENSORBOARD);
        assert_int_equal(d->metrics.diverged, JOBDESC_DIVERGED_IGNORE);
        assert_string_equal(d->metrics.rung, "loss");
        assert_string_equal(d->metrics.name, "accuracy");
        assert_true(d->metrics.has_least && d->metrics.has_most && d->metrics.best);
        assert_true(d->metrics.least == 0.1 && d->metrics.most == 0.9);
        assert_int_equal(d->ntasks, 2);
        assert_string_equal(d->tasks[0].id, "7.123");
        assert_string_equal(d->tasks[0].dir, "/d/a1");
        assert_int_equal(json_array_size(d->tasks[0].argv), 2);
        assert_string_equal(json_string_value(json_object_get(d->tasks[0].env, "A")), "1");
        assert_int_equal(json_array_size(d->tasks[0].path), 1);
        assert_string_equal(d->tasks[0].launcher, "mpiexec");
        assert_int_equal(d->tasks[0].ntasks, 2);
        assert_string_equal(d->tasks[0].success_file, "out/r..npz");
        assert_int_equal(json_array_size(d->artefacts), 2);
        assert_string_equal(d->tasks[0].results, "/r/1");
        assert_string_equal(d->tasks[0].owner, "7.123");
        assert_null(d->tasks[1].results);
        assert_int_equal(json_array_size(d->tasks[0].resume), 2);
        assert_int_equal(d->tasks[0].since, 4);
        assert_int_equal(d->tasks[0].since_in, 6);
        assert_null(d->tasks[1].launcher);
        assert_null(d->tasks[1].env);
        assert_int_equal(d->tasks[1].ntasks, 1);
    }
    jobdesc_free(copy);
    jobdesc_free(desc);
    json_decref(again);
    json_decref(root);
}

/* good_job with `key` of the root, or of the first task, set to a JSON text (NULL: taken away). */
static void refuse(const char *task_key, const char *root_key, const char *value, const char *pointer)
{
    json_t *root = json_loads(good_job, 0, NULL);
    json_t *target = task_key ? json_array_get(json_object_get(root, "tasks"), 0) : root;
    const char *key = task_key ? task_key : root_key;
    struct error err = {0};

    if (value != NULL)
        json_object_set_new(target, key, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(target, key);
    assert_null(jobdesc_parse(root, &err));
    assert_int_equal(errno, EBADMSG);
    assert_string_equal(err.pointer, pointer);
    assert_true(err.text[0] != '\0');
    json_decref(root);
}

static void broken_descriptors_are_refused_with_the_place(void **state)
{
    refuse(NULL, "version", "2", "/version");
    refuse(NULL, "job", NULL, "/job");
    refuse(NULL, "job", "\"../evil\"", "/job");
    refuse(NULL, "job", "\"-x\"", "/job");
    refuse(NULL, "kind", "\"others\"", "/kind");
    refuse(NULL, "walltime", "-1", "/walltime");
    refuse(NULL, "walltime", "\"1h\"", "/walltime");
    refuse(NULL, "grace", NULL, "/grace");
    refuse(NULL, "umask", "23", "/umask");
    refuse(NULL, "umask", "\"0777\"", "/umask");
    refuse(NULL, "output", "\"both\"", "/output");
    refuse(NULL, "artefacts", "[\"a\", \"b/../../c\"]", "/artefacts/1");
    refuse("results", NULL, "\"r/1\"", "/tasks/0/results");
    refuse("owner", NULL, NULL, "/tasks/0/owner");
    refuse(NULL, "tasks", "[]", "/tasks");
    refuse(NULL, "tasks", "[3]", "/tasks/0");
    refuse("id", NULL, "\"7/123\"", "/tasks/0/id");
    refuse("id", NULL, "\"7.124\"", "/tasks/1");
    refuse("dir", NULL, "\"here\"", "/tasks/0/dir");
    refuse("argv", NULL, "[]", "/tasks/0/argv");
    refuse("argv", NULL, "[\"\"]", "/tasks/0/argv");
    refuse("argv", NULL, "[\"x\", 1]", "/tasks/0/argv/1");
    refuse("env", NULL, "{\"A=B\": \"1\"}", "/tasks/0/env/A=B");
    refuse("env", NULL, "{\"A\": 1}", "/tasks/0/env/A");
    refuse("path", NULL, "[\"bin\"]", "/tasks/0/path");
    refuse("ntasks", NULL, "0", "/tasks/0/ntasks");
    refuse("success_file", NULL, "\"/etc/passwd\"", "/tasks/0/success_file");
    refuse("success_file", NULL, "\"a/../../b\"", "/tasks/0/success_file");
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

static void exit_records_survive_the_round_trip(void **state)
{
    struct exitrec rec = sample_record(), back;
    struct error err;
    struct stat st;

    assert_int_equal(exitrec_write(in_dir("exit.json"), &rec, &err), 0);
    assert_int_equal(stat(in_dir("exit.json"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(exitrec_read(in_dir("exit.json"), &back, &err), 0);
    assert_string_equal(back.job, rec.job);
    assert_string_equal(back.id, rec.id);
    assert_string_equal(back.end.host, rec.end.host);
    assert_string_equal(back.end.reason, rec.end.reason);
    assert_true(back.end.started_ms == 10250 && back.end.ended_ms == 12500 && back.end.measured);
    assert_int_equal(back.end.outcome, ATTEMPT_FAILED);
    assert_int_equal(back.end.exit_code, 1);
    assert_int_equal(back.end.signal, 0);
    assert_int_equal(back.end.cpu_ms, 1750);
    assert_int_equal(back.end.memory_peak, 4096);

    rec.end.outcome = ATTEMPT_TIMEOUT;
    rec.end.exit_code = -1;
    rec.end.signal = 9;
    strcpy(rec.end.reason, "caf\xf0\x9f\x98"); /* cut within a character */
    assert_int_equal(exitrec_write(in_dir("other.json"), &rec, &err), 0);
    assert_int_equal(exitrec_read(in_dir("other.json"), &back, &err), 0);
    assert_int_equal(back.end.exit_code, -1);
    assert_int_equal(back.end.signal, 9);
    assert_string_equal(back.end.reason, "caf");
    assert_int_equal(exitrec_write(in_dir("exit.json"), &rec, &err), -1); /* the first one counts */
    assert_int_equal(errno, EEXIST);
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

/* Every prefix of a record, and every wrong value, is refused and never half read. */
static void broken_exit_records_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"version\": 2}", "[]", "",
        "{\"version\":1,\"job\":\"a\",\"id\":\"b\",\"started\":1,\"ended\":2,\"outcome\":\"fine\",\"exit_code\":0}",
        "{\"version\":1,\"job\":\"a\",\"id\":\"b\",\"started\":1,\"ended\":2,\"outcome\":\"succeeded\"}",
        "{\"version\":1,\"job\":\"a\",\"id\":\"b\",\"started\":1,\"outcome\":\"failed\",\"exit_code\":1}",
        "{\"version\":1,\"job\":7,\"id\":\"b\",\"started\":1,\"ended\":2,\"outcome\":\"failed\",\"exit_code\":1}",
    };
    struct exitrec rec = sample_record();
    struct error err;
    char *text;
    size_t size;

    assert_int_equal(exitrec_read(in_dir("none.json"), &rec, &err), -1);
    assert_int_equal(errno, ENOENT);
    rec = sample_record();
    assert_int_equal(exitrec_write(in_dir("whole.json"), &rec, &err), 0);
    assert_int_equal(file_read(in_dir("whole.json"), 65536, &text, &size, &err), 0);
    for (size_t cut = 0; cut < size - 2; cut++) { /* the last two bytes are "}\n" */
        assert_int_equal(file_write_whole(in_dir("cut.json"), text, cut, 0600, &err), 0);
        assert_int_equal(exitrec_read(in_dir("cut.json"), &rec, &err), -1);
        assert_int_equal(errno, EBADMSG);
    }
    free(text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(file_write_whole(in_dir("wrong.json"), wrong[i], strlen(wrong[i]), 0600, &err), 0);
        assert_int_equal(exitrec_read(in_dir("wrong.json"), &rec, &err), -1);
        assert_int_equal(errno, EBADMSG);
    }
}

static void ended_survives_the_round_trip(void **state)
{
    struct job_ended ended = {.time = 5.5, .reason = ""}, back;
    struct error err;

    assert_int_equal(job_ended_write(in_dir("ended.json"), &ended, &err), 0);
    assert_int_equal(job_ended_read(in_dir("ended.json"), &back, &err), 0);
    assert_true(back.time == 5.5);
    assert_string_equal(back.reason, "");
    assert_int_equal(job_ended_read(in_dir("exit.json"), &back, &err), 0); /* unknown keys are ignored */
}

static void a_job_is_claimed_once(void **state)
{
    struct claim claim;
    struct error err;

    assert_int_equal(claim_read(dir, &claim, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(claim_make(dir, "/tmp/stretto-job-abcdef", "0,3", NULL, &err), 0);
    assert_int_equal(claim_make(dir, "", NULL, NULL, &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_int_equal(claim.pid, getpid());
    assert_string_equal(claim.tmpdir, "/tmp/stretto-job-abcdef");
    assert_true(claim_alive(&claim));
    claim.start_time++; /* the pid was given to another program */
    assert_false(claim_alive(&claim));
    claim.start_time--;
    claim.boot_id[0] ^= 1;
    assert_false(claim_alive(&claim));
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
        cmocka_unit_test(a_descriptor_survives_the_round_trip),
        cmocka_unit_test(broken_descriptors_are_refused_with_the_place),
        cmocka_unit_test(exit_records_survive_the_round_trip),
        cmocka_unit_test(an_exit_record_has_what_few_tasks_have),
        cmocka_unit_test(a_cut_character_costs_no_more_than_itself),
        cmocka_unit_test(broken_exit_records_are_refused),
        cmocka_unit_test(ended_survives_the_round_trip),
        cmocka_unit_test(a_job_is_claimed_once),
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
