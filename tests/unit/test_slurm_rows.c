/* What Slurm's commands print, read. */
#include "common/xalloc.h"
#include "scheduler-adapters/slurm.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct batch_rows rows;

static void parse(const char *text)
{
    struct error err = {0};
    char *copy = xstrdup(text);

    assert_int_equal(slurm_parse(&rows, copy, strlen(copy), &err), 0);
    free(copy);
    batch_rows_sort(&rows);
}

static void parse_record(const char *text)
{
    slurm_parse_record(&rows, text, strlen(text));
    batch_rows_sort(&rows);
}

static struct adapter_status status_of(const char *name)
{
    struct adapter_status status = {0};
    size_t n;
    struct batch_row *row = batch_rows_find(&rows, name, &n);

    assert_non_null(row);
    slurm_status(NULL, row, &status);
    return status;
}

/* All that Slurm's manual lists. */
static void every_state_has_its_meaning(void **state)
{
    static const struct {
        const char *state;
        enum adapter_state is;
        bool node_lost;
    } cases[] = {
        {"PENDING", ADAPTER_JOB_QUEUED, false},        {"CONFIGURING", ADAPTER_JOB_QUEUED, false},   {"REQUEUED", ADAPTER_JOB_QUEUED, false},
        {"REQUEUE_HOLD", ADAPTER_JOB_QUEUED, false},   {"REQUEUE_FED", ADAPTER_JOB_QUEUED, false},   {"SPECIAL_EXIT", ADAPTER_JOB_QUEUED, false},
        {"RESV_DEL_HOLD", ADAPTER_JOB_QUEUED, false},  {"RUNNING", ADAPTER_JOB_RUNNING, false},      {"COMPLETING", ADAPTER_JOB_RUNNING, false},
        {"SUSPENDED", ADAPTER_JOB_RUNNING, false},     {"STOPPED", ADAPTER_JOB_RUNNING, false},      {"SIGNALING", ADAPTER_JOB_RUNNING, false},
        {"STAGE_OUT", ADAPTER_JOB_RUNNING, false},     {"RESIZING", ADAPTER_JOB_RUNNING, false},     {"COMPLETED", ADAPTER_JOB_ENDED, false},
        {"FAILED", ADAPTER_JOB_ENDED, false},          {"CANCELLED", ADAPTER_JOB_ENDED, false},      {"CANCELLED+", ADAPTER_JOB_ENDED, false},
        {"CANCELLED by 1000", ADAPTER_JOB_ENDED, false}, {"TIMEOUT", ADAPTER_JOB_ENDED, false},      {"DEADLINE", ADAPTER_JOB_ENDED, false},
        {"OUT_OF_MEMORY", ADAPTER_JOB_ENDED, false},   {"REVOKED", ADAPTER_JOB_ENDED, false},        {"NODE_FAIL", ADAPTER_JOB_ENDED, true},
        {"BOOT_FAIL", ADAPTER_JOB_ENDED, true},        {"PREEMPTED", ADAPTER_JOB_ENDED, true},       {"RUNNINGS", ADAPTER_JOB_RUNNING, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct adapter_status status;
        char text[200];
        size_t n;

        snprintf(text, sizeof text, "a|1|%s|100|120|n1|n[1-2]|None\n", cases[i].state);
        parse(text);
        status = status_of("a");
        if (status.state != cases[i].is || status.node_lost != cases[i].node_lost)
            fail_msg("%s is %d, node lost %d", cases[i].state, (int)status.state, status.node_lost);
        assert_int_equal(batch_rows_find(&rows, "a", &n)->is_ending, strcmp(cases[i].state, "COMPLETING") == 0);
        assert_string_equal(status.host, status.state == ADAPTER_JOB_QUEUED ? "" : "n1");
        assert_int_equal(status.started_ms, status.state == ADAPTER_JOB_QUEUED ? 0 : 120000);
        batch_rows_free(&rows);
    }
}

/* What waits for these waits for ever: no end of another job, and no node that comes back, makes room for it. */
static void what_can_never_run_is_told(void **state)
{
    static const char *const never[] = {
        "PartitionConfig", "PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints", "DependencyNeverSatisfied", "InvalidAccount",
        "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed", "ReservationDeleted", "ReservationInvalid", "MaxMemPerLimit",
        "AssocMaxCpuPerJobLimit", "AssocMaxNodePerJobLimit", "AssocMaxMemPerJob", "AssocMaxGRESPerJob", "AssocMaxWallDurationPerJobLimit",
        "AssocMaxCpuMinutesPerJobLimit", "QOSMaxCpuPerJobLimit", "QOSMaxNodePerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxGRESPerJob",
        "QOSMaxWallDurationPerJobLimit", "QOSMaxCpuMinutesPerJobLimit", "QOSMinCpuNotSatisfied", "QOSMinNode", "QOSMinGRES", "QOSMinMemory",
        "PartitionTimeLimit, more", NULL};
    static const char *const for_now[] = {
        "Priority", "Resources", "Dependency", "Licenses", "BeginTime", "JobHeldUser", "JobHeldAdmin", "ReqNodeNotAvail", "PartitionDown",
        "PartitionInactive", "QOSMaxJobsPerUserLimit", "QOSMaxCpuPerUserLimit", "AssocGrpCpuLimit", "AssocMaxJobsLimit", "Reservation",
        "NodeDown", "BadConstraint", "PartitionConfigured", "None", "", NULL};
    static const char *const *const lists[] = {never, for_now};

    for (int list = 0; list < 2; list++)
        for (const char *const *reason = lists[list]; *reason != NULL; reason++) {
            char text[200];

            snprintf(text, sizeof text, "a|1|PENDING|100|N/A|n/a||%s\nb|2|REQUEUE_HOLD|100|N/A|n/a||%s\n", *reason,
                     *reason);
            parse(text);
            if (status_of("a").never != (list == 0))
                fail_msg("%s", *reason);
            assert_false(status_of("b").never); /* whoever has put it back may let it go */
            batch_rows_free(&rows);
        }
}

/* The one that runs, else waits, else the last that ended; of two that wait the first. */
static void of_one_name_the_right_one_is_told(void **state)
{
    size_t n;

    parse("x|7|COMPLETED|100|120|n1|n1|None\nx|9|PENDING|110|N/A|n/a||None\nx|10|PENDING|105|N/A|n/a||None\n"
          "y|8|RUNNING|130|140|n1|n1|None\ny|11|PENDING|120|N/A|n/a||None\n"
          "z|12|FAILED|100|120|n1|n1|None\nz|2|COMPLETED|200|220|n1|n1|None\n" /* the ids began anew */
          "w|99999|PENDING|100|N/A|n/a||None\nw|100000|PENDING|100|N/A|n/a||None\n");
    assert_string_equal(status_of("x").scheduler_id, "10");
    assert_non_null(batch_rows_find(&rows, "x", &n));
    assert_int_equal(n, 3);
    assert_string_equal(status_of("y").scheduler_id, "8");
    assert_string_equal(status_of("z").scheduler_id, "2");
    assert_string_equal(status_of("w").scheduler_id, "99999");
    assert_null(batch_rows_find(&rows, "xx", &n));
    assert_null(batch_rows_find(&rows, "a", &n));
    batch_rows_free(&rows);
}

static void what_is_not_whole_is_not_believed(void **state)
{
    char cut[] = "a|1|PENDING|100|N/A|n/a||None\nb|2|COMPL";
    struct error err = {0};
    size_t n;

    assert_int_equal(slurm_parse(&rows, cut, strlen(cut), &err), -1);
    batch_rows_free(&rows);
    parse("slurm_load_jobs: a warning\nb|2|RUNNING\na|1|PENDING|100|N/A|n/a||a reason | with a bar\n");
    assert_null(batch_rows_find(&rows, "b", &n));
    assert_string_equal(status_of("a").reason, "a reason | with a bar");
    batch_rows_free(&rows);
    parse("");
    assert_null(batch_rows_find(&rows, "a", &n));
    batch_rows_free(&rows);
}

static void the_completion_log_is_read(void **state)
{
    parse_record(
        "artial line of a tail Name=p JobState=COMPLETED Partition=main\n"
        "JobId=5 UserId=me(1) GroupId=me(1) Name=a JobState=FAILED Partition=main TimeLimit=60 StartTime=2026-11-22T01:43:50 "
        "EndTime=2026-11-22T01:43:51 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/a b ReservationName= Tres=cpu=1 Account= QOS= "
        "WcKey= Cluster=unknown SubmitTime=2026-11-22T01:43:49 EligibleTime=2026-11-22T01:43:50 DerivedExitCode=0:0 ExitCode=3:0 \n"
        "JobId=6 UserId=me(1) GroupId=me(1) Name=b JobState=CANCELLED Partition=main TimeLimit=60 StartTime=2026-11-22T01:43:50 "
        "EndTime=2026-11-22T01:43:50 NodeList=(null) NodeCnt=0 SubmitTime=2026-11-22T01:43:50 ExitCode=0:0 \n");
    assert_int_equal(rows.n, 2);
    assert_string_equal(status_of("a").reason, "Slurm: FAILED");
    assert_string_equal(status_of("a").scheduler_id, "5");
    assert_string_equal(status_of("a").host, "n1");
    assert_true(status_of("a").started_ms > 0);
    assert_string_equal(status_of("b").reason, "cancelled before it started");
    batch_rows_free(&rows);
}

static void tasks_of_arrays_are_jobs(void **state)
{
    size_t n;

    parse("st-1-7+|20_0|RUNNING|100|120|n1|n1|None\nst-1-7+|20_3|PENDING|100|N/A|n/a||Resources\n"
          "st-1-10|21|PENDING|110|N/A|n/a||None\nst-1-9+|22|PENDING|100|N/A|n/a||None\n+|23_1|PENDING|100|N/A|n/a||None\n");
    assert_string_equal(status_of("st-1-7").scheduler_id, "20_0");
    assert_int_equal(status_of("st-1-7").state, ADAPTER_JOB_RUNNING);
    assert_string_equal(batch_rows_find(&rows, "st-1-10", &n)->id, "20_3");
    assert_string_equal(batch_rows_find(&rows, "st-1-10", &n)->label, "st-1-7+");
    assert_int_equal(n, 2);
    assert_null(batch_rows_find(&rows, "st-1-7+", &n));
    batch_rows_free(&rows);
    parse_record(
        "JobId=26 UserId=me(1) Name=st-1-7+ JobState=FAILED StartTime=2026-11-22T01:43:50 NodeList=n1 "
        "SubmitTime=2026-11-22T01:43:49 EligibleTime=2026-11-22T01:43:50 ArrayJobId=20 ArrayTaskId=12 ExitCode=3:0 \n");
    assert_string_equal(status_of("st-1-19").scheduler_id, "20_12");
    assert_true(rows.row[0].submitted > 0);
    batch_rows_free(&rows);
}

/* Whatever a line lacks, only that is not known; one that is none tells nothing. */
static void lines_of_the_completion_log_may_be_odd(void **state)
{
    static const char more[] = "StartTime=2026-11-22T01:43:50 NodeList=n1 SubmitTime=2026-11-22T01:43:49";
    char text[2000];

    snprintf(text, sizeof text,
             "JobId=5 Name=a JobState=COMPLETED %s \nJobId=6 Name=b JobState=NONSENSE %s \nJob=7 Name=c JobState=FAILED %s \n"
             "JobId=8 JobState=FAILED %s \nJobId=9 Name=e %s \nJobId=10 Name=f JobState=NODE_FAIL NodeList=n2 \n"
             "JobId=11 Name=g JobState=FAILED StartTime=Unknown SubmitTime=Unknown \n"
             "JobId=12 Name=h JobState=FAILED %s ArrayJobId=3 \nJobId=13 Name=i JobState=FAILED %s ArrayTaskId=3 \n",
             more, more, more, more, more, more, more);
    setenv("TZ", "UTC", 1);
    tzset();
    parse_record(text);
    assert_int_equal(rows.n, 5);
    assert_string_equal(status_of("a").reason, "");
    assert_int_equal(status_of("a").started_ms, INT64_C(1795311830000));
    assert_int_equal(rows.row[0].submitted, INT64_C(1795311829));
    assert_true(status_of("f").node_lost);
    assert_string_equal(status_of("f").host, "n2");
    assert_int_equal(status_of("f").started_ms, 0);
    assert_int_equal(status_of("g").started_ms, 0);
    assert_string_equal(status_of("h").scheduler_id, "12"); /* of no array */
    assert_string_equal(status_of("i").scheduler_id, "13");
    batch_rows_free(&rows);
    unsetenv("TZ");
    tzset();
}

/* Numbers that are none, or below zero, are not known. */
static void what_is_no_time_is_not_known(void **state)
{
    static const char *const none[] = {"N/A", "-5", "0", "12x", "", "Unknown"};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char text[100];

        snprintf(text, sizeof text, "a|1|RUNNING|%s|%s|n1|n1|None\n", none[i], none[i]);
        parse(text);
        assert_int_equal(status_of("a").started_ms, 0);
        assert_int_equal(rows.row[0].submitted, 0);
        batch_rows_free(&rows);
    }
    for (const char *const *word = (const char *const[]){"n/a", "N/A", "(null)", "None", "None assigned", "Unknown", "", NULL}; *word != NULL; word++)
        assert_string_equal(slurm_word_or_nothing(*word), "");
    assert_string_equal(slurm_word_or_nothing("Nonesuch"), "Nonesuch");
}

/* An hour before the first submission, since clocks differ; but not before the epoch, nor for ever after. */
static void the_record_is_asked_since_a_time_that_it_knows(void **state)
{
    const char *ids[300];
    char *list;

    assert_int_equal(slurm_past_from(0), 0);
    assert_int_equal(slurm_past_from(3600), 0);
    assert_int_equal(slurm_past_from(3601), 1);
    assert_int_equal(slurm_past_from(1700000000), 1699996400);
    assert_int_equal(slurm_past_from(INT64_MAX), INT64_C(253370764800));
    for (size_t i = 0; i < 300; i++)
        ids[i] = i < 200 ? "7" : "8";
    list = slurm_past_ids(ids, 3, ", ");
    assert_string_equal(list, "7, 7, 7");
    free(list);
    list = slurm_past_ids(ids, 1, ",");
    assert_string_equal(list, "7");
    free(list);
    list = slurm_past_ids(ids, 300, ","); /* the others are asked for again */
    assert_int_equal(strlen(list), 399);
    assert_null(strchr(list, '8'));
    free(list);
}

/* The walltime, the grace and half a minute, in minutes, as long as the partition allows that; or the walltime
 * alone. */
static void the_limit_of_a_partition_is_kept(void **state)
{
    static const struct {
        const char *queue, *site[2], *spec[2];
        int64_t walltime_ms, grace_ms;
        int minutes;
    } cases[] = {
        {NULL, {NULL}, {NULL}, 60000, 0, 2}, {NULL, {NULL}, {NULL}, 60000, 30000, 2}, {NULL, {NULL}, {NULL}, 60000, 30001, 3},
        {NULL, {NULL}, {NULL}, 60001, 29999, 2}, {NULL, {NULL}, {NULL}, 600000, 60000, 10}, {NULL, {NULL}, {NULL}, 600001, 0, 11},
        {"b", {NULL}, {NULL}, 600000, 60000, 12}, {"bb", {NULL}, {NULL}, 600000, 60000, 10}, {"", {NULL}, {NULL}, 600000, 60000, 10},
        {"b,main", {NULL}, {NULL}, 600000, 60000, 12}, {"main,b", {NULL}, {NULL}, 600000, 60000, 10},
        {"main", {"-pb", NULL}, {NULL}, 600000, 60000, 12}, {"main", {"-p", "b"}, {NULL}, 600000, 60000, 12},
        {"main", {"--partition", "b"}, {NULL}, 600000, 60000, 12}, {"main", {"--partition=b", NULL}, {NULL}, 600000, 60000, 12},
        {"main", {"-x", "b"}, {NULL}, 600000, 60000, 10}, {"b", {"-p", NULL}, {NULL}, 600000, 60000, 12},
        {"main", {"-pmain", NULL}, {"-pb", NULL}, 600000, 60000, 12}, {"b", {"-pb", NULL}, {"-p", "main"}, 600000, 60000, 10},
        {"main", {"-pb", "-pmain"}, {NULL}, 600000, 60000, 10},
    };
    struct slurm_times times = {0};

    slurm_times_add(&times, "b", false, 100);
    slurm_times_add(&times, "main", true, 10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *site = json_pack("[s*, s*]", cases[i].site[0], cases[i].site[1]),
               *spec = json_pack("[s*, s*]", cases[i].spec[0], cases[i].spec[1]);
        struct adapter_job job = {.grace_ms = cases[i].grace_ms, .resources = {.queue = cases[i].queue, .walltime_ms = cases[i].walltime_ms, .extra = spec}};

        if (slurm_times_minutes(&times, site, &job) != cases[i].minutes)
            fail_msg("case %zu: %d", i, (int)slurm_times_minutes(&times, site, &job));
        json_decref(site);
        json_decref(spec);
    }
    assert_true(slurm_times_hold(&times, 0) == false);
    slurm_times_set(&times, 1000);
    assert_true(slurm_times_hold(&times, 1000 + 599999));
    assert_false(slurm_times_hold(&times, 1000 + 600000));
    slurm_times_clear(&times);
    assert_int_equal(times.n, 0);
    assert_false(slurm_times_hold(&times, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_its_meaning),
        cmocka_unit_test(what_can_never_run_is_told),
        cmocka_unit_test(of_one_name_the_right_one_is_told),
        cmocka_unit_test(what_is_not_whole_is_not_believed),
        cmocka_unit_test(the_completion_log_is_read),
        cmocka_unit_test(tasks_of_arrays_are_jobs),
        cmocka_unit_test(lines_of_the_completion_log_may_be_odd),
        cmocka_unit_test(what_is_no_time_is_not_known),
        cmocka_unit_test(the_record_is_asked_since_a_time_that_it_knows),
        cmocka_unit_test(the_limit_of_a_partition_is_kept),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
