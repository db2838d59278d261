#include "tests/unit/starter_rig.h"

#include "tests/unit/adapter_named.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct harness rig;
static char line[256];

const struct adapter_ops *rig_ops(void)
{
    return adapter_named("local");
}

size_t rig_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    f = fopen(path, "re");
    if (f != NULL) {
        n = fread(text, 1, size - 1, f);
        fclose(f);
    }
    text[n] = '\0';
    return n;
}

int rig_descriptors(pid_t pid)
{
    char path[64];
    DIR *list;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    list = opendir(path);
    assert_non_null(list);
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

pid_t rig_child(const char *name)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;

    while (found == 0 && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        char stat[512], state;
        int parent;

        if (pid == 0 || rig_proc(pid, "stat", stat, sizeof stat) == 0)
            continue;
        if (sscanf(strrchr(stat, ')') + 1, " %c %d", &state, &parent) == 2 && parent == getpid() && state != 'Z' &&
            strncmp(strchr(stat, '(') + 1, name, strlen(name)) == 0)
            found = pid;
    }
    closedir(proc);
    return found;
}

pid_t rig_begin(struct harness_job *job, char **text)
{
    *text = harness_by_jobfd(&rig, job, REPORT_AND_WAIT);
    harness_submit_ok(&rig, job);
    harness_line(&rig, line, sizeof line);
    return harness_runner(job);
}

void rig_expect_success(struct harness_job *job, char *text)
{
    json_t *records;

    assert_false(harness_wait_ended(&rig, job).node_lost);
    records = harness_records(&rig, job);
    assert_int_equal(json_array_size(records), 1);
    json_decref(records);
    assert_null(harness_records(&rig, job));
    assert_int_equal(harness_exit(job).end.outcome, ATTEMPT_SUCCEEDED);
    free(text);
}

int rig_open_with(const char *config)
{
    int64_t until = test_clock_s() + test_wait_s();
    char *text, proc[65536], go[128];
    struct harness_job job;
    size_t n;

    harness_open(&rig, rig_ops(), config);
    snprintf(go, sizeof go, "%s/go", rig.dir);
    do {
        n = rig_proc(rig_begin(&job, &text), "cmdline", proc, sizeof proc);
        harness_let_go(&rig);
        rig_expect_success(&job, text);
        unlink(go);
        if (test_clock_s() > until) {
            test_waited_in_vain = true;
            fail_msg("there is no starter");
        }
    } while (n < A_COPY);
    return 0;
}

bool rig_holds(const char *text, size_t size, const char *string)
{
    for (const char *s = text; s < text + size; s += strlen(s) + 1)
        if (strcmp(s, string) == 0)
            return true;
    return false;
}
