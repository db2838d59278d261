/* The machine's resources for jobs: as configured, or else as far as the daemon itself may use them. */
#include "scheduler-adapters/local.h"

#include "common/jsonx.h"
#include "common/units.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS_MAX 1024
#define STOPPED_MS 300000

/* One CPU still counts as two slots, since a training holds a slot while its members need another. */
static int64_t default_slots(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);

    return n > 2 ? n : 2;
}

/* Returns the number in a file, or INT64_MAX if there is none. */
static int64_t read_limit(const char *path)
{
    long long limit;
    FILE *f = fopen(path, "re");
    int n;

    if (f == NULL)
        return INT64_MAX;
    n = fscanf(f, "%lld", &limit); /* fails on "max" */
    fclose(f);
    return n == 1 && limit > 0 ? limit : INT64_MAX;
}

/* Returns the least limit of a control group and of those above it. */
static int64_t group_limit(const char *root, char *group, const char *file)
{
    int64_t least = INT64_MAX;

    for (;;) {
        char *path = xasprintf("%s%s/%s", root, group, file), *slash = strrchr(group, '/');
        int64_t limit = read_limit(path);

        free(path);
        least = limit < least ? limit : least;
        if (slash == NULL)
            return least;
        *slash = '\0';
    }
}

int64_t local_machine_memory(const char *root)
{
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    char *groups = xasprintf("%s/proc/self/cgroup", root), *second = xasprintf("%s/sys/fs/cgroup", root);
    char *first = xasprintf("%s/memory", second), line[4096], *names, *group;
    FILE *f = fopen(groups, "re");

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        names = strchr(line, ':');
        group = names ? strchr(names + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        if (names[1] == '\0')
            limit = group_limit(second, group, "memory.max");
        else if (strstr(names + 1, "memory") != NULL)
            limit = group_limit(first, group, "memory.limit_in_bytes");
        else
            continue;
        memory = limit < memory ? limit : memory;
    }
    if (f != NULL)
        fclose(f);
    free(groups);
    free(second);
    free(first);
    return memory;
}

static void add_gpu(struct adapter *a, const char *id, size_t size)
{
    a->gpus = xrealloc(a->gpus, (size_t)a->have.gpus + 1, sizeof *a->gpus);
    a->gpus[a->have.gpus++] = (struct local_gpu){.id = xasprintf("%.*s", (int)size, id)};
}

/* Adds the GPUs of CUDA_VISIBLE_DEVICES, which the daemon itself may use. Like CUDA, it stops at the first entry that
 * names no GPU. */
static void add_visible(struct adapter *a, const char *visible)
{
    for (const char *id = visible; *id; id += strcspn(id, ","), id += *id == ',') {
        size_t size = strcspn(id, ",");

        if (size == 0 || id[0] == '-')
            return;
        add_gpu(a, id, size);
    }
}

/* Adds /dev/nvidia0, /dev/nvidia1, … */
static void add_devices(struct adapter *a)
{
    char id[16];

    for (int i = 0; i < GPUS_MAX; i++) {
        char path[32];

        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        if (access(path, F_OK) < 0)
            return;
        snprintf(id, sizeof id, "%d", i);
        add_gpu(a, id, strlen(id));
    }
}

static int add_listed(struct adapter *a, const json_t *list, struct error *err)
{
    const json_t *item;
    size_t i;

    json_array_foreach (list, i, item) {
        const char *id = json_string_value(item);
        char place[32], number[24];

        snprintf(place, sizeof place, "/gpus/%zu", i);
        if (json_is_integer(item) && json_integer_value(item) >= 0) {
            snprintf(number, sizeof number, "%lld", (long long)json_integer_value(item));
            id = number;
        }
        if (id == NULL || id[0] == '\0' || strlen(id) > 63 || id[strcspn(id, ", \t\n")] != '\0')
            return error_at(err, "config_value", place,
                            "a GPU is named by a number, or by an id such as \"GPU-8932f937\"");
        for (int64_t k = 0; k < a->have.gpus; k++)
            if (strcmp(a->gpus[k].id, id) == 0)
                return error_at(err, "config_value", place, "the GPU \"%s\" is named twice", id);
        if (a->have.gpus == GPUS_MAX)
            return error_at(err, "config_value", place, "more than %d GPUs", GPUS_MAX);
        add_gpu(a, id, strlen(id));
    }
    return 0;
}

static int read_gpus(struct adapter *a, const json_t *config, struct error *err)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const json_t *gpus = json_object_get(config, "gpus");
    int64_t n = -1;

    if (json_is_array(gpus))
        return add_listed(a, gpus, err);
    if (jsonx_int(config, "", "gpus", JSONX_OPTIONAL, 0, GPUS_MAX, &n, err) < 0)
        return -1;
    if (n == 0)
        return 0;
    if (visible != NULL)
        add_visible(a, visible);
    else if (n < 0)
        add_devices(a);
    if (visible != NULL && n > a->have.gpus)
        return error_at(err, "config_value", "/gpus", "%lld GPUs, and the daemon's CUDA_VISIBLE_DEVICES names %lld",
                        (long long)n, (long long)a->have.gpus);
    while (n >= 0 && a->have.gpus > n)
        free(a->gpus[--a->have.gpus].id);
    while (a->have.gpus < n) {
        char id[16];

        snprintf(id, sizeof id, "%d", (int)a->have.gpus);
        add_gpu(a, id, strlen(id));
    }
    return 0;
}

int local_machine(struct adapter *a, const json_t *config, struct error *err)
{
    static const char *const known[] = {"slots", "gpus", "memory", "stopped", NULL};
    size_t size = 0;

    a->have.slots = default_slots();
    a->stopped_ms = STOPPED_MS;
    a->have.memory = local_machine_memory("");
    if (config != NULL && (jsonx_int(config, "", "slots", JSONX_OPTIONAL, 1, 1000000, &a->have.slots, err) < 0 ||
                           jsonx_size(config, "", "memory", JSONX_OPTIONAL, &a->have.memory, err) < 0 ||
                           jsonx_duration(config, "", "stopped", JSONX_OPTIONAL, 1000, &a->stopped_ms, err) < 0 ||
                           jsonx_only(config, "", known, err) < 0))
        return -1;
    if (read_gpus(a, config, err) < 0)
        return -1;
    for (int64_t i = 0; i < a->have.gpus; i++)
        size += strlen(a->gpus[i].id) + 1;
    if (size > sizeof((struct claim *)0)->gpus)
        return error_at(err, "config_value", "/gpus", "the ids of all GPUs are longer than %zu bytes together",
                        sizeof((struct claim *)0)->gpus - 1);
    return 0;
}
