/* The end of an aprun, read from the files of its job: `aprun`, which it wrote before it began (its nodes, and its line
 * of /proc); `apid`, which its application wrote when it began, or else the claim of one of its processes; and
 * `aprun.log`, its output. An aprun that starts the pilots of several nodes has its output in their task's stderr.
 *
 * Aprun tells of an end like this (documented, or seen in users' logs):
 *     Application 96757362 exit codes: 127
 *     Application 23764253 exit signals: Killed
 *     Application 4634293 resources: utime ~3s, stime ~1s, …
 *     [NID 04371] 2015-05-29 22:20:18 Apid 23764253: OOM killer terminated this process.
 *     [NID 00012] … Apid 158515 killed. Received node failed or halted event for nid 12
 *     apsched: claim exceeds reservation's node-count
 * The output of the application itself goes to runner.log instead. */
#include "scheduler-adapters/alps.h"

#include "common/files.h"
#include "common/process.h"
#include "common/xalloc.h"
#include "tasks/proto/claim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAX (1 << 20)

/* The last entry that is found decides: more telling words come later in this list. */
static const struct {
    const char *words;
    struct alps_end end;
} ends[] = {
    {"resources:", {0}}, /* it ended well */
    {"exit codes:", {0}},
    {"exit signals:", {0}},
    {"initiated application termination", {0}},
    {"Exiting due to errors", {0}},
    {"OOM killer", {0}},
    {"node failed or halted", {.node_lost = true}},
    {"Received node event", {.node_lost = true}},
    {"apsched:", {0}},
    {"claim exceeds reservation", {.no_room = true, .too_large = true}},
    {"claim exceeds reservation's node-count", {.no_room = true}},
    {"no more claims allowed", {.no_room = true}},
};

static bool is_file_in_dir(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static char *read_text(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name), *text = NULL;
    struct error err;
    size_t size;

    if (file_read(path, LOG_MAX, &text, &size, &err) < 0)
        text = NULL;
    free(path);
    return text;
}

/* Reads the file `aprun`, "12,13\n4711 (sh) S 1 4711 …": the nodes, then fields 1 and 22 of /proc/PID/stat. */
static void read_begun(const char *dir, struct alps_files *files)
{
    char *text = read_text(dir, "aprun"), *stat, *rest;
    unsigned long long started = 0;
    long pid = 0;

    files->begun = text != NULL;
    stat = text != NULL ? strchr(text, '\n') : NULL;
    rest = stat != NULL ? strrchr(stat, ')') : NULL;
    if (rest != NULL && sscanf(stat, "%ld", &pid) == 1 &&
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &started) ==
            1 &&
        pid > 0 && process_start_time((pid_t)pid) == started)
        files->pid = (pid_t)pid;
    if (stat != NULL)
        files->nids = strndup(text, (size_t)(stat - text));
    free(text);
}

static void read_log(const char *dir, const char *name, struct alps_files *files)
{
    char *text = read_text(dir, name), *rest = NULL;
    size_t best = 0;

    for (char *line = text != NULL ? strtok_r(text, "\n", &rest) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            /* an earlier aprun found no room, and this line is of a later one */
            if (strstr(line, ends[i].words) != NULL && (i >= best || ends[best].end.no_room)) {
                const char *nid = ends[i].end.node_lost ? strstr(line, " nid ") : NULL;

                best = i;
                files->end = ends[i].end;
                files->end.lost_nid = nid != NULL ? atoi(nid + 5) : -1;
                snprintf(files->words, sizeof files->words, "%s", i > 0 ? line : "");
            }
    free(text);
}

static void read_last_words(const char *dir, struct alps_files *files)
{
    char *path = xasprintf("%s/runner.log", dir);

    file_last_line(path, NULL, files->said, sizeof files->said);
    free(path);
    if (strstr(files->said, "] info: ") != NULL || strstr(files->said, "] warning: ") != NULL)
        files->said[0] = '\0';
}

/* The application's number is in the claim if there are many runners, and in a file otherwise. */
static long long read_apid(const char *dir, const struct claim *claim)
{
    char *text = claim->application[0] == '\0' ? read_text(dir, "apid") : NULL;
    long long apid = atoll(claim->application[0] != '\0' ? claim->application : text != NULL ? text : "0");

    free(text);
    return apid;
}

/* Kills the aprun of a runner on this host that was killed: the aprun would keep nodes that nobody else can have. */
static void end_what_is_left(const char *dir, const struct alps_files *files, const struct claim *claim)
{
    const char *name = strrchr(dir, '/');
    char host[sizeof claim->host] = "";

    gethostname(host, sizeof host - 1);
    if (files->begun && files->pid == 0 && files->claimed && !files->ended && claim->application[0] == '\0' &&
        name != NULL && strcmp(claim->host, host) == 0)
        process_signal_marked("STRETTO_JOB", name + 1, SIGKILL);
}

void alps_files_fini(struct alps_files *files)
{
    free(files->nids);
    files->nids = NULL;
}

void alps_files_read(const char *dir, struct alps_files *files)
{
    struct claim claim = {0};
    struct error err;

    *files = (struct alps_files){
        .claimed = is_file_in_dir(dir, "claim.json"), .ended = is_file_in_dir(dir, "ended.json"), .end.lost_nid = -1};
    /* a claim by the daemon, which fences the job, has no runner */
    if (files->claimed && claim_read(dir, &claim, &err) < 0)
        claim = (struct claim){0};
    files->apid = read_apid(dir, &claim);
    read_begun(dir, files);
    read_log(dir, "aprun.log", files);
    if (files->words[0] == '\0')
        read_log(dir, "pilot/stderr", files);
    if (!files->ended)
        read_last_words(dir, files);
    end_what_is_left(dir, files, &claim);
}
