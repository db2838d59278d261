#include "tasks/train/buffer.h"

#include "tasks/train/policy.h"

#include <stdlib.h>
#include <string.h>

#define POLICY_ENTRY(name) &policy_##name,
static const struct policy *const policies[] = {BUFFER_POLICIES(POLICY_ENTRY)};

static const struct policy *find_policy(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}

struct buffer *buffer_create(const struct buffer_config *config, struct error *err)
{
    const struct policy *policy = find_policy(config->policy);
    struct buffer *b;

    if (policy == NULL) {
        error_set(err, "buffer_policy", "\"%s\" is no buffer policy; known:" BUFFER_POLICY_NAMES, config->policy);
        return NULL;
    }
    if (config->capacity < 1 || config->batch < 1) {
        error_set(err, "buffer_sizes", "a buffer's capacity and batch are at least 1");
        return NULL;
    }
    if (policy->check(config, err) < 0)
        return NULL;
    b = calloc(1, sizeof *b);
    if (b != NULL)
        b->item = calloc(config->capacity, sizeof *b->item);
    if (b == NULL || b->item == NULL) {
        error_set(err, "buffer_memory", "no memory for a buffer of %zu samples", config->capacity);
        free(b);
        return NULL;
    }
    b->policy = policy;
    b->capacity = config->capacity;
    b->threshold = config->threshold;
    random_seed(&b->drawing, config->seed);
    random_seed(&b->evicting, ~config->seed);
    return b;
}

void buffer_destroy(struct buffer *b)
{
    if (b == NULL)
        return;
    free(b->item);
    free(b);
}

bool buffer_has_room(const struct buffer *b)
{
    return b->policy->has_room(b);
}

void *buffer_put(struct buffer *b, void *item)
{
    return b->policy->put(b, item);
}

bool buffer_put_seen(struct buffer *b, void *item)
{
    return b->policy->put_seen(b, item);
}

bool buffer_can_draw(const struct buffer *b)
{
    return b->count > 0 && (b->over || b->policy->can_draw(b));
}

void *buffer_draw(struct buffer *b, bool *removed)
{
    return b->policy->draw(b, removed);
}

void buffer_over(struct buffer *b)
{
    b->over = true;
}

size_t buffer_population(const struct buffer *b)
{
    return b->count;
}

size_t buffer_unseen(const struct buffer *b)
{
    return b->count - b->seen;
}

void buffer_each(struct buffer *b, void (*visit)(void *item, void *arg), void *arg)
{
    for (size_t i = 0; i < b->count; i++)
        visit(b->item[(b->head + i) % b->capacity], arg);
}
