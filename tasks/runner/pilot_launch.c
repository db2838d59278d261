/* Starts a pilot on each node of the allocation: by the launcher of the spec, by srun, or by pbsdsh. */
#include "config.h"

#include "tasks/runner/pilot.h"

#include "common/files.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (4 << 20)

extern char **environ;

/* Variables of one node, or of a task there: the first node's values are not passed to the others. */
static const char *const of_nodes[] = {
    "PBS_*", "NCPUS", "TMPDIR", "HOSTNAME", "*_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "_", "PWD", "SHLVL"};

static bool is_pbs(void)
{
    return getenv("PBS_JOBID") != NULL && getenv("SLURM_JOB_ID") == NULL;
}

static bool is_of_node(const char *variable)
{
    char *name = xasprintf("%.*s", (int)strcspn(variable, "="), variable);
    bool is = false;

    for (size_t i = 0; i < sizeof of_nodes / sizeof *of_nodes; i++)
        is = is || fnmatch(of_nodes[i], name, 0) == 0;
    free(name);
    return is;
}

/* Saves the job's environment: pbsdsh, and launchers that use ssh, start programs with the node's environment
 * instead. */
static int leave_environment(const struct node_pilot *p)
{
    char *path = xasprintf("%s/environment", p->dir);
    struct text text = {0};
    struct error err;
    int rc;

    for (char **variable = environ; *variable != NULL; variable++)
        if (!is_of_node(*variable))
            text_put(&text, *variable, strlen(*variable) + 1);
    rc = file_write_whole(path, text.data, text.size, 0600, &err);
    if (rc < 0)
        log_error("%s", err.text);
    free(text.data);
    free(path);
    return rc;
}

int pilot_take_environment(const struct node_pilot *p, struct error *err)
{
    char *path, *text, *value;
    size_t size;
    int rc;

    if (!is_pbs() || p->config.nodes == 1)
        return 0;
    path = xasprintf("%s/environment", p->dir);
    rc = file_read(path, ENVIRONMENT_MAX, &text, &size, err);
    free(path);
    if (rc < 0)
        return -1;
    for (char *at = text; at < text + size; at = value + strlen(value) + 1) {
        value = at + strcspn(at, "=");
        if (*value == '\0')
            continue;
        *value++ = '\0';
        setenv(at, value, 1);
    }
    free(text);
    return 0;
}

/* Writes the words before the pilot's own command, and returns their number; 0: there are none. */
static size_t launcher_choose(const struct node_pilot *p, char **argv)
{
    static const char *const srun[] = {"srun",       "--ntasks-per-node=1", "--cpu-bind=none", "--kill-on-bad-exit=1",
                                       "--mpi=none", "--input=none",        "--quiet",         NULL};
    static const char *const openpbs[] = {"pbsdsh", "--", NULL}, *const torque[] = {"pbsdsh", "-u", "--", NULL};
    const char *const *words = getenv("SLURM_JOB_ID") != NULL ? srun : getenv("PBS_NUM_PPN") != NULL ? torque : openpbs;
    size_t n = 0;
    json_t *word;

    json_array_foreach ((json_t *)p->config.launcher, n, word)
        argv[n] = xstrdup(json_string_value(word) ? json_string_value(word) : "");
    if (n > 0 || (getenv("SLURM_JOB_ID") == NULL && !is_pbs()))
        return n;
    for (; words[n] != NULL; n++)
        argv[n] = xstrdup(words[n]);
    if (words == srun) {
        argv[n++] = xasprintf("--nodes=%lld", (long long)p->config.nodes);
        argv[n++] = xasprintf("--ntasks=%lld", (long long)p->config.nodes);
    }
    return n;
}

int pilot_launch(struct node_pilot *p)
{
    char **argv = xcalloc(json_array_size(p->config.launcher) + 16, sizeof *argv);
    size_t n = launcher_choose(p, argv);
    sigset_t none;

    if (n == 0) {
        log_error("there are %lld nodes, and nothing says how to start programs on them: \"launcher\" in the spec's "
                  "allocation may",
                  (long long)p->config.nodes);
        free(argv);
        return EX_CONFIG;
    }
    if (is_pbs() && leave_environment(p) < 0)
        return EX_IOERR;
    argv[n++] = p->runner;
    argv[n++] = xstrdup("--pilot-node");
    argv[n++] = xstrdup(p->dir);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], argv);
    log_error("%s, which is to start the pilot on %lld nodes: %s", argv[0], (long long)p->config.nodes,
              strerror(errno));
    return EX_OSERR;
}
