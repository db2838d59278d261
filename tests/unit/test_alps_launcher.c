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

/* ALPS's words are in the file of the standard output then. */
static void merged_output_is_read_as_well(void **state)
{
    begin_launching(RUNNER_THAT_MERGES_OUTPUT, FIRST_TIME "{ echo \"" NO_NODES "\" >&2; exit 3; }; exit 9");
    submit(four_on_two(), 1);
    until(1, ADAPTER_JOB_ENDED);
    assert_int_equal(site_count_asked("aprun"), 2);
    assert_file(1, "status", "9\n");
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
        cmocka_unit_test_setup_teardown(merged_output_is_read_as_well, open_without_pauses, close_without_pauses),
        cmocka_unit_test_setup_teardown(a_pause_ends_with_the_job, open_without_pauses, close_without_pauses),
    };

    return SITE_RUN(tests);
}
