#include "scheduler-adapters/resources.h"

#include "common/xalloc.h"
#include "scheduler-adapters/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct adapter_resources, field)

/* clang-format off */
const struct resource resource_table[RESOURCES_MAX + 1] = {
    /* key, kind, field, least, most, otherwise, amount, options of Slurm, OpenPBS and Torque */
    {"nodes", RESOURCE_NUMBER, AT(nodes), 1, 1000000, 1, NULL, {"--nodes=#"}},
    {"tasks", RESOURCE_NUMBER, AT(tasks), 1, 100000, 1, batch_tasks, {"--ntasks=#"}},
    {"cpus_per_task", RESOURCE_NUMBER, AT(cpus_per_task), 1, 10000, 1, NULL, {"--cpus-per-task=#"}},
    {"gpus", RESOURCE_NUMBER, AT(gpus), 0, 10000, 0, batch_gpus, {"--gres=gpu:#", ":ngpus=#", ":gpus=#"}},
    {"memory", RESOURCE_SIZE, AT(memory), 0, INT64_MAX, 0, batch_mebibytes, {"--mem=#M", ":mem=#mb"}},
    {"walltime", RESOURCE_DURATION, AT(walltime_ms), 1000, INT64_MAX, 0, NULL, {NULL}},
    {"exclusive", RESOURCE_FLAG, AT(whole_nodes), 0, 1, 0, NULL, {"--exclusive", NULL, "-n"}},
    {"queue", RESOURCE_NAME, AT(queue), 0, 0, 0, NULL, {"--partition=#", "-q #", "-q #"}},
    {"account", RESOURCE_NAME, AT(account), 0, 0, 0, NULL, {"--account=#", "-A #", "-A #"}},
    {"launcher", RESOURCE_PROGRAM, AT(launcher), 0, 0, 0, NULL, {NULL}},
    {"extra", RESOURCE_WORDS, AT(extra), 0, 0, 0, NULL, {NULL}},
    {"tmpdir", RESOURCE_FLAG, AT(tmpdir), 0, 1, 0, NULL, {NULL}},
    {0},
};
/* clang-format on */

const struct resource *resource_find(const char *key)
{
    for (const struct resource *r = resource_table; r->key != NULL; r++)
        if (strcmp(r->key, key) == 0)
            return r;
    return NULL;
}

bool resource_may_vary(const struct resource *resource)
{
    return resource->kind <= RESOURCE_DURATION;
}

int64_t resource_get(const struct adapter_resources *r, const struct resource *resource)
{
    const void *at = (const char *)r + resource->offset;

    switch (resource->kind) {
    case RESOURCE_NUMBER: return *(const int *)at;
    case RESOURCE_SIZE:
    case RESOURCE_DURATION: return *(const int64_t *)at;
    case RESOURCE_FLAG: return *(const bool *)at;
    default: return 0;
    }
}

void resource_set(struct adapter_resources *r, const struct resource *resource, int64_t value)
{
    void *at = (char *)r + resource->offset;

    switch (resource->kind) {
    case RESOURCE_NUMBER: *(int *)at = (int)value; break;
    case RESOURCE_SIZE:
    case RESOURCE_DURATION: *(int64_t *)at = value; break;
    case RESOURCE_FLAG: *(bool *)at = value != 0; break;
    default: break;
    }
}

const char **resource_name(struct adapter_resources *r, const struct resource *resource)
{
    return (const char **)(void *)((char *)r + resource->offset);
}

const json_t **resource_words(struct adapter_resources *r, const struct resource *resource)
{
    return (const json_t **)(void *)((char *)r + resource->offset);
}

static const char *name_if_any(const struct adapter_resources *r, const struct resource *resource)
{
    return resource->kind == RESOURCE_NAME ? *resource_name((struct adapter_resources *)r, resource) : NULL;
}

static const json_t *words_of_resource(const struct adapter_resources *r, const struct resource *resource)
{
    return resource->kind == RESOURCE_WORDS ? *resource_words((struct adapter_resources *)r, resource) : NULL;
}

void resources_init(struct adapter_resources *r)
{
    *r = (struct adapter_resources){.copies = 1};
    for (const struct resource *one = resource_table; one->key != NULL; one++)
        resource_set(r, one, one->otherwise);
}

static bool are_same_names(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static bool are_same_words(const json_t *x, const json_t *y)
{
    return x == y || json_equal(x, y);
}

bool resources_are_equal(const struct adapter_resources *a, const struct adapter_resources *b)
{
    for (const struct resource *r = resource_table; r->key != NULL; r++)
        if (resource_get(a, r) != resource_get(b, r) || !are_same_names(name_if_any(a, r), name_if_any(b, r)) ||
            !are_same_words(words_of_resource(a, r), words_of_resource(b, r)))
            return false;
    return a->copies == b->copies;
}

void resources_keep(struct adapter_resources *r)
{
    r->launcher = NULL;
    r->launch = NULL;
    for (const struct resource *one = resource_table; one->key != NULL; one++) {
        if (name_if_any(r, one) != NULL)
            *resource_name(r, one) = xstrdup(name_if_any(r, one));
        if (words_of_resource(r, one) != NULL)
            *resource_words(r, one) = json_deep_copy(words_of_resource(r, one));
    }
}

void resources_release(struct adapter_resources *r)
{
    for (const struct resource *one = resource_table; one->key != NULL; one++) {
        free((char *)name_if_any(r, one));
        json_decref((json_t *)words_of_resource(r, one));
    }
}

json_t *resources_json(const struct adapter_resources *r)
{
    json_t *json = json_object();

    for (const struct resource *one = resource_table; one->key != NULL; one++) {
        switch (one->kind) {
        case RESOURCE_NAME: json_object_set_new(json, one->key, json_string(name_if_any(r, one))); break;
        case RESOURCE_WORDS: json_object_set(json, one->key, (json_t *)words_of_resource(r, one)); break;
        case RESOURCE_FLAG: json_object_set_new(json, one->key, json_boolean(resource_get(r, one))); break;
        case RESOURCE_PROGRAM: break;
        default: json_object_set_new(json, one->key, json_integer(resource_get(r, one)));
        }
    }
    return json;
}

/* Returns the text of an option with the amount or name in it, to be freed; NULL if it is left out. */
static char *option_text(const struct adapter_resources *want, const struct resource *resource, const char *option)
{
    int64_t amount = resource->amount != NULL ? resource->amount(want) : resource_get(want, resource);
    const char *name = name_if_any(want, resource);
    const char *mark = option + strcspn(option, "#");
    char digits[24];

    if (amount == 0 && name == NULL)
        return NULL;
    snprintf(digits, sizeof digits, "%lld", (long long)amount);
    return xasprintf("%.*s%s%s", (int)(mark - option), option,
                     *mark == '\0'  ? ""
                     : name != NULL ? name
                                    : digits,
                     *mark == '\0' ? "" : mark + 1);
}

void resources_options(struct words *words, const struct adapter_resources *want, enum resource_system system)
{
    for (const struct resource *r = resource_table; r->key != NULL; r++) {
        const char *option = r->option[system];
        char *text = option != NULL && option[0] != ':' ? option_text(want, r, option) : NULL;
        size_t first = text != NULL ? strcspn(option, " ") : 0; /* before the amount or name, which may have blanks */

        if (text != NULL)
            words_add(words, "%.*s", (int)(option[first] == ' ' ? first : strlen(text)), text);
        if (text != NULL && option[first] == ' ')
            words_add(words, "%s", text + first + 1);
        free(text);
    }
}

char *resources_of_chunk(const struct adapter_resources *want, enum resource_system system)
{
    char *all = xstrdup("");

    for (const struct resource *r = resource_table; r->key != NULL; r++) {
        const char *option = r->option[system];
        char *text = option != NULL && option[0] == ':' ? option_text(want, r, option) : NULL, *longer;

        if (text == NULL)
            continue;
        longer = xasprintf("%s%s", all, text);
        free(all);
        free(text);
        all = longer;
    }
    return all;
}
