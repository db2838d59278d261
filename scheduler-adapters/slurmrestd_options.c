#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE "resources_impossible"

enum kind { TEXT, NUMBER, MEMORY, YES, EXCLUSIVE, GRES, GPUS };

/* The options of sbatch. The adapter also sets those from the table of resources by it. */
static const struct option {
    const char *name;
    char letter; /* '\0': none */
    enum kind kind;
    const char *key; /* in the API */
} options[] = {
    {"account", 'A', TEXT, "account"},
    {"comment", '\0', TEXT, "comment"},
    {"constraint", 'C', TEXT, "constraints"},
    {"cores-per-socket", '\0', NUMBER, "cores_per_socket"},
    {"cpus-per-task", 'c', NUMBER, "cpus_per_task"},
    {"dependency", 'd', TEXT, "dependency"},
    {"exclusive", '\0', EXCLUSIVE, "exclusive"},
    {"gpus-per-node", '\0', GPUS, NULL},
    {"gres", '\0', GRES, NULL},
    {"hold", 'H', YES, "hold"},
    {"licenses", 'L', TEXT, "licenses"},
    {"mem", '\0', MEMORY, "memory_per_node"},
    {"mem-per-cpu", '\0', MEMORY, "memory_per_cpu"},
    {"nice", '\0', NUMBER, "nice"},
    {"nodes", 'N', TEXT, "nodes"}, /* a string: v0.0.38 takes any list, which it documents, for 1 */
    {"ntasks", 'n', NUMBER, "tasks"},
    {"ntasks-per-node", '\0', NUMBER, "tasks_per_node"},
    {"partition", 'p', TEXT, "partition"},
    {"qos", 'q', TEXT, "qos"},
    {"reservation", '\0', TEXT, "reservation"},
    {"sockets-per-node", '\0', NUMBER, "sockets_per_node"},
    {"threads-per-core", '\0', NUMBER, "threads_per_core"},
    {"wckey", '\0', TEXT, "wckey"},
};

static const size_t n_options = sizeof options / sizeof *options;

static int refuse_unknown(const char *place, const char *word, struct error *err)
{
    char known[400];
    size_t n = 0;

    for (size_t i = 0; i < n_options && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i > 0 ? ", " : "", options[i].name);
    return error_at(err, CODE, place,
                    "slurmrestd has no counterpart of the option \"%.60s\"; there are, of sbatch's: %s", word, known);
}

/* Finds the option, with its value if the word has one: "--name=value", "-xvalue". */
static const struct option *find_rest_option(const char *word, const char **value)
{
    const char *equals = strchr(word, '=');
    size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word);

    *value = NULL;
    for (size_t i = 0; i < n_options; i++) {
        const struct option *option = &options[i];

        if (strncmp(word, "--", 2) == 0 && strlen(option->name) == n - 2 &&
            strncmp(word + 2, option->name, n - 2) == 0) {
            *value = equals != NULL ? equals + 1 : NULL;
            return option;
        }
        if (word[0] == '-' && option->letter != '\0' && word[1] == option->letter) {
            *value = word[2] != '\0' ? word + 2 : NULL;
            return option;
        }
    }
    return NULL;
}

json_t *slurmrestd_make_number(int version, int64_t number)
{
    return version < SLURMRESTD_OBJECTS
               ? json_integer(number)
               : json_pack("{s:b, s:b, s:I}", "set", 1, "infinite", 0, "number", (json_int_t)number);
}

json_t *slurmrestd_make_flag(int version, const char *old, const char *word)
{
    return version < SLURMRESTD_OBJECTS ? json_string(old) : json_pack("[s]", word);
}

/* Sets generic resources from a list such as "gpu:2,tmp:1". */
static void set_gres(json_t *job, int version, const char *list)
{
    char *copy = xstrdup(list), *rest = NULL, *all = xstrdup(""), *longer;

    if (version < SLURMRESTD_OBJECTS)
        json_object_set_new(job, "gres", json_string(list));
    for (char *one = strtok_r(copy, ",", &rest); one != NULL && version >= SLURMRESTD_OBJECTS;
         one = strtok_r(NULL, ",", &rest)) {
        longer =
            xasprintf("%s%sgres%s%s", all, all[0] != '\0' ? "," : "", version == SLURMRESTD_OBJECTS ? ":" : "/", one);
        free(all);
        all = longer;
    }
    if (version >= SLURMRESTD_OBJECTS)
        json_object_set_new(job, "tres_per_node", json_string(all));
    free(copy);
    free(all);
}

static void set_gpu_gres(json_t *job, int version, const char *what)
{
    char *gres = xasprintf("gpu:%s", what);

    set_gres(job, version, gres);
    free(gres);
}

/* Reads "2G" as mebibytes, like sbatch; -1: it is no size. */
static int64_t mebibytes(const char *value)
{
    char *unit;
    long long n = strtoll(value, &unit, 10);

    if (unit == value || n < 0 || n > 1 << 30 || (unit[0] != '\0' && unit[1] != '\0'))
        return -1;
    switch (unit[0]) {
    case 'K':
    case 'k': return (n + 1023) / 1024;
    case '\0':
    case 'M':
    case 'm': return n;
    case 'G':
    case 'g': return n * 1024;
    case 'T':
    case 't': return n * 1024 * 1024;
    default: return -1;
    }
}

static int set_option(json_t *job, int version, const struct option *option, const char *value, const char *place,
                      struct error *err)
{
    char *end;
    long long number = option->kind == NUMBER   ? strtoll(value, &end, 10)
                       : option->kind == MEMORY ? mebibytes(value)
                                                : 0;

    if ((option->kind == NUMBER && (*end != '\0' || end == value)) || (option->kind == MEMORY && number < 0))
        return error_at(err, CODE, place, "\"%.60s\" is no value of --%s", value, option->name);
    if (job == NULL)
        return 0;
    switch (option->kind) {
    case TEXT: json_object_set_new(job, option->key, json_string(value)); break;
    case NUMBER: json_object_set_new(job, option->key, json_integer(number)); break;
    case MEMORY: json_object_set_new(job, option->key, slurmrestd_make_number(version, number)); break;
    case YES: json_object_set_new(job, option->key, json_true()); break;
    case EXCLUSIVE:
        json_object_set_new(job, option->key,
                            value[0] != '\0' ? slurmrestd_make_flag(version, value, value)
                                             : slurmrestd_make_flag(version, "exclusive", "true"));
        break;
    case GRES: set_gres(job, version, value); break;
    case GPUS: set_gpu_gres(job, version, value); break;
    }
    return 0;
}

int slurmrestd_set_option(json_t *job, int version, const char *word, struct error *err)
{
    const char *value;
    const struct option *option = find_rest_option(word, &value);

    return set_option(job, version, option, value != NULL ? value : "", "", err);
}

int slurmrestd_options(const json_t *extra, const char *at, int version, json_t *job, struct error *err)
{
    size_t n = json_array_size(extra);

    if (options_check(&slurm_options, extra, at, CODE, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(extra, i)), *value;
        const struct option *option = find_rest_option(word, &value);
        char place[200];

        snprintf(place, sizeof place, "%.150s/%zu", at, i);
        if (option == NULL)
            return refuse_unknown(place, word, err);
        if (value == NULL && option->kind != YES && option->kind != EXCLUSIVE) {
            value = json_string_value(json_array_get(extra, ++i));
            if (value == NULL)
                return error_at(err, CODE, place, "\"%.60s\" wants a value", word);
        }
        if (set_option(job, version, option, value != NULL ? value : "", place, err) < 0)
            return -1;
    }
    return 0;
}
