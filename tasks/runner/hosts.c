#include "tasks/runner/hosts.h"

#include "common/text.h"
#include "common/xalloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS_MAX 9 /* of a number in the name of a node */

static int hosts_add(struct hosts *hosts, const char *name, size_t len, int64_t slots)
{
    struct host *host;

    if (len == 0 || len > HOSTS_NAME_MAX || hosts->n == HOSTS_MAX)
        return -1;
    if (hosts->n == hosts->room) {
        hosts->room = hosts->room > 0 ? 2 * hosts->room : 4;
        hosts->list = xrealloc(hosts->list, hosts->room, sizeof *hosts->list);
    }
    host = &hosts->list[hosts->n++];
    memcpy(host->name, name, len);
    host->name[len] = '\0';
    host->slots = slots;
    return 0;
}

static int expand_one(struct hosts *hosts, const char *done, const char *rest, size_t len);

/* Adds a name for each number of one range, "7" or "01-03", of a bracket. */
static int expand_range(struct hosts *hosts, const char *done, const char *range, size_t size, const char *after,
                        size_t len)
{
    size_t width = strspn(range, "0123456789"), second = 0;
    char name[HOSTS_NAME_MAX + 1];
    long from, to;

    if (width == 0 || width > DIGITS_MAX || width > size)
        return -1;
    from = to = strtol(range, NULL, 10);
    if (width < size) {
        second = strspn(range + width + 1, "0123456789");
        if (range[width] != '-' || second == 0 || second > DIGITS_MAX || width + 1 + second != size)
            return -1;
        to = strtol(range + width + 1, NULL, 10);
    }
    if (to < from)
        return -1;
    for (long i = from; i <= to; i++) {
        if ((size_t)snprintf(name, sizeof name, "%s%0*ld", done, (int)width, i) >= sizeof name ||
            expand_one(hosts, name, after, len) < 0)
            return -1;
    }
    return 0;
}

/* Adds the names that begin with `done`, and go on as `rest` says, which may have brackets. */
static int expand_one(struct hosts *hosts, const char *done, const char *rest, size_t len)
{
    const char *open = memchr(rest, '[', len), *close, *range;
    char name[HOSTS_NAME_MAX + 1];
    size_t plain = open != NULL ? (size_t)(open - rest) : len;

    if ((size_t)snprintf(name, sizeof name, "%s%.*s", done, (int)plain, rest) >= sizeof name)
        return -1;
    if (open == NULL)
        return hosts_add(hosts, name, strlen(name), 0);
    close = memchr(open, ']', len - plain);
    if (close == NULL)
        return -1;
    for (range = open + 1; range < close; range++) {
        const char *comma = memchr(range, ',', (size_t)(close - range)), *end = comma != NULL ? comma : close;

        if (expand_range(hosts, name, range, (size_t)(end - range), close + 1, len - (size_t)(close + 1 - rest)) < 0)
            return -1;
        range = end;
    }
    return 0;
}

/* Returns the length of the first name of a list, whose brackets may have commas. */
static size_t first_name_length(const char *list)
{
    size_t n = 0;
    bool inside = false;

    for (; list[n] != '\0' && (inside || list[n] != ','); n++)
        inside = list[n] == '[' || (inside && list[n] != ']');
    return n;
}

int hosts_expand(struct hosts *hosts, const char *nodelist)
{
    *hosts = (struct hosts){0};
    for (;;) {
        size_t n = first_name_length(nodelist);

        if (n == 0 || expand_one(hosts, "", nodelist, n) < 0) {
            hosts_fini(hosts);
            return -1;
        }
        if (nodelist[n] == '\0')
            return 0;
        nodelist += n + 1;
    }
}

int hosts_parse(struct hosts *hosts, const char *text)
{
    *hosts = (struct hosts){0};
    for (;;) {
        size_t n = strcspn(text, ","), name = n;
        char *end;
        int64_t slots;

        while (name > 0 && text[name - 1] != ':')
            name--;
        slots = name > 1 ? strtoll(text + name, &end, 10) : 0;
        if (name < 2 || slots <= 0 || end != text + n || hosts_add(hosts, text, name - 1, slots) < 0) {
            hosts_fini(hosts);
            return -1;
        }
        if (text[n] == '\0')
            return 0;
        text += n + 1;
    }
}

char *hosts_text(const struct hosts *hosts, char between)
{
    const char separator[] = {between, '\0'};
    struct text text = {0};

    for (size_t i = 0; i < hosts->n; i++)
        text_add(&text, "%s%s:%" PRId64, i > 0 ? separator : "", hosts->list[i].name, hosts->list[i].slots);
    return text.data;
}

/* Reads how many tasks Slurm has on each node, such as "2(x3),1". Returns how many in all; 0 if it does not say. */
static int64_t slurm_counts(struct hosts *hosts, const char *text)
{
    int64_t sum = 0;
    size_t i = 0;

    while (text != NULL && *text != '\0') {
        char *end;
        long slots = strtol(text, &end, 10), times = 1;

        if (end == text || slots < 1)
            return 0;
        if (strncmp(end, "(x", 2) == 0)
            times = strtol(end + 2, &end, 10);
        end += *end == ')';
        for (; times > 0 && i < hosts->n; times--) {
            hosts->list[i++].slots = slots;
            sum += slots;
        }
        text = end + (*end == ',');
        if (*end != ',' && *end != '\0')
            return 0;
    }
    return i == hosts->n ? sum : 0;
}

/* Reads a file of PBS's or OAR's, a line for each process. Returns how many there are. */
static int64_t read_nodefile(struct hosts *hosts, const char *path)
{
    FILE *f = fopen(path, "re");
    char line[HOSTS_NAME_MAX + 2];
    int64_t sum = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        size_t len = strcspn(line, "\n"), i = 0;

        line[len] = '\0';
        while (i < hosts->n && strcmp(hosts->list[i].name, line) != 0)
            i++;
        if (i == hosts->n && hosts_add(hosts, line, len, 0) < 0)
            continue;
        hosts->list[i].slots++;
        sum++;
    }
    if (f != NULL)
        fclose(f);
    return sum;
}

static void hosts_spread(struct hosts *hosts, int64_t ntasks)
{
    int64_t n = (int64_t)hosts->n;

    for (int64_t i = 0; i < n; i++) {
        int64_t slots = ntasks / n + (i < ntasks % n);

        hosts->list[i].slots = slots > 0 ? slots : 1;
    }
}

int hosts_find(struct hosts *hosts, int64_t nodes, int64_t ntasks, struct error *err)
{
    const char *list = getenv("SLURM_JOB_NODELIST"), *pbs = getenv("PBS_NODEFILE"),
               *file = pbs != NULL ? pbs : getenv("OAR_NODEFILE");
    char name[HOSTS_NAME_MAX + 1] = "localhost";
    int64_t counted = 0;

    *hosts = (struct hosts){0};
    if (nodes == 1) {
        if (getenv("SLURM_JOB_ID") != NULL && getenv("SLURMD_NODENAME") != NULL)
            snprintf(name, sizeof name, "%s", getenv("SLURMD_NODENAME"));
        else
            gethostname(name, sizeof name - 1);
        if (name[0] == '\0')
            snprintf(name, sizeof name, "localhost");
        return hosts_add(hosts, name, strlen(name), ntasks);
    }
    if (list != NULL && hosts_expand(hosts, list) == 0)
        counted = slurm_counts(hosts, getenv("SLURM_TASKS_PER_NODE"));
    else if (file != NULL)
        counted = read_nodefile(hosts, file);
    if ((int64_t)hosts->n != nodes) {
        error_set(err, "cannot_start", "cannot start: it is to have %lld nodes, and the batch system names %zu",
                  (long long)nodes, hosts->n);
        hosts_fini(hosts);
        return -1;
    }
    if (counted != ntasks)
        hosts_spread(hosts, ntasks);
    return 0;
}

void hosts_fini(struct hosts *hosts)
{
    int saved = errno;

    free(hosts->list);
    *hosts = (struct hosts){0};
    errno = saved;
}
