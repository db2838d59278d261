/* Slurm's record of ended jobs, which may fall silent, what the site tells once or again, and answers of sbatch that
 * are none: its commands are scripts here. */
#include "scheduler-adapters/slurm.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void begin(void)
{
    site_slurm_commands();
    site_begin(adapter_named("slurm"));
}

static struct slurm *slurm(void)
{
    return (struct slurm *)site.a;
}

static unsigned count(const char *text, const char *words)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        n++;
    return n;
}

#define RECORD "JobId=7 UserId=me(0) Name=st-0-1 JobState=FAILED StartTime=2026-01-31T11:00:00 NodeList=n1 SubmitTime=2026-01-31T10:00:00 \n"

/* The log, or the database, is not asked for a minute after it has not answered. Each time that it falls silent is
 * told, once. */
static void a_record_that_falls_silent_is_told_of_each_time(void **state)
{
    bool is_file = *state != NULL;
    char script[400];
    int fds[2];

    site_slurm_commands();
    if (is_file) {
        snprintf(script, sizeof script, "printf '%%s\\n' 'AccountingStorageType = accounting_storage/none' 'JobCompLoc = %s/log' 'JobCompType = jobcomp/filetxt'",
                 site.dir);
        site_command("scontrol", script);
    }
    site_command("sacct", "cat log && echo 'st-0-1|7|FAILED|100|120|n1|n1|None'");
    site_put("log", RECORD, 0600);
    if (!is_file)
        site_put("log", "", 0600);
    site_begin(adapter_named("slurm"));
    assert_string_equal(site_status(1, "7").reason, "Slurm: FAILED");
    assert_string_equal(site.said, "");
    for (unsigned i = 1; i <= 2; i++) {
        site_remove("log");
        for (unsigned k = 0; k < 2; k++) {
            uint64_t before = uv_now(&site.loop);

            assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
            assert_true(slurm()->silence.until >= before + 60000 &&
                        slurm()->silence.until <= uv_now(&site.loop) + 60000);
            slurm()->silence.until = 0;
        }
        assert_int_equal(count(site.said, "cannot be looked up"), i);
        assert_int_equal(count(site.said, is_file ? "/log: " : "log"), is_file ? i : count(site.said, "log"));
        site_put("log", is_file ? RECORD : "", 0600);
        slurm()->silence.until = uv_now(&site.loop) + 3600 * 1000;
        assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN); /* it is not asked */
        slurm()->silence.until = 0;
        assert_string_equal(site_status(1, "7").reason, "Slurm: FAILED");
    }
    for (int i = 0; i < 2; i++) { /* a log that stayed open each time would use up all file descriptors */
        fds[i] = dup(0);
        close(fds[i]);
        assert_string_equal(site_status(1, "7").reason, "Slurm: FAILED");
    }
    assert_int_equal(fds[0], fds[1]);
}

/* The newest jobs are at its end; so much of it is read. */
static void of_a_large_log_the_end_is_read(void **state)
{
    const struct site_known jobs[] = {{1, "7", 1}, {2, "8", 1}};
    size_t n = 9 << 20;
    char *text = malloc(n + 1000), script[400];
    struct told told;

    assert_non_null(text);
    strcpy(text, RECORD);
    memset(text + strlen(text), '\n', n);
    strcpy(text + n, "JobId=8 UserId=me(0) Name=st-0-2 JobState=NODE_FAIL StartTime=2026-01-31T11:00:00 NodeList=n1 SubmitTime=2026-01-31T10:00:00 \n");
    site_slurm_commands();
    snprintf(script, sizeof script, "printf '%%s\\n' 'AccountingStorageType = accounting_storage/none' 'JobCompLoc = %s/log' 'JobCompType = jobcomp/filetxt'",
             site.dir);
    site_command("scontrol", script);
    site_put("log", text, 0600);
    free(text);
    site_begin(adapter_named("slurm"));
    site_poll(jobs, 2, &told);
    site_until(&told, 1);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_ENDED);
    assert_true(told.statuses[1].node_lost);
}

/* Of a name that was submitted more than once the record has several: the last that ended counts. */
static void the_last_of_a_name_is_told_of(void **state)
{
    begin();
    site_command("sacct", "printf '%s\\n' 'st-0-1|8|NODE_FAIL|300|320|n1|n1|None' 'st-0-1|7|FAILED|100|120|n1|n1|None' 'st-0-0|9|FAILED|100|120|n1|n1|None'");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_ENDED);
    assert_true(site_status(1, "7").node_lost);
    site_command("sacct", "echo 'st-0-1|7|FAILED|100|120|n1|n1|None'; printf 'st-0-1|8|COMPL'");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN); /* it is cut off */
    assert_non_null(strstr(site.said, "sacct: its list is cut off"));
}

/* What the site is like is asked until it is known, and then no more; where each job goes alone, only its limits
 * are. */
static void the_site_is_asked_until_it_tells(void **state)
{
    begin();
    site_command("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1");
    site_command("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1");
    for (unsigned i = 1; i <= 2; i++) {
        assert_int_equal(site_submit_next(site_job(&site_plain)).answer, ADAPTER_OK);
        assert_int_equal(site_count_asked("scontrol"), i);
        assert_int_equal(site_count_asked("sinfo"), i);
    }
    site_assert_asked("sbatch", "[--time=58]");
    site_slurm_commands();
    site_forget("scontrol");
    site_forget("sinfo");
    site_forget("sbatch");
    for (int i = 0; i < 2; i++)
        site_submit_next(site_job(&site_plain));
    site_assert_not_asked("sbatch", "[--time=58]");
    site_assert_asked("sbatch", "[--time=60]");
    assert_int_equal(site_count_asked("scontrol"), 1);
    assert_int_equal(site_count_asked("sinfo"), 1);
    slurm()->times.until = uv_now(&site.loop); /* they are old */
    site_command("sinfo", "echo 'none'; echo '|5:00'; echo 'main*|infinite'");
    site_forget("sinfo");
    site_forget("sbatch");
    site_submit_next(site_job(&site_plain));
    site_assert_asked("sbatch", "[--time=64]");
    assert_int_equal(site_count_asked("sinfo"), 1);
    assert_int_equal(slurm()->times.n, 2);
    site_end();
    json_object_set_new(site.config, "gather", json_string("0s"));
    site_begin(site.ops);
    site_forget("scontrol");
    site_submit_next(site_job(&site_plain));
    assert_int_equal(site_count_asked("scontrol"), 0);
    site_command("sacct", "echo 'st-0-1|7|FAILED|100|120|n1|n1|None'");
    assert_string_equal(site_status(1, "7").reason, "Slurm: FAILED"); /* then it is asked for its record */
    assert_int_equal(site_count_asked("scontrol"), 1);
}

static void an_id_is_what_looks_like_one(void **state)
{
    static const struct {
        const char *out, *id; /* NULL: there is none */
    } cases[] = {{"12\\n", "12"}, {"12;cluster\\n", "12"}, {"12", NULL}, {"x12\\n", NULL}, {"12 jobs\\n", NULL}, {"\\n", NULL},
                 {"12345678901234567890\\n", "12345678901234567890"}, {"123456789012345678901\\n", NULL}};

    json_object_set_new(site.config, "gather", json_string("0s"));
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;
        char script[100];

        snprintf(script, sizeof script, "printf '%s'", cases[i].out);
        site_command("sbatch", script);
        told = site_submit_next(site_job(&site_plain));
        assert_int_equal(told.answer, cases[i].id != NULL ? ADAPTER_OK : ADAPTER_UNSURE);
        assert_string_equal(told.id, cases[i].id != NULL ? cases[i].id : "");
    }
}

/* The job may be gone by the time that it is taken out, or Slurm may not answer. */
static void a_withdrawal_fails_with_its_scancel(void **state)
{
    struct told told;

    begin();
    site_put("listed", "st-0-1|7|PENDING|100|N/A|n/a||Priority\n", 0600);
    for (int i = 0; i < 3; i++) {
        site_command("scancel", i == 0   ? "echo 'scancel: error: Kill job error on job id 7: Invalid job id specified' >&2; exit 1"
                                : i == 1 ? "echo 'scancel: error: Kill job error on job id 7: Unable to contact slurm controller' >&2; exit 1"
                                         : "kill -KILL $$");
        site_withdraw(1, "7", &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, i == 0 ? ADAPTER_OK : ADAPTER_UNSURE);
        if (i == 1)
            assert_non_null(strstr(told.text, "Unable to contact"));
        site_assert_asked("scontrol", "[hold][7]\n");
    }
    site_command("scontrol", "kill -KILL $$");
    site_forget("scancel");
    site_withdraw(1, "7", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    assert_int_equal(site_count_asked("scancel"), 0);
}

/* Others that wait, for whatever reason, are left in the queue. */
static void what_is_held_by_others_is_left(void **state)
{
    begin();
    site_put("listed", "st-0-1|7|PENDING|100|N/A|n/a||JobHeldUser\nst-0-2|8|PENDING|100|N/A|n/a||Priority\n", 0600);
    site_status(1, "7");
    site_status(2, "8");
    site_status(1, "7");
    assert_int_equal(site_count_asked("scontrol") + site_count_asked("scancel"), 0);
    assert_string_equal(site.said, "");
}

static void the_timeout_is_that_of_its_commands(void **state)
{
    json_object_set_new(site.config, "timeout", json_string("5s"));
    begin();
    for (int i = 0; i <= SLURM_SINFO; i++)
        assert_int_equal(site.a->limit_ms[i], 5000);
    site_end();
    json_object_set_new(site.config, "timeout", json_string("40s"));
    site_begin(site.ops);
    for (int i = 0; i <= SLURM_SINFO; i++)
        assert_int_equal(site.a->limit_ms[i], i == SLURM_SACCT ? 10000 : 40000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a_log_that_falls_silent_is_told_of_each_time", a_record_that_falls_silent_is_told_of_each_time, site_open, site_close, "log"},
        {"accounts_that_fall_silent_are_told_of_each_time", a_record_that_falls_silent_is_told_of_each_time, site_open, site_close, NULL},
        CASE(of_a_large_log_the_end_is_read),
        CASE(the_last_of_a_name_is_told_of),
        CASE(the_site_is_asked_until_it_tells),
        CASE(an_id_is_what_looks_like_one),
        CASE(a_withdrawal_fails_with_its_scancel),
        CASE(what_is_held_by_others_is_left),
        CASE(the_timeout_is_that_of_its_commands),
    };

    return SITE_RUN(tests);
}
