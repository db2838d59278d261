/* Programs that aprun launches from the service node. The runner is there, too, and has aprun for its launcher, within
 * a script: ALPS may take a while to see that nodes are free. */
#include "scheduler-adapters/alps.h"
#include "tests/unit/alps_site.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* These runners stand for the real one: they go to a member's directory and launch a program. The last becomes the
 * launcher, which gets the job's signals then. */
#define WORDS "n=$#; for w; do case $w in --launch=*) set -- \"$@\" \"${w#--launch=}\";; *) d=$w;; esac; done; shift $n; echo >$d/claim.json;"
#define LAUNCHING_RUNNER WORDS " cd $d; \"$@\" program 2>stderr; echo $? >status"
#define RUNNER_THAT_MERGES_OUTPUT WORDS " cd $d; \"$@\" program >stdout 2>&1; echo $? >status"
#define RUNNER_THAT_BECOMES_THE_LAUNCHER WORDS " cd $d; exec \"$@\" program 2>stderr"

static char runner[160], *path;

static void begin_launching(const char *script, const char *aprun)
{
    snprintf(runner, sizeof runner, "%s/runner", site.dir);
    site_command("runner", script);
    site.runner = runner;
    begin("3-6", aprun);
}

/* Pauses are told, and take no time. */
static int open_without_pauses(void **state)
{
    char with[4200];

    site_open(state);
    site_command("sleep", "");
    path = strdup(getenv("PATH"));
    snprintf(with, sizeof with, "%s:%.4000s", site.dir, path);
    return setenv("PATH", with, 1);
}

static int close_without_pauses(void **state)
{
    setenv("PATH", path, 1);
    free(path);
    return site_close(state);
}

static struct adapter_job four_on_two(void)
{
    struct adapter_job job = site_job(&one);

    job.resources.launcher = "aprun";
    job.resources.tasks = 4;
    job.resources.nodes = 2;
    return job;
}

static void assert_file(int number, const char *name, const char *wanted)
{
    char file[200], *text;
    struct error err;
    size_t size;

    snprintf(file, sizeof file, "%s/st-0-%d/%s", site.dir, number, name);
    assert_int_equal(file_read(file, 65536, &text, &size, &err), 0);
    assert_string_equal(text, wanted);
    free(text);
}

#define FIRST_TIME "[ $(wc -l <aprun.asked) -ge 2 ] || "

static void what_aprun_launches_is_tried_until_there_are_nodes(void **state)
{
    static const struct {
        const char *aprun, *status;
        unsigned tries;
    } cases[] = {
        {FIRST_TIME "{ echo 'apsched: no more claims allowed' >&2; exit 3; }; echo 'Application 46 exit codes: 7' >&2; exit 7", "7\n", 2},
        {FIRST_TIME "{ echo \"" NO_NODES "\" >&2; exit 3; }", "0\n", 2},
        {FIRST_TIME "{ echo \"" TOO_LARGE "\" >&2; exit 3; }", "0\n", 2},
        {"echo 'it failed by itself' >&2; exit 5", "5\n", 1},
        {"kill -KILL $$", "137\n", 1},
        {"echo \"" NO_NODES "\" >&2; exit 0", "0\n", 1}, /* a program may say so, too */
        {FIRST_TIME "{ echo \"" NO_NODES "\" >&2; exit 3; }; exit 9", "9\n", 2}, /* it says nothing, and ALPS has said that before */
    };
    struct adapter_job job = four_on_two();
    int last = sizeof cases / sizeof *cases;
    char words[600];

    begin_launching(LAUNCHING_RUNNER, ENDED_WELL);
    for (int i = 0; i < last; i++) {
        site_forget("aprun");
        site_forget("runner");
        site_command("aprun", cases[i].aprun);
        submit(job, i + 1);
        until(i + 1, ADAPTER_JOB_ENDED);
        if (site_count_asked("aprun") != cases[i].tries)
            fail_msg("%u tries of: %s", site_count_asked("aprun"), cases[i].aprun);
        site_assert_asked("aprun", "[-N][2][-L][3,4][-d][1][-cc][depth][program]\n");
        site_assert_not_asked("aprun", "[-n]"); /* which the runner gives */
        assert_file(i + 1, "status", cases[i].status);
    }
    snprintf(words, sizeof words,
             "[--launch=stretto-aprun][--launch=1][--launch=12][--launch=5][--launch=%s/st-0-%d/aprun.log]"
             "[--launch=%s/aprun][--launch=-N]",
             site.dir, last, site.dir);
    site_assert_asked("runner", words);
    job.resources.launcher = NULL;
    job.resources.each_node = true; /* a pilot's, which others may have in its place */
    submit(job, last + 1);
    until(last + 1, ADAPTER_JOB_ENDED);
    site_assert_asked("runner", "[--launch=stretto-aprun][--launch=1][--launch=4][--launch=5]");
}

/* ALPS's words are in the file of the standard output then. */
static void merged_output_is_read_as_well(void **state)
{
    begin_launching(RUNNER_THAT_MERGES_OUTPUT, FIRST_TIME "{ echo \"" NO_NODES "\" >&2; exit 3; }; exit 9");
    submit(four_on_two(), 1);
    until(1, ADAPTER_JOB_ENDED);
    assert_int_equal(site_count_asked("aprun"), 2);
    assert_file(1, "status", "9\n");
}

/* With pauses that grow, and fewer times where nodes are not what is lacking. The program has failed with ALPS's words
 * then, once. */
static void what_finds_no_room_is_given_up(void **state)
{
    static const struct {
        const char *pause, *aprun, *pauses, *said; /* said: NULL: it has found room */
        bool is_pilot;
    } cases[] = {
        {"1ms", "echo \"" NO_NODES "\" >&2; exit 3", "[1]\n[2]\n[4]\n[8]\n[16]\n[32]\n[60]\n[60]\n[60]\n[60]\n[60]\n", NO_NODES, false},
        {"2001ms", "echo 'apsched: no more claims allowed' >&2; exit 3", "[3]\n[6]\n[12]\n[24]\n[48]\n[60]\n[60]\n[60]\n[60]\n[60]\n[60]\n",
         "apsched: no more claims allowed", false},
        {"1s", "echo \"" TOO_LARGE "\" >&2; exit 3", "[1]\n[2]\n[4]\n[8]\n", TOO_LARGE, false},
        {"1s", "echo \"" NO_NODES "\" >&2; exit 3", "[1]\n[2]\n[4]\n", NO_NODES, true},
        {"1s", "case $(wc -l <aprun.asked) in 1|3|5|7) echo \"" TOO_LARGE "\" >&2; exit 3;; 2|4|6) echo \"" NO_NODES "\" >&2; exit 3;; esac",
         "[1]\n[2]\n[4]\n[8]\n[16]\n[32]\n[60]\n", NULL, false},
    };

    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        bool found_room = cases[i].said == NULL;
        struct adapter_job job = four_on_two();
        struct adapter_status status;
        char text[200];

        json_object_set_new(site.config, "pause", json_string(cases[i].pause));
        site_forget("sleep");
        site_forget("aprun");
        begin_launching(LAUNCHING_RUNNER, cases[i].aprun);
        job.resources.launcher = cases[i].is_pilot ? NULL : job.resources.launcher;
        job.resources.each_node = cases[i].is_pilot;
        submit(job, i + 1);
        status = until(i + 1, ADAPTER_JOB_ENDED);
        site_assert_lines("sleep", cases[i].pauses);
        snprintf(text, sizeof text, "%s%s", found_room ? "" : "ALPS: ", found_room ? "" : cases[i].said);
        assert_string_equal(status.reason, text);
        snprintf(text, sizeof text, "%s%s", found_room ? "" : cases[i].said, found_room ? "" : "\n");
        assert_file(i + 1, "aprun.log", text);
        assert_file(i + 1, "status", found_room ? "0\n" : "3\n");
        assert_true(status.started_ms > 0);
        site_end();
    }
}

static void signals_are_passed_on_to_the_program(void **state)
{
    struct told told;

    begin_launching(RUNNER_THAT_BECOMES_THE_LAUNCHER,
                    "trap 'echo 1 >>got' USR1; trap 'echo 2 >>got' USR2; echo >up; while [ ! -e go ]; do pause;"
                    " done; echo \"" NO_NODES "\" >&2; exit 3");
    submit(four_on_two(), 1);
    SITE_UNTIL(access(site_path("up"), F_OK) == 0);
    for (int sig = SIGUSR1;; sig = SIGUSR2) {
        site_signal(1, sig, &told);
        site_until(&told, 1);
        assert_int_equal(told.answer, ADAPTER_OK);
        TEST_UNTIL(has_words("got", sig == SIGUSR1 ? "1\n" : "2\n"), usleep(2000));
        if (sig == SIGUSR2)
            break;
    }
    assert_true(has_words("got", "1\n2\n"));
    assert_int_equal(site_status(1, NULL).state, ADAPTER_JOB_RUNNING);
    order(site_cancel, 1); /* then it is not tried again */
    site_put("go", "", 0600);
    until(1, ADAPTER_JOB_ENDED);
    assert_int_equal(site_count_asked("aprun"), 1);
}

/* A job that waits for nodes is over as soon as it is told to end. */
static void a_pause_ends_with_the_job(void **state)
{
    begin_launching(RUNNER_THAT_BECOMES_THE_LAUNCHER, "echo \"" NO_NODES "\" >&2; exit 3");
    site_command("sleep", "while [ ! -e go ]; do pause; done");
    submit(four_on_two(), 1);
    SITE_UNTIL(site_count_asked("sleep") == 1);
    order(site_cancel, 1);
    until(1, ADAPTER_JOB_ENDED);
    site_put("go", "", 0600);
    assert_int_equal(site_count_asked("aprun"), 1);
    assert_int_equal(site_count_asked("sleep"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_aprun_launches_is_tried_until_there_are_nodes, open_without_pauses,
                                        close_without_pauses),
        cmocka_unit_test_setup_teardown(merged_output_is_read_as_well, open_without_pauses, close_without_pauses),
        cmocka_unit_test_setup_teardown(what_finds_no_room_is_given_up, open_without_pauses, close_without_pauses),
        cmocka_unit_test_setup_teardown(signals_are_passed_on_to_the_program, site_open, site_close),
        cmocka_unit_test_setup_teardown(a_pause_ends_with_the_job, open_without_pauses, close_without_pauses),
    };

    return SITE_RUN(tests);
}
