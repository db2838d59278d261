/* Jobs that are submitted at the same time go as arrays: when, how many of them, and what becomes of them where an
 * array is refused. */
#include "scheduler-adapters/batch.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <string.h>
#include <unistd.h>

#define MANY 16

static struct told told[MANY + 1];

static void begin_slurm(void)
{
    site_slurm_commands();
    site_begin(adapter_named("slurm"));
}

static void submit_all(int first, int n)
{
    for (int i = 0; i < n; i++)
        site_submit(site_job(&site_plain), first + i, &told[i]);
}

static void until_all(int n, enum adapter_answer answer)
{
    for (int i = 0; i < n; i++) {
        site_until(&told[i], 1);
        if (told[i].answer != answer)
            fail_msg("answer %d to the job %d: %s", (int)told[i].answer, i, told[i].text);
    }
}

/* --- one more every few ms, for as long as none has been sent */

#define TRICKLE_MS 20
#define TRICKLE_MAX 1000

static unsigned n_trickled;
static struct told trickled[TRICKLE_MAX];

/* Its time comes before that of the jobs that wait for no more to come, however late the loop is. */
static void one_more(uv_timer_t *timer)
{
    if (site_count_asked("sbatch") > 0 || n_trickled == TRICKLE_MAX) {
        uv_timer_stop(timer);
        return;
    }
    site_submit(site_job(&site_plain), (int)n_trickled, &trickled[n_trickled]);
    n_trickled++;
}

static void jobs_that_keep_coming_keep_none_waiting(void **state)
{
    static uv_timer_t timer;

    json_object_set_new(site.config, "gather", json_string("500ms"));
    begin_slurm();
    n_trickled = 0;
    uv_timer_init(&site.loop, &timer);
    uv_timer_start(&timer, one_more, 0, TRICKLE_MS);
    TEST_UNTIL(!uv_is_active((uv_handle_t *)&timer), uv_run(&site.loop, UV_RUN_ONCE));
    uv_close((uv_handle_t *)&timer, NULL);
    assert_true(n_trickled < TRICKLE_MAX);
    for (unsigned i = 0; i < n_trickled; i++)
        site_until(&trickled[i], 1);
}

/* Slurm's array may have gaps in its numbers; PBS's may not, and its ids are others. */
static void gaps_divide_where_they_must(void **state)
{
    static const int numbers[] = {4, 3, 1, 7};
    bool is_slurm = *state != NULL;

    if (is_slurm) {
        begin_slurm();
    } else {
        site_pbs_commands("pbs_version = 23.06.06");
        site_begin(adapter_named("pbs"));
    }
    for (int i = 0; i < 4; i++)
        site_submit(site_job(&site_plain), numbers[i], &told[i]);
    until_all(4, ADAPTER_OK);
    if (is_slurm) {
        assert_int_equal(site_count_asked("sbatch"), 1);
        site_assert_asked("sbatch", "[--array=0,2-3,6]");
        assert_string_equal(told[0].id, "7_3");
        assert_string_equal(told[3].id, "7_6");
    } else {
        assert_int_equal(site_count_asked("qsub"), 3);
        site_assert_asked("qsub", "[-J][0-1]");
        site_assert_asked("qsub", "[STRETTO_RUNNER=st-0-3+]");
        assert_non_null(strstr(told[0].id, "[1].server"));
        assert_non_null(strstr(told[1].id, "[0].server"));
        assert_null(strchr(told[2].id, '['));
    }
}

/* Slurm's MaxArraySize is one more than the highest index: here that is 2. */
static void no_index_is_beyond_the_sites_limit(void **state)
{
    static const int numbers[] = {1, 3, 4, 7};

    begin_slurm();
    site_command("scontrol",
                 "echo 'AccountingStorageType = accounting_storage/none'; echo 'MaxArraySize            = 3'");
    submit_all(11, 5);
    until_all(5, ADAPTER_OK);
    assert_int_equal(site_count_asked("sbatch"), 3);
    for (int i = 0; i < 5; i++) /* which of them is sent first is open */
        assert_string_equal(told[i].id + strcspn(told[i].id, "_"), i == 4 ? "" : i % 2 == 0 ? "_0" : "_1");
    site_forget("sbatch");
    for (int i = 0; i < 4; i++)
        site_submit(site_job(&site_plain), numbers[i], &told[i]);
    until_all(4, ADAPTER_OK);
    assert_int_equal(site_count_asked("sbatch"), 3);
    site_assert_asked("sbatch", "[--array=0,2]");
    assert_null(strchr(told[2].id, '_'));
    assert_null(strchr(told[3].id, '_'));
}

/* No array of more than two tasks is taken, as by a limit that is nobody's but this user's. */
static void a_site_takes_small_ones(void)
{
    begin_slurm();
    site_command("sbatch", "case \"$*\" in *--array=0-1\\ *) ;; *--array*) [ -e any ] || { echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2;"
                           " exit 1; } ;; esac\nn=$(cat ids 2>/dev/null || echo 6); n=$((n + 1)); echo $n >ids; echo $n");
}

static void submit_eight(const struct adapter_resources *want, int first)
{
    for (int i = 0; i < 8; i++)
        site_submit(site_job(want), first + i, &told[i]);
    until_all(8, ADAPTER_OK);
}

static void what_is_too_many_goes_in_smaller_ones(void **state)
{
    a_site_takes_small_ones();
    submit_eight(&site_plain, 0);
    assert_string_equal(told[0].id, "7"); /* alone, to see */
    site_assert_asked("sbatch", "[--array=0-7]");
    site_assert_asked("sbatch", "[--array=0-3]"); /* of the seven others */
    assert_non_null(strstr(site.said, "an array of 8 jobs is refused, one job is not"));
    site_forget("sbatch");
    submit_eight(&site_plain, 20);
    site_assert_asked("sbatch", "[--array=0-1]");
    site_assert_not_asked("sbatch", "[--array=0-7]");
}

/* A limit may be gone again. */
static void after_that_they_grow_again(void **state)
{
    a_site_takes_small_ones();
    submit_eight(&site_plain, 0);
    site_put("any", "", 0600);
    for (int round = 1; round <= 4; round++) { /* at most 1, 2, 4 and 8 */
        site_forget("sbatch");
        submit_eight(&site_plain, 20 * round);
    }
    assert_int_equal(site_count_asked("sbatch"), 1);
}

/* A limit that is one queue's, or one account's, is learnt for that alone, and forgotten after a while. */
static void a_limit_is_its_queues_alone(void **state)
{
    struct adapter_resources here = site_plain, there = site_plain, other = site_plain;

    here.queue = other.queue = "small";
    there.queue = "large";
    other.account = "other";
    begin_slurm();
    site_command("sbatch", "case \"$*\" in *--array=0-1\\ *) ;; *--array*--partition=small*|*--partition=small*--array*) echo 'sbatch: error:"
                           " QOSMaxSubmitJobPerUserLimit' >&2; exit 1;; esac; n=$(cat ids 2>/dev/null || echo 6); n=$((n + 1)); echo $n >ids; echo $n");
    submit_eight(&here, 0);
    site_forget("sbatch");
    submit_eight(&here, 20);
    site_assert_not_asked("sbatch", "[--array=0-7]");
    submit_eight(&other, 40);
    site_assert_asked("sbatch", "[--array=0-7]");
    site_forget("sbatch");
    submit_eight(&there, 60);
    assert_int_equal(site_count_asked("sbatch"), 1);
    site_forget("sbatch");
    site.a->gathering.forget_ms = 0;
    submit_eight(&here, 80);
    site_assert_asked("sbatch", "[--array=0-7]");
}

/* Were they tried one after another, each would be refused by a command of its own. */
static void what_is_refused_by_itself_is_refused_for_all(void **state)
{
    bool for_now = *state != NULL;

    begin_slurm();
    site_command("sbatch", for_now
                               ? "echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; exit 1"
                               : "echo 'sbatch: error: invalid account or account/partition combination' >&2; exit 1");
    submit_all(0, 8);
    until_all(8, for_now ? ADAPTER_LATER : ADAPTER_REFUSED);
    assert_int_equal(site_count_asked("sbatch"), 2);
    for (int i = 0; i < 8; i++)
        assert_non_null(strstr(told[i].text, for_now ? "AssocMaxSubmitJobLimit" : "account/partition"));
}

/* Where an array may have been accepted, no job of it is sent by another way. */
static void what_may_have_been_accepted_is_not_sent_again(void **state)
{
    begin_slurm();
    site_command("sbatch", "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1");
    submit_all(0, 8);
    until_all(8, ADAPTER_UNSURE);
    assert_int_equal(site_count_asked("sbatch"), 1);
}

static void a_job_that_is_there_is_not_sent_again(void **state)
{
    struct told again;

    begin_slurm();
    site_submit_ok(site_job(&site_plain), 1);
    site_submit(site_job(&site_plain), 1, &again);
    site_until(&again, 1);
    assert_int_equal(again.answer, ADAPTER_OK);
    assert_string_equal(again.id, "7");
    assert_int_equal(site_count_asked("sbatch"), 1);
    site_put("listed", "st-0-1|7|PENDING|100|N/A|n/a||Priority\n", 0600);
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_QUEUED); /* while it waits, too */
    site_submit_ok(site_job(&site_plain), 1);
    assert_int_equal(site_count_asked("sbatch"), 1);
    site_put("listed", "", 0600);
    site_status(1, "7"); /* the listing lacks it: it may be submitted anew */
    site_submit_ok(site_job(&site_plain), 1);
    assert_int_equal(site_count_asked("sbatch"), 2);
}

/* A listing that began before a job was submitted tells nothing of it: the job would be sent twice. */
static void an_earlier_listing_forgets_no_job(void **state)
{
    const struct site_known other = {9, "99", 1};
    struct told polled;

    json_object_set_new(site.config, "timeout", json_string("10m"));
    begin_slurm();
    site_command("squeue", "while [ ! -e go ]; do pause; done");
    site_poll(&other, 1, &polled);
    /* nothing else happens until there is a file "go" */
    SITE_UNTIL(site_count_asked("squeue") > 0);
    site_submit_ok(site_job(&site_plain), 1);
    site_put("go", "", 0600);
    site_until(&polled, 1);
    site_submit_ok(site_job(&site_plain), 1);
    assert_int_equal(site_count_asked("sbatch"), 1);
}

/* Nothing of what waits is sent any more. */
static void what_waits_when_the_daemon_ends_is_told(void **state)
{
    json_object_set_new(site.config, "gather", json_string("1h"));
    begin_slurm();
    submit_all(0, 4);
    site_end();
    until_all(4, ADAPTER_UNSURE);
    assert_int_equal(site_count_asked("sbatch"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(jobs_that_keep_coming_keep_none_waiting),
        {"gaps_divide_no_array_of_slurm", gaps_divide_where_they_must, site_open, site_close, "slurm"},
        {"gaps_divide_arrays_of_pbs", gaps_divide_where_they_must, site_open, site_close, NULL},
        CASE(no_index_is_beyond_the_sites_limit),
        CASE(what_is_too_many_goes_in_smaller_ones),
        CASE(a_limit_is_its_queues_alone),
        CASE(after_that_they_grow_again),
        {"what_is_refused_by_itself_is_refused_for_all", what_is_refused_by_itself_is_refused_for_all, site_open,
         site_close, NULL},
        {"what_is_refused_for_now_is_so_for_all", what_is_refused_by_itself_is_refused_for_all, site_open, site_close,
         "now"},
        CASE(what_may_have_been_accepted_is_not_sent_again),
        CASE(a_job_that_is_there_is_not_sent_again),
        CASE(an_earlier_listing_forgets_no_job),
        CASE(what_waits_when_the_daemon_ends_is_told),
    };

    return SITE_RUN(tests);
}
