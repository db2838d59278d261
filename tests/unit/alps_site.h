/* A site whose aprun is a script. */
#ifndef TESTS_ALPS_SITE_H
#define TESTS_ALPS_SITE_H
#include "common/files.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDED_WELL "echo 'Application 46 resources: utime ~3s, stime ~1s'"
#define TOO_LARGE "apsched: claim exceeds reservation's CPUs"
#define NO_NODES "apsched: claim exceeds reservation's node-count"
/* It is on its nodes, and stays until there is a file "go", or it is told to end. */
#define STAY "for d in st-0-*; do case \"$*\" in *\"$PWD/$d \"*) echo 46 >$d/apid;; esac; done; trap 'echo told >>told; exit 0' TERM;" \
             " while [ ! -e go ]; do pause; done; " ENDED_WELL

static const struct adapter_resources one = {.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1};

static inline void begin(const char *nids, const char *aprun)
{
    json_object_set_new(site.config, "nids", json_string(nids));
    if (json_object_get(site.config, "pause") == NULL)
        json_object_set_new(site.config, "pause", json_string("1ms"));
    site_command("aprun", aprun);
    site_command("apkill", "");
    site_begin(adapter_named("alps"));
}

static inline void submit(struct adapter_job job, int number)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/st-0-%d", site.dir, number);
    assert_int_equal(dir_make(path, &err), 0);
    site_submit_ok(job, number);
}

static inline struct adapter_status until(int number, enum adapter_state state)
{
    struct adapter_status status;

    TEST_UNTIL((status = site_status(number, NULL)).state == state || status.never || status.state == ADAPTER_JOB_ENDED,
               (usleep(2000), uv_run(&site.loop, UV_RUN_NOWAIT)));
    assert_int_equal(status.state, state);
    return status;
}

static inline const char *site_path(const char *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", site.dir, name);
    return path;
}

/* Returns whether the file is there, and has these words. */
static inline bool has_words(const char *name, const char *words)
{
    struct error err;
    char *text;
    size_t size;
    bool has = file_read(site_path(name), 65536, &text, &size, &err) == 0;

    if (has) {
        has = strstr(text, words) != NULL;
        free(text);
    }
    return has;
}

static inline void order(void (*give)(int number, int64_t grace_ms, struct told *told), int number)
{
    struct told told;

    give(number, 60000, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
}

#endif
