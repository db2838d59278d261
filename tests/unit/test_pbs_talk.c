/* Orders to PBS, the script of a job, and what is believed of one that is gone: its commands are scripts here. */
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OPENPBS "pbs_version = 23.06.06"
#define JOB_WITH(id, name, state, more) "\"" id "\": {\"job_state\": \"" state "\", \"Variable_List\": {\"STRETTO_RUNNER\": \"" name "\"}" more "}"
#define JOB(id, name, state) JOB_WITH(id, name, state, "")

static void begin(const char *version)
{
    site_pbs_commands(version);
    site_begin(adapter_named("pbs"));
}

static void list(const char *jobs)
{
    char text[2000];

    snprintf(text, sizeof text, "{\"Jobs\": {%s}}\n", jobs);
    site_put("listed", text, 0600);
}

static enum adapter_answer cancel(int number)
{
    struct told told;

    site_cancel(number, 60000, &told);
    site_until(&told, 1);
    return told.answer;
}

static void orders_are_what_the_state_asks_for(void **state)
{
    static const struct {
        int number, sig; /* 0: it is cancelled */
        const char *program, *words;
        enum adapter_answer answer;
    } cases[] = {
        {1, 0, "qdel", "[7.server]\n", ADAPTER_OK},
        {2, 0, "qsig", "[-s][TERM][8.server]\n", ADAPTER_OK},
        {2, SIGUSR1, "qsig", "[-s][USR1][8.server]\n", ADAPTER_OK},
        {2, SIGUSR2, "qsig", "[-s][USR2][8.server]\n", ADAPTER_OK},
        {3, 0, NULL, NULL, ADAPTER_OK}, /* it ends already */
        {4, 0, NULL, NULL, ADAPTER_OK},
        {1, SIGUSR1, NULL, NULL, ADAPTER_UNSURE},
        {5, SIGUSR1, NULL, NULL, ADAPTER_REFUSED},
    };

    begin(OPENPBS);
    list(JOB("7.server", "st-0-1", "Q") ", " JOB("8.server", "st-0-2", "R") ", " JOB("9.server", "st-0-3", "E") ", " JOB("10.server", "st-0-4", "F"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        site_forget("qdel");
        site_forget("qsig");
        if (cases[i].sig == 0)
            site_cancel(cases[i].number, 60000, &told);
        else
            site_signal(cases[i].number, cases[i].sig, &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, cases[i].answer);
        assert_int_equal(site_count_asked("qdel") + site_count_asked("qsig"), cases[i].program != NULL);
        if (cases[i].program != NULL)
            site_assert_asked(cases[i].program, cases[i].words);
    }
}

/* Those behind a command that gets no answer would hang as long. */
static void orders_behind_one_without_an_answer_are_in_doubt(void **state)
{
    struct told told[2];

    begin(OPENPBS);
    list(JOB("7.server", "st-0-0", "Q") ", " JOB("9.server", "st-0-1", "R"));
    site_command("qdel", "echo 'qdel: cannot connect to server testpbs (errno=15010)' >&2; exit 1");
    for (int i = 0; i < 2; i++)
        site_cancel(i, 60000, &told[i]);
    for (int i = 0; i < 2; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_UNSURE);
        assert_non_null(strstr(told[i].text, "cannot connect"));
    }
    assert_int_equal(site_count_asked("qdel"), 1);
    assert_int_equal(site_count_asked("qsig"), 0);
    site_command("qdel", "exit 255"); /* so does one that says nothing of why */
    cancel(0);
    site_forget("qdel");
    for (int i = 0; i < 2; i++)
        site_cancel(i, 60000, &told[i]);
    for (int i = 0; i < 2; i++)
        site_until(&told[i], 1);
    assert_int_equal(site_count_asked("qdel"), 1);
    assert_int_equal(site_count_asked("qsig"), 0);
    list(JOB("7.server", "st-0-0", "Q") ", " JOB("9.server", "st-0-1", "Q"));
    site_command("qdel", "echo 'qdel: Unauthorized Request' >&2; exit 1"); /* it answers */
    site_forget("qdel");
    for (int i = 0; i < 2; i++)
        site_cancel(i, 60000, &told[i]);
    for (int i = 0; i < 2; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_UNSURE);
    }
    site_assert_lines("qdel", "[7.server][9.server]\n");
    for (const char *const *said = (const char *const[]){"Unknown Job Id 7.server", "Job has finished", "Delete already in progress", NULL};
         *said != NULL; said++) {
        char script[200];

        snprintf(script, sizeof script, "echo 'qdel: %s' >&2; exit 153", *said);
        site_command("qdel", script);
        assert_int_equal(cancel(0), ADAPTER_OK);
    }
}

static void the_history_is_asked_by_ids_where_there_is_one(void **state)
{
    begin(OPENPBS);
    site_command("qstat", "case $1 in --version) echo '" OPENPBS
                          "';; -x) cat history 2>/dev/null || { echo 'qstat: not configured to maintain"
                          " job history' >&2; exit 1; };; *) echo '{}';; esac");
    site_put("history", "{\"Jobs\": {\"7.server\": {\"job_state\": \"F\", \"Exit_status\": 137, \"stime\": \"Sun Nov 22 04:58:35 2026\","
                        " \"Variable_List\": {\"STRETTO_RUNNER\": \"st-0-1\"}}}}\n", 0600);
    assert_string_equal(site_status(1, "7.server").reason, "PBS: FAILED, by signal 9 (Exit_status 137)");
    site_assert_asked("qstat", "[-x][-t][-f][-F][json][7.server]\n");
    assert_int_equal(site_status(2, "7.server").state, ADAPTER_JOB_UNKNOWN); /* that id was another's */
    site_remove("history");
    site_forget("qstat");
    assert_int_equal(site_status(1, "7.server").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(site_status(1, "7.server").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(site_count_asked("qstat"), 3); /* it is asked for once: there is none */
}

/* A listing that does not come is made in pieces at once, and so are those after it. */
/* qstat does not ask job by job for an array that is over, and for no
 * more than 20 things at once; the others are not said to be gone. */
static void the_history_is_asked_for_few_at_a_time(void **state)
{
    enum { JOBS = 25 };
    static char ids[JOBS][20];
    struct site_known jobs[JOBS];
    struct told told;

    begin(OPENPBS);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct site_known){i, ids[i], 1};
        snprintf(ids[i], sizeof ids[i], i < 4 ? "7[%d].server" : "%d.server", i + 10 * (i >= 4));
    }
    list("");
    site_forget("qstat");
    site_poll(jobs, JOBS, &told);
    site_until(&told, 1);
    site_assert_asked("qstat", "[-x][-t][-f][-F][json][7[].server][14.server]");
    site_assert_asked("qstat", "[32.server]\n");
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[JOBS - 1].state, ADAPTER_JOB_UNASKED);
    assert_int_equal(told.answer, ADAPTER_OK);
}

static void a_listing_that_takes_too_much_is_made_in_pieces(void **state)
{
    static const struct site_known jobs[] = {{0, "7[0].server", 1}, {1, "7[1].server", 1}, {2, "8.server", 1}, {3, "9[0].server", 1}};
    struct told told;

    begin(OPENPBS);
    site_command("qstat", "case \"$*\" in --version) echo '" OPENPBS "';; '-t -f -F json') kill -9 $$;; '-f -F json') cat all;;"
                          " '-t -f -F json 7[].server 9[].server') cat arrays; echo 'qstat: Unknown Job Id 9[].server' >&2; exit 153;; *) echo '{}';; esac");
    site_put("all", "{\"Jobs\": {" JOB_WITH("7[].server", "st-0-0+", "B", ", \"array_indices_remaining\": \"1\"") ", "
                    JOB("8.server", "st-0-2", "R") ", " JOB_WITH("9[].server", "st-0-3+", "B", ", \"array_indices_remaining\": \"-\"") "}}\n", 0600);
    site_put("arrays", "{\"Jobs\": {" JOB_WITH("7[].server", "st-0-0+", "B", ", \"array_indices_remaining\": \"1\"") ", "
                       JOB("7[0].server", "st-0-0", "R") "}}\n", 0600);
    site_forget("qstat");
    for (int round = 0; round < 2; round++) {
        site_poll(jobs, 4, &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_OK);
        assert_int_equal(told.statuses[0].state, ADAPTER_JOB_RUNNING);
        assert_int_equal(told.statuses[1].state, ADAPTER_JOB_QUEUED);
        assert_int_equal(told.statuses[2].state, ADAPTER_JOB_RUNNING);
        assert_int_equal(told.statuses[3].state, ADAPTER_JOB_UNKNOWN);
    }
    site_assert_lines("qstat", "[--version]\n[-t][-f][-F][json]\n[-f][-F][json]\n[-t][-f][-F][json][7[].server][9[].server]\n[-x][-t][-f][-F][json][9[].server]\n"
                               "[-f][-F][json]\n[-t][-f][-F][json][7[].server][9[].server]\n[-x][-t][-f][-F][json][9[].server]\n");
}

static void which_pbs_it_is_is_found_out_again(void **state)
{
    struct told told;

    begin(OPENPBS);
    site_command("qstat", "exit 1");
    site_submit(site_job(&site_plain), 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_LATER); /* nothing was sent */
    assert_int_equal(site_count_asked("qsub"), 0);
    site_poll(&(struct site_known){1, "7.server", 1}, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE); /* and not that it has no jobs */
    assert_int_equal(cancel(1), ADAPTER_UNSURE);
    site_command("qstat", "case $1 in --version) exit 1;; *) echo '{}';; esac"); /* an old one, which prints JSON */
    site_submit_ok(site_job(&site_plain), 1);
    site_assert_asked("qsub", "[-l][select=1:ncpus=1:mpiprocs=1:ompthreads=1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(orders_are_what_the_state_asks_for),
        CASE(orders_behind_one_without_an_answer_are_in_doubt),
        CASE(the_history_is_asked_by_ids_where_there_is_one),
        CASE(the_history_is_asked_for_few_at_a_time),
        CASE(a_listing_that_takes_too_much_is_made_in_pieces),
        CASE(which_pbs_it_is_is_found_out_again),
    };

    return SITE_RUN(tests);
}
