/* What the files of a job tell of its aprun: `aprun`, which it wrote before it began (the node, and what /proc said of it), `apid`,
 * which its application wrote when it began, and `aprun.log`, what it printed.
 *
 * How aprun tells of an end (documented; seen in users' logs):
 *     Application 96757362 exit codes: 127
 *     Application 23764253 exit signals: Killed
 *     Application 4634293 resources: utime ~3s, stime ~1s, …
 *     [NID 04371] 2015-05-29 22:20:18 Apid 23764253: OOM killer terminated this process.
 *     [NID 00012] … Apid 158515 killed. Received node failed or halted event for nid 12
 *     apsched: claim exceeds reservation's node-count
 * What the application itself prints is not among it: that goes to runner.log. */
#include "common/files.h"
#include "common/process.h"
#include "common/xalloc.h"
#include "scheduler-adapters/alps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAX (1 << 20)

/* The last one found says it: the more telling come later. */
static const struct {
    const char *words;
    bool node_lost, no_room;
} ends[] = {
    {"resources:", false, false}, /* it ended well */
    {"exit codes:", false, false},
    {"exit signals:", false, false},
    {"initiated application termination", false, false},
    {"Exiting due to errors", false, false},
    {"OOM killer", false, false},
    {"node failed or halted", true, false},
    {"Received node event", true, false},
    {"apsched:", false, false},
    {"claim exceeds reservation", false, true},
    {"no more claims allowed", false, true},
};

static bool is_there(const char *dir, const char *name)
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

/* "12\n4711 (sh) S 1 4711 …": the node, and field 1 and 22 of /proc/PID/stat. */
static void read_begun(const char *dir, struct alps_files *files)
{
    char *text = read_text(dir, "aprun"), *stat, *rest;
    unsigned long long started = 0;
    long pid = 0;

    files->begun = text != NULL;
    stat = text != NULL ? strchr(text, '\n') : NULL;
    rest = stat != NULL ? strrchr(stat, ')') : NULL;
    if (rest != NULL && sscanf(text, "%d\n%ld", &files->nid, &pid) == 2 &&
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &started) == 1 && pid > 0 &&
        process_start_time((pid_t)pid) == started)
        files->pid = (pid_t)pid;
    free(text);
}

static void read_log(const char *dir, struct alps_files *files)
{
    char *text = read_text(dir, "aprun.log"), *rest = NULL;
    size_t best = 0;

    for (char *line = text != NULL ? strtok_r(text, "\n", &rest) : NULL; line != NULL; line = strtok_r(NULL, "\n", &rest))
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            if (strstr(line, ends[i].words) != NULL && (i >= best || ends[best].no_room)) { /* that was an earlier aprun */
                best = i;
                files->node_lost = ends[i].node_lost;
                files->no_room = ends[i].no_room;
                snprintf(files->words, sizeof files->words, "%s", i > 0 ? line : "");
            }
    free(text);
}

static void read_last_words(const char *dir, struct alps_files *files)
{
    char *path = xasprintf("%s/runner.log", dir);

    file_last_line(path, files->said, sizeof files->said);
    free(path);
    if (strstr(files->said, "] info: ") != NULL || strstr(files->said, "] warning: ") != NULL)
        files->said[0] = '\0';
}

void alps_files_read(const char *dir, struct alps_files *files)
{
    char *apid = read_text(dir, "apid");

    *files = (struct alps_files){.claimed = is_there(dir, "claim.json"), .ended = is_there(dir, "ended.json")};
    files->apid = apid != NULL ? atoll(apid) : 0;
    free(apid);
    read_begun(dir, files);
    read_log(dir, files);
    if (!files->ended)
        read_last_words(dir, files);
}
