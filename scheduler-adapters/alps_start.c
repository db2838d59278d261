/* The start of an aprun. */
#include "scheduler-adapters/alps.h"

#include "common/timefmt.h"
#include "scheduler-adapters/words.h"

#include <stdio.h>
#include <string.h>

#define PILOT_TRIES 4    /* further tries may fail on other nodes */
#define PROGRAM_TRIES 12 /* with pauses that begin with a second, this takes eight minutes */

/* The job writes its nodes and its line of /proc down before it becomes an aprun, so that the next daemon knows of
 * every aprun. */
static const char script[] =
    "read -r stat <\"/proc/$$/stat\" && printf '%s\\n%s\\n' \"$2\" \"$stat\" >\"$1/aprun.new\" && "
    "mv \"$1/aprun.new\" \"$1/aprun\" || exit 111\n"
    "exec >\"$1/aprun.log\" 2>&1 </dev/null\n"
    "shift 2\n"
    "exec \"$@\"\n";
/* These two run on the compute node. Until the runner has set its signals up, the ones that are meant for it must not
 * kill it. */
static const char one[] = "trap '' USR1 USR2\n"
                          "echo \"$ALPS_APP_ID\" >\"$1/apid\"\n"
                          "exec \"$2\" \"$1\" >>\"$1/runner.log\" 2>&1\n";
static const char ranks[] = "trap '' USR1 USR2\n"
                            "exec \"$2\" --rank \"$1\" >>\"$1/runner.log\" 2>&1\n";
/* This one runs on the service node. */
static const char launches[] = "log=\"$1/runner.log\"\n"
                               "shift\n"
                               "exec \"$@\" >>\"$log\" 2>&1\n";
/* The runner launches a member by this script. It runs aprun, and again after a pause if ALPS does not have the nodes
 * yet, since ALPS may need a while to see that nodes are free. It tries a limited number of times, and fewer if nodes
 * are not what is lacking. Then the program has failed with ALPS's words, which are copied to aprun.log for the daemon.
 *
 * The script runs in the member's directory. Its standard error goes there, to a file of its own or to the standard
 * output's, and it reads the last aprun's words there. Signals for the program are passed on. */
static const char launcher[] =
    "pause=$1 tries=$2 other=$3 log=$4 stop= child= out=stderr; shift 4\n"
    "[ -e stderr ] || out=stdout\n"
    "trap 'kill -s USR1 $child' USR1; trap 'kill -s USR2 $child' USR2; trap stop=1 TERM INT HUP\n"
    "while :; do\n"
    "size=$(wc -c <$out)\n"
    "\"$@\" & child=$!\n"
    "wait $child; status=$?\n"
    "while [ $status -gt 128 ] && kill -0 $child 2>/dev/null; do wait $child; status=$?; done\n"
    "[ $status -ne 0 ] && [ -z \"$stop\" ] || exit $status\n"
    "said=$(tail -c +$((size + 1)) $out | tail -n 1)\n"
    "case $said in\n"
    "*'apsched: claim exceeds'*node-count*|*'apsched: no more claims'*) ;;\n"
    "*'apsched: claim exceeds'*) : $((other -= 1)) ;;\n"
    "*) exit $status ;;\n"
    "esac\n"
    "if [ $((tries -= 1)) -le 0 ] || [ $other -le 0 ]; then printf '%s\\n' \"$said\" >>\"$log\"; exit $status; fi\n"
    "sleep \"$pause\" & child=$!\n"
    "wait $child\n"
    "[ -z \"$stop\" ] || exit $status\n"
    "pause=$((pause < 30 ? 2 * pause : 60))\n"
    "done\n";

static bool is_given(const struct alps_job *job, const char *option)
{
    const json_t *lists[] = {job->a->extra, job->extra}, *item;
    size_t i;

    for (int l = 0; l < 2; l++)
        json_array_foreach ((json_t *)lists[l], i, item)
            if (strncmp(json_string_value(item), option, strlen(option)) == 0) /* or "-d4" */
                return true;
    return false;
}

/* Leaves out options that the user has given, since aprun refuses an option that is given twice. */
static void add_options(struct words *words, const struct alps_job *job)
{
    words_add_all(words, job->a->extra);
    words_add_all(words, job->extra);
    if (job->shape.kind != ALPS_LAUNCHES) { /* for launches the runner adds it */
        words_add(words, "-n");
        words_add(words, "%lld", (long long)job->shape.n);
    }
    words_add(words, "-N");
    words_add(words, "%lld", (long long)job->shape.each);
    words_add(words, "-L");
    words_add(words, "%s", job->nids);
    if (job->shape.depth > 0 && !is_given(job, "-d")) {
        words_add(words, "-d");
        words_add(words, "%lld", (long long)job->shape.depth);
    }
    if (!is_given(job, "-cc")) {
        words_add(words, "-cc");
        words_add(words, job->shape.depth > 0 ? "depth" : "none");
    }
    if (job->shape.mib > 0 && !is_given(job, "-m")) {
        words_add(words, "-m");
        words_add(words, "%lldm", (long long)job->shape.mib);
    }
}

/* Adds a runner on the service node, with a launcher that consists of the words from `launch`. */
static void add_runner(struct words *words, const struct alps_job *job)
{
    const struct adapter *a = job->a;
    struct words launch = {0};

    words_add(&launch, "/bin/sh");
    words_add(&launch, "-c");
    words_add(&launch, "%s", launcher);
    words_add(&launch, "stretto-aprun");
    words_add(&launch, "%lld", (long long)(a->pause_ms + 999) / 1000);
    words_add(&launch, "%d", job->shape.pilots ? PILOT_TRIES : PROGRAM_TRIES);
    words_add(&launch, "%d", ALPS_TRIES);
    words_add(&launch, "%s/aprun.log", job->dir);
    words_add(&launch, "%s", a->aprun);
    add_options(&launch, job);
    words_add(words, "/bin/sh");
    words_add(words, "-c");
    words_add(words, "%s", launches);
    words_add(words, "stretto-alps");
    words_add(words, "%s", job->dir);
    words_add(words, "%s", a->host.runner);
    for (size_t i = 0; i < launch.n; i++)
        words_add(words, "--launch=%s", launch.word[i]);
    words_add(words, "%s", job->dir);
    words_fini(&launch);
}

static void build_aprun(struct words *words, const struct alps_job *job)
{
    const struct adapter *a = job->a;

    words_add(words, "/bin/sh");
    words_add(words, "-c");
    words_add(words, "%s", script);
    words_add(words, "stretto-alps");
    words_add(words, "%s", job->dir);
    words_add(words, "%s", job->nids);
    if (job->shape.kind == ALPS_LAUNCHES) {
        add_runner(words, job);
        return;
    }
    words_add(words, "%s", a->aprun);
    add_options(words, job);
    words_add(words, "/bin/sh");
    words_add(words, "-c");
    words_add(words, "%s", job->shape.kind == ALPS_RANKS ? ranks : one);
    words_add(words, "stretto-alps");
    words_add(words, "%s", job->dir);
    words_add(words, "%s", a->host.runner);
}

bool alps_start(struct alps_job *job)
{
    struct adapter *a = job->a;
    uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    uv_process_options_t options = {.exit_cb = alps_exited,
                                    .file = "/bin/sh",
                                    .env = a->env,
                                    .cwd = "/",
                                    .stdio_count = 3,
                                    .stdio = stdio,
                                    .flags = UV_PROCESS_DETACHED};
    struct words words = {0};
    int rc;

    build_aprun(&words, job);
    options.args = words.word;
    job->process.data = job;
    rc = uv_spawn(a->host.loop, &job->process, &options);
    words_fini(&words);
    alps_busy(a);
    job->watched = true;
    if (rc < 0) { /* perhaps no process can be created now: it is tried again later */
        uv_close((uv_handle_t *)&job->process, alps_let_go);
        snprintf(job->reason, sizeof job->reason, "aprun: %s", uv_strerror(rc));
        return false;
    }
    job->pid = job->process.pid;
    job->state = ALPS_RUNS;
    job->started_ms = time_now_ms();
    return true;
}
