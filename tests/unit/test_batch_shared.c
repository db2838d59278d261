/* What all batch adapters do alike: which jobs may be one array, what they remember of jobs that the batch system lists
 * no more, orders that come while another is under way, and rows of listings. */
#include "scheduler-adapters/batch.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS 3600000

static void begin(const char *name)
{
    if (strcmp(name, "slurm") == 0)
        site_slurm_commands();
    else
        site_pbs_commands("pbs_version = 23.06.06");
    site_begin(adapter_named(name));
}

static void list(const char *rows)
{
    site_put("listed", rows, 0600);
}

static void submitted(void *arg, enum adapter_answer answer, const char *id, const struct error *err)
{
    struct told *told = arg;

    told->answers++;
    told->answer = answer;
    snprintf(told->id, sizeof told->id, "%s", id != NULL ? id : "");
}

/* dir: in the site's directory. */
static void submit_named(const char *name, const char *dir, struct told *told)
{
    struct adapter_job job = site_job(&site_plain);
    char path[200];

    snprintf(path, sizeof path, "%s/%s", site.dir, dir);
    job.name = name;
    job.dir = path;
    *told = (struct told){0};
    site.ops->submit(site.a, &job, submitted, told);
}

/* Of an array's task only the number is told, which must lead to the job's name and directory. */
static void tasks_are_known_by_their_numbers(void **state)
{
    static const struct {
        const char *name[2], *dir[2];
        bool is_array;
    } cases[] = {
        {{"st-0-1", "st-0-2"}, {"a/st-0-1", "a/st-0-2"}, true},
        {{"st-0-0", "st-0-1"}, {"a/st-0-0", "a/st-0-1"}, true},
        {{"st-0-9", "st-0-10"}, {"a/st-0-9", "a/st-0-10"}, true},
        {{"st-0-a", "st-0-b"}, {"a/st-0-a", "a/st-0-b"}, false},
        {{"st-0-01", "st-0-02"}, {"a/st-0-01", "a/st-0-02"}, false},
        {{"st-0-1", "st-0-2"}, {"a/st-0-1", "b/st-0-2"}, false},
        {{"st-0-1", "st-1-2"}, {"a/st-0-1", "a/st-1-2"}, false},
        {{"st-0-1", "st-0-2"}, {"a/one", "a/two"}, false},
        {{"st-0-1", "st-0-2"}, {"a/x-st-0-1", "a/x-st-0-2"}, false},
        {{"st-0-1", "st-0-2"}, {"a/st-0-1", "a/2"}, false},
        {{"st-0-123456789012345", "st-0-123456789012346"}, {"st-0-123456789012345", "st-0-123456789012346"}, true},
        {{"st-0-1234567890123456", "st-0-1234567890123457"}, {"st-0-1234567890123456", "st-0-1234567890123457"}, false},
        {{"a-stem-of-forty-letters-is-not-too-long-1", "a-stem-of-forty-letters-is-not-too-long-2"},
         {"a-stem-of-forty-letters-is-not-too-long-1", "a-stem-of-forty-letters-is-not-too-long-2"}, true},
        {{"a-stem-of-forty-and-one-letters-is-longer1", "a-stem-of-forty-and-one-letters-is-longer2"},
         {"a-stem-of-forty-and-one-letters-is-longer1", "a-stem-of-forty-and-one-letters-is-longer2"}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told[2];
        unsigned n;

        begin("slurm");
        site_forget("sbatch");
        for (int k = 1; k >= 0; k--)
            submit_named(cases[i].name[k], cases[i].dir[k], &told[k]);
        for (int k = 0; k < 2; k++) {
            site_until(&told[k], 1);
            assert_int_equal(told[k].answer, ADAPTER_OK);
            if ((strchr(told[k].id, '_') != NULL) != cases[i].is_array)
                fail_msg("case %zu: %s has the id %s", i, cases[i].name[k], told[k].id);
            if (cases[i].is_array)
                assert_string_equal(strchr(told[k].id, '_'), k == 0 ? "_0" : "_1");
        }
        n = site_count_asked("sbatch");
        assert_int_equal(n, cases[i].is_array ? 1 : 2);
        site_end();
    }
}

/* The daemon may have missed the id, as after a lost answer, which the adapter still has. */
static void a_job_is_asked_about_by_the_id_that_it_got(void **state)
{
    const struct site_known job = {1, NULL, 1};
    struct told told;

    begin("pbs");
    list("{}");
    site_submit_ok(site_job(&site_plain), 1);
    for (int i = 0; i < 3; i++) { /* for as long as it is remembered */
        site_forget("qstat");
        site_poll(&job, 1, &told);
        site_until(&told, 1);
        assert_int_equal(told.statuses[0].state, ADAPTER_JOB_UNKNOWN);
        site_assert_asked("qstat", "[-x][-t][-f][-F][json][7.server]\n");
    }
    site_submit_ok(site_job(&site_plain), 1); /* it is submitted anew, as it is gone */
    site_forget("qstat");
    site_poll(&job, 1, &told);
    site_until(&told, 1);
    site_assert_asked("qstat", "[8.server]\n");
}

/* Of what the list tells nothing else is asked. */
static void records_are_asked_for_what_is_not_listed(void **state)
{
    const struct site_known jobs[] = {{1, "7", 1}, {2, "8", 1}, {3, "9", 1}, {4, NULL, 1}, {5, "11", 1}};
    struct told told;

    begin("slurm");
    list("st-0-1|7|RUNNING|100|120|n1|n1|None\nst-0-3|9|PENDING|100|N/A|n/a||Priority\n");
    site_command("sacct", "echo 'st-0-5|11|FAILED|100|120|n5|n5|None'; echo 'st-0-2|8|COMPLETED|100|120|n2|n2|None'");
    site_poll(jobs, 5, &told);
    site_until(&told, 1);
    site_assert_asked("sacct", "[-j][8,11]");
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_RUNNING);
    assert_string_equal(told.statuses[0].host, "n1");
    assert_string_equal(told.statuses[0].scheduler_id, "7");
    assert_true(told.statuses[0].started_ms == 120000);
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_ENDED);
    assert_string_equal(told.statuses[1].host, "n2");
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_QUEUED);
    assert_non_null(strstr(told.statuses[2].reason, "Priority"));
    assert_int_equal(told.statuses[3].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[4].state, ADAPTER_JOB_ENDED);
    assert_string_equal(told.statuses[4].host, "n5");
    assert_string_equal(site.duplicate, "");
}

/* Only one that waited has certainly done nothing. */
static void one_that_was_taken_out_has_not_begun(void **state)
{
    struct adapter_status status;
    struct told told;

    for (int i = 1; i <= 2; i++) {
        const struct site_known job = {i, i == 1 ? "7.server" : "8.server", 1};
        char rows[300];

        if (i == 1)
            begin("pbs");
        list("{}");
        site_submit_ok(site_job(&site_plain), i);
        snprintf(rows, sizeof rows, "{\"Jobs\": {\"%d.server\": {\"Job_Name\": \"st-0-%d\", \"job_state\": \"%c\", \"Job_Owner\": \"%s@h\","
                 "\"Variable_List\": {\"STRETTO_RUNNER\": \"st-0-%d\"}}}}", i + 6, i, i == 1 ? 'Q' : 'R', "root", i);
        list(rows);
        site_poll(&job, 1, &told);
        site_until(&told, 1);
        assert_int_equal(told.statuses[0].state, i == 1 ? ADAPTER_JOB_QUEUED : ADAPTER_JOB_RUNNING);
        site_cancel(i, 0, &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_OK);
        list("{}");
        site_poll(&job, 1, &told);
        site_until(&told, 1);
        status = told.statuses[0];
        assert_int_equal(status.state, i == 1 ? ADAPTER_JOB_ENDED : ADAPTER_JOB_UNKNOWN);
        assert_string_equal(status.reason, i == 1 ? "cancelled before it started" : "");
    }
}

/* They were given after it began, and wait for the next listing. */
static void orders_that_come_meanwhile_share_the_next_listing(void **state)
{
    struct told told[4];

    json_object_set_new(site.config, "timeout", json_string("10m"));
    begin("slurm");
    list("st-0-0|7|PENDING|100|N/A|n/a||Priority\nst-0-1|8|PENDING|100|N/A|n/a||Priority\nst-0-2|9|PENDING|100|N/A|n/a||Priority\n"
         "st-0-3|10|RUNNING|100|120|n1|n1|None\n");
    site_command("squeue", "while [ ! -e go ]; do pause; done; cat listed");
    site_cancel(0, 0, &told[0]);
    SITE_UNTIL(site_count_asked("squeue") > 0);
    for (int i = 1; i < 3; i++)
        site_cancel(i, 0, &told[i]);
    site_signal(3, SIGUSR1, &told[3]);
    site_put("go", "", 0600);
    for (int i = 0; i < 4; i++) {
        site_until(&told[i], 1);
        assert_int_equal(told[i].answer, ADAPTER_OK);
    }
    assert_int_equal(site_count_asked("squeue"), 2);
    site_assert_asked("scancel", "[7]"); /* they run at the same time: their lines may be mixed */
    site_assert_asked("scancel", "[--batch][--signal=USR1][10]");
    assert_int_equal(site_count_asked("scancel"), 3);
}

/* --- rows, without a batch system */

static struct batch_row *add_row(struct batch_rows *rows, const char *name, const char *id, enum batch_phase phase)
{
    struct batch_row *row = batch_rows_add(rows);

    row->name = batch_rows_keep(rows, name, strlen(name));
    row->label = row->name;
    row->id = batch_rows_keep(rows, id, strlen(id));
    row->phase = phase;
    return row;
}

/* A guess counts unless the same id is there for certain, under its name. */
static void guesses_are_needless_where_it_is_known(void **state)
{
    struct batch_rows rows = {0};
    size_t n;

    for (int i = 0; i < 3; i++) {
        const char *name = i == 0 ? "a" : i == 1 ? "b" : "c";

        add_row(&rows, name, "7", BATCH_WAITS)->is_guessed = true;
        add_row(&rows, name, "8", BATCH_WAITS)->is_guessed = true;
        if (i < 2)
            add_row(&rows, name, i == 0 ? "7" : "8", BATCH_RUNS);
    }
    batch_rows_sort(&rows);
    assert_string_equal(batch_rows_find(&rows, "a", &n)[0].id, "7");
    assert_int_equal(n, 2);
    assert_string_equal(batch_rows_find(&rows, "a", &n)[1].id, "8");
    assert_string_equal(batch_rows_find(&rows, "b", &n)[1].id, "7");
    assert_int_equal(n, 2);
    batch_rows_find(&rows, "c", &n);
    assert_int_equal(n, 2);
    batch_rows_free(&rows);
}

/* What is no UTF-8, and what would move a cursor, is no text. */
static void texts_are_cleaned(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"plain\n\t\r text~", "plain\n\t\r text~"},
        {"\x01\x1f\x08", "???"},
        {"\x7f", "\x7f"},
        {"\x80\xbf\xc0\x80\xc1\xbf", "??????"},
        {"\xc2\x80 \xdf\xbf", "\xc2\x80 \xdf\xbf"},
        {"\xe0\xa0\x80 \xe0\x9f\xbf", "\xe0\xa0\x80 ???"},
        {"\xed\x9f\xbf \xed\xa0\x80", "\xed\x9f\xbf ???"},
        {"\xef\xbf\xbd \xef\xbf\xbe \xef\xbf\xbf", "\xef\xbf\xbd ??? ???"},
        {"\xf0\x90\x80\x80 \xf0\x8f\xbf\xbf", "\xf0\x90\x80\x80 ????"},
        {"\xf4\x8f\xbf\xbd \xf4\x90\x80\x80 \xf5\x80\x80\x80", "\xf4\x8f\xbf\xbd ???? ????"},
        {"\xe2\x82", "??"},
        {"\xe2\x82 x", "?? x"},
        {"\xf0\x9f\x92", "???"},
        {"\xf0\x9f\x92\xa9", "\xf0\x9f\x92\xa9"},
        {"\xee\xbf\xbf", "\xee\xbf\xbf"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = strdup(cases[i].text);

        batch_text_clean(text, strlen(text));
        if (strcmp(text, cases[i].clean) != 0)
            fail_msg("case %zu: %s", i, text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(tasks_are_known_by_their_numbers),
        CASE(a_job_is_asked_about_by_the_id_that_it_got),
        CASE(records_are_asked_for_what_is_not_listed),
        CASE(one_that_was_taken_out_has_not_begun),
        CASE(orders_that_come_meanwhile_share_the_next_listing),
        cmocka_unit_test(guesses_are_needless_where_it_is_known),
        cmocka_unit_test(texts_are_cleaned),
    };

    return SITE_RUN(tests);
}
