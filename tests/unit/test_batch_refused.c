/* The meaning of the words with which batch systems refuse a job: for good, for now, or not known. */
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct words {
    const char *said;
    enum adapter_answer answer;
};

static void begin(const char *name)
{
    json_object_set_new(site.config, "gather", json_string("0s")); /* each by itself, and at once */
    if (strcmp(name, "slurm") == 0)
        site_slurm_commands();
    else
        site_pbs_commands("pbs_version = 23.06.06");
    site_begin(adapter_named(name));
}

static struct told submit(const char *program, const char *script)
{
    static struct told told;
    static int number;

    site_command(program, script);
    site_submit(site_job(&site_plain), ++number, &told);
    site_until(&told, 1);
    return told;
}

/* What was certainly not accepted is submitted again without being looked up, and is over when it is cancelled; of what
 * may have been it is not known. */
static void check_words(const char *program, const struct words *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char script[400];
        struct told told;

        snprintf(script, sizeof script, "cat >/dev/null <<'END'\nEND\necho \"%s\" >&2; exit 1", words[i].said);
        told = submit(program, script);
        if (told.answer != words[i].answer)
            fail_msg("answer %d to: %s", (int)told.answer, words[i].said);
        assert_string_equal(told.code, told.answer == ADAPTER_REFUSED || told.answer == ADAPTER_UNCLEAR ? "job_refused" : "batch_system_unsure");
        assert_non_null(strstr(told.text, words[i].said));
    }
}

#define CHECK(program, ...)                                                                                            \
    check_words(program, (const struct words[]){__VA_ARGS__},                                                          \
                sizeof(const struct words[]){__VA_ARGS__} / sizeof(struct words))
#define FAILED "sbatch: error: Batch job submission failed: "

static void slurm_says_no(void **state)
{
    begin("slurm");
    CHECK("sbatch", {FAILED "Invalid partition name specified", ADAPTER_REFUSED},
          {FAILED "Requested node configuration is not available", ADAPTER_UNCLEAR},
          {FAILED "Requested time limit is invalid (missing or exceeds some limit)", ADAPTER_UNCLEAR},
          {FAILED "Invalid account or account/partition combination specified", ADAPTER_REFUSED},
          {FAILED "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", ADAPTER_UNCLEAR},
          {"sbatch: unrecognized option '--nonsense'", ADAPTER_REFUSED},
          {"sbatch: error: QOSMaxWallDurationPerJobLimit", ADAPTER_UNCLEAR}, /* with DenyOnLimit */
          {"sbatch: error: you have used up your hours of this week", ADAPTER_UNCLEAR});
}

static void slurm_says_later(void **state)
{
    begin("slurm");
    CHECK("sbatch", {"sbatch: error: AssocMaxSubmitJobLimit", ADAPTER_LATER}, {"sbatch: error: QOSMaxSubmitJobPerUserLimit", ADAPTER_LATER},
          {FAILED "Job submit limit reached", ADAPTER_LATER}, {"sbatch: error: AssocGrpSubmitJobsLimit", ADAPTER_LATER},
          {"sbatch: error: QOSGrpSubmitJobsLimit", ADAPTER_LATER}, {"sbatch: error: MaxSubmitJobsPerAccount", ADAPTER_LATER},
          {FAILED "Requested reservation is in use", ADAPTER_LATER}, {FAILED "System submissions disabled", ADAPTER_LATER},
          {FAILED "Job can not start due to maintenance reservation.", ADAPTER_LATER},
          {"sbatch: fatal: Could not establish a configuration source", ADAPTER_LATER});
}

static void slurm_does_not_say(void **state)
{
    begin("slurm");
    CHECK("sbatch", {FAILED "Unable to contact slurm controller (connect failure)", ADAPTER_UNSURE},
          {FAILED "Socket timed out on send/recv operation", ADAPTER_UNSURE}, {FAILED "Zero Bytes were transmitted or received", ADAPTER_UNSURE},
          {FAILED "Transport endpoint is not connected", ADAPTER_UNSURE}, {FAILED "Connection refused", ADAPTER_UNSURE},
          {FAILED "Unexpected message received", ADAPTER_UNSURE}, {FAILED "Slurm backup controller in standby mode", ADAPTER_UNSURE},
          {FAILED "Slurm temporarily unable to accept job, sleeping and retrying", ADAPTER_UNSURE},
          {FAILED "Resource temporarily unavailable", ADAPTER_UNSURE}, {FAILED "I/O error writing script/environment to file", ADAPTER_UNSURE},
          {FAILED "Protocol authentication error", ADAPTER_UNSURE}, {"sbatch: error: Munge encode failed: Failed to connect", ADAPTER_UNSURE},
          {"sbatch: error: Unable to establish controller machine", ADAPTER_UNSURE},
          {FAILED "Required partition not available (inactive or drain)", ADAPTER_UNSURE}, {FAILED "Job/step already completing or in transition", ADAPTER_UNSURE},
          {FAILED "Broken pipe", ADAPTER_UNSURE}, {FAILED "Unable to create job record, try again", ADAPTER_UNSURE},
          {FAILED "Controller is in standby mode, try a different controller", ADAPTER_UNSURE}, {FAILED "Host is down", ADAPTER_UNSURE},
          {"sbatch: error: AssocMaxSubmitJobLimit, Socket timed out", ADAPTER_UNSURE});
}

static void pbs_says_no(void **state)
{
    begin("pbs");
    CHECK("qsub", {"qsub: Unknown queue", ADAPTER_REFUSED}, {"qsub: Bad UID for job execution", ADAPTER_REFUSED},
          {"qsub: Unauthorized Request", ADAPTER_REFUSED}, {"qsub: Illegal attribute or resource value", ADAPTER_REFUSED},
          {"qsub: Job rejected by all possible destinations", ADAPTER_UNCLEAR}, {"qsub: Job violates queue and/or server resource limits", ADAPTER_UNCLEAR});
}

static void pbs_says_later(void **state)
{
    begin("pbs");
    CHECK("qsub", {"qsub: would exceed queue generic's per-user limit of jobs in 'Q' state", ADAPTER_LATER},
          {"qsub: would exceed complex limit on resource per user", ADAPTER_LATER},
          {"qsub: Maximum number of jobs already in queue", ADAPTER_LATER}, {"qsub: Maximum number of jobs already in complex", ADAPTER_LATER},
          {"qsub: Queue is not enabled", ADAPTER_LATER});
}

static void pbs_does_not_say(void **state)
{
    begin("pbs");
    CHECK("qsub", {"qsub: cannot connect to server testpbs (errno=15010)", ADAPTER_UNSURE}, {"Connection refused", ADAPTER_UNSURE},
          {"qsub: End of File", ADAPTER_UNSURE}, {"qsub: Invalid credential", ADAPTER_UNSURE}, {"qsub: Batch protocol error", ADAPTER_UNSURE},
          {"qsub: No free connections", ADAPTER_UNSURE}, {"qsub: Server shutting down", ADAPTER_UNSURE}, {"qsub: System error", ADAPTER_UNSURE},
          {"qsub: PBS internal error: Internal error", ADAPTER_UNSURE}, {"munge: Error: Unable to access socket", ADAPTER_UNSURE},
          {"pbs_iff: error returned: 15031", ADAPTER_UNSURE}, {"qsub: cannot send environment: No space left on device", ADAPTER_UNSURE},
          {"qsub: Job with requested ID already exists", ADAPTER_UNSURE}, {"qsub: Unknown Host", ADAPTER_UNSURE},
          {"pbs_conf: cannot be read", ADAPTER_UNSURE});
}

/* What cannot be started has not been started; of what came to no end of its own, or printed no id, nothing is
 * known. */
static void a_command_that_fails_otherwise(void **state)
{
    const char *program = *state;
    struct told told;

    begin(strcmp(program, "sbatch") == 0 ? "slurm" : "pbs");
    told = submit(program, "cat >/dev/null; exit 1");
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    told = submit(program, "kill -KILL $$");
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    told = submit(program, "kill -TERM $$"); /* by an operator */
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    assert_non_null(strstr(told.text, "killed"));
    told = submit(program, "echo welcome");
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    assert_non_null(strstr(told.text, "printed no job id: welcome"));
    if (strcmp(program, "qsub") == 0) {
        told = submit(program, "echo 'qsub: Unknown queue' >&2; exit 255");
        assert_int_equal(told.answer, ADAPTER_UNSURE);
        told = submit(program, "echo 'The 3 news of today'; echo 3 days; echo 12.server; echo bye");
        assert_string_equal(told.id, "12.server");
    } else {
        told = submit(program, "echo '12;cluster'");
        assert_string_equal(told.id, "12");
    }
    assert_int_equal(told.answer, ADAPTER_OK);
    site_put(program, "#!/nowhere/sh\n", 0700);
    site_submit(site_job(&site_plain), 0, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_LATER);
}

/* A wrapper, or defaults of the user's, may name a cluster: a job on another one would never be found again. */
static void a_job_on_another_cluster_is_refused(void **state)
{
    struct told told;

    site_slurm_commands();
    site_command("scontrol", "printf 'ClusterName             = here\nMaxArraySize            = 1001\n'");
    json_object_set_new(site.config, "gather", json_string("1ms"));
    site_begin(adapter_named("slurm"));
    assert_string_equal(submit("sbatch", "echo '12;here'").id, "12");
    told = submit("sbatch", "echo '12;b'");
    assert_int_equal(told.answer, ADAPTER_REFUSED);
    assert_non_null(strstr(told.text, "to the cluster b, where this daemon, of the cluster here,"));
    assert_non_null(strstr(told.text, "`scancel -M b 12`"));
}

static void an_unknown_queue_is_named(void **state)
{
    struct adapter_job job = site_job(&site_plain);
    struct told told;

    begin("pbs");
    site_command("qsub", "echo 'qsub: Unknown queue' >&2; exit 1");
    job.resources.queue = "fast";
    site_submit(job, 1, &told);
    site_until(&told, 1);
    assert_string_equal(told.text, "qsub: Unknown queue \"fast\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(slurm_says_no),
        CASE(slurm_says_later),
        CASE(slurm_does_not_say),
        CASE(pbs_says_no),
        CASE(pbs_says_later),
        CASE(pbs_does_not_say),
        CASE(a_job_on_another_cluster_is_refused),
        CASE(an_unknown_queue_is_named),
        {"an_sbatch_that_fails_otherwise", a_command_that_fails_otherwise, site_open, site_close, "sbatch"},
        {"a_qsub_that_fails_otherwise", a_command_that_fails_otherwise, site_open, site_close, "qsub"},
    };

    return SITE_RUN(tests);
}
