/* The start of an aprun. */
#include "common/timefmt.h"
#include "scheduler-adapters/alps.h"
#include "scheduler-adapters/words.h"

#include <stdio.h>
#include <string.h>

/* What it is is written down before it becomes an aprun, so that there is none of which the next daemon does not know. */
static const char script[] = "read -r stat <\"/proc/$$/stat\" && printf '%s\\n%s\\n' \"$2\" \"$stat\" >\"$1/aprun.new\" && "
                             "mv \"$1/aprun.new\" \"$1/aprun\" || exit 111\n"
                             "exec >\"$1/aprun.log\" 2>&1 </dev/null\n"
                             "shift 2\n"
                             "exec \"$@\"\n";
/* On the compute node. Until the runner has set its signals up, those that are meant for it must not kill it. */
static const char application[] = "trap '' USR1 USR2\n"
                                  "echo \"$ALPS_APP_ID\" >\"$1/apid\"\n"
                                  "exec \"$2\" \"$1\" >>\"$1/runner.log\" 2>&1\n";

static bool is_given(const struct alps_job *job, const char *option)
{
    const json_t *lists[] = {job->a->extra, job->extra}, *item;
    size_t i;

    for (int l = 0; l < 2; l++)
        json_array_foreach ((json_t *)lists[l], i, item)
            if (strcmp(json_string_value(item), option) == 0)
                return true;
    return false;
}

/* One process, with all the CPUs that its tasks want; it starts them. An option that is given twice is an error. */
static void build(struct words *words, const struct alps_job *job)
{
    const struct adapter *a = job->a;
    long long cpus = (long long)job->want.copies * job->want.tasks * job->want.cpus_per_task;
    long long mib = (long long)((job->want.memory + (1 << 20) - 1) >> 20) * job->want.copies;

    words_add(words, "/bin/sh");
    words_add(words, "-c");
    words_add(words, "%s", script);
    words_add(words, "stretto-alps");
    words_add(words, "%s", job->dir);
    words_add(words, "%d", job->nid);
    words_add(words, "%s", a->aprun);
    words_add_all(words, a->extra);
    words_add_all(words, job->extra);
    words_add(words, "-n");
    words_add(words, "1");
    words_add(words, "-N");
    words_add(words, "1");
    words_add(words, "-L");
    words_add(words, "%d", job->nid);
    if (!is_given(job, "-d")) {
        words_add(words, "-d");
        words_add(words, "%lld", cpus);
    }
    if (!is_given(job, "-cc")) {
        words_add(words, "-cc");
        words_add(words, "depth");
    }
    if (mib > 0 && !is_given(job, "-m")) {
        words_add(words, "-m");
        words_add(words, "%lldm", mib);
    }
    words_add(words, "/bin/sh");
    words_add(words, "-c");
    words_add(words, "%s", application);
    words_add(words, "stretto-alps");
    words_add(words, "%s", job->dir);
    words_add(words, "%s", a->host.runner);
}

void alps_start(struct alps_job *job, struct alps_node *node)
{
    struct adapter *a = job->a;
    uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    uv_process_options_t options = {.exit_cb = alps_exited, .file = "/bin/sh", .env = a->env, .cwd = "/", .stdio_count = 3, .stdio = stdio,
                                    .flags = UV_PROCESS_DETACHED};
    struct words words = {0};
    int rc;

    job->nid = node->nid;
    build(&words, job);
    options.args = words.word;
    job->process.data = job;
    rc = uv_spawn(a->host.loop, &job->process, &options);
    words_fini(&words);
    alps_busy(a);
    job->watched = true;
    if (rc < 0) { /* no room for a process: later, maybe */
        uv_close((uv_handle_t *)&job->process, alps_let_go);
        snprintf(job->reason, sizeof job->reason, "aprun: %s", uv_strerror(rc));
        return;
    }
    job->pid = job->process.pid;
    job->state = ALPS_RUNS;
    job->started_ms = time_now_ms();
    job->node = node;
    node->job = job;
}
