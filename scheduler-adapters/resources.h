/* The table of the resources that a job can ask for: the keys of `resources` in a spec. Specs are read and checked by
 * it, resources that depend on parameters are filled in, jobs of an array compared, and most options of the batch
 * systems made. What no text can say stands in the adapter: chunks of PBS, the hierarchy of OAR, the local adapter's
 * share of its machine.
 *
 * A new resource needs a row here, a field in struct adapter_resources, and code in those adapters that do more with it
 * than pass it on. */
#ifndef SCHEDULER_ADAPTERS_RESOURCES_H
#define SCHEDULER_ADAPTERS_RESOURCES_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/words.h"

#include <stddef.h>

/* The kind says how the spec has it, and what the field is. The first three may depend on a member's parameters, and a
 * launcher's words may have numbers by their keys. */
enum resource_kind {
    RESOURCE_NUMBER,   /* int */
    RESOURCE_SIZE,     /* int64_t, bytes */
    RESOURCE_DURATION, /* int64_t, ms */
    RESOURCE_FLAG,     /* bool */
    RESOURCE_NAME,     /* string, or NULL */
    RESOURCE_WORDS,    /* array of strings, or NULL */
    RESOURCE_PROGRAM,  /* a name or words: read by daemon/spec/spec_task.c, and of no interest to batch systems */
};

/* The batch systems that have options in the table; slurmrestd has those of Slurm. */
enum resource_system { RESOURCE_SLURM, RESOURCE_OPENPBS, RESOURCE_TORQUE, RESOURCE_SYSTEMS };

struct resource {
    const char *key;
    enum resource_kind kind;
    size_t offset;       /* of the field */
    int64_t least, most; /* what the spec may ask for, in the field's unit */
    int64_t otherwise;   /* the value if the spec does not have it */
    /* how much a batch system is asked for; NULL: the field's value */
    int64_t (*amount)(const struct adapter_resources *want);
    /* The option, in which "#" stands for the amount or name; a blank separates two words; NULL: there is none. One of
     * PBS that begins with a colon belongs to each chunk. It is left out if the amount is 0 or there is no name. */
    const char *option[RESOURCE_SYSTEMS];
};

#define RESOURCES_MAX 20
extern const struct resource resource_table[RESOURCES_MAX + 1]; /* ended by one without a key */

const struct resource *resource_find(const char *key);   /* NULL: there is none */
bool resource_may_vary(const struct resource *resource); /* may depend on a member's parameters */

/* The value of a number, size, duration or flag; 0 for others. */
int64_t resource_get(const struct adapter_resources *r, const struct resource *resource);
void resource_set(struct adapter_resources *r, const struct resource *resource, int64_t value);

/* Both return the place of the field, a name or words, and are only for resources of that kind. */
const char **resource_name(struct adapter_resources *r, const struct resource *resource);
const json_t **resource_words(struct adapter_resources *r, const struct resource *resource);

/* Sets all that have one to the value if the spec does not have it; the other fields to 0. One copy. */
void resources_init(struct adapter_resources *r);
/* Returns whether two jobs may be asked for by the same options. */
bool resources_are_equal(const struct adapter_resources *a, const struct adapter_resources *b);
/* Replaces names and words by copies, which resources_release() frees; the launcher becomes NULL. */
void resources_keep(struct adapter_resources *r);
void resources_release(struct adapter_resources *r);
/* Returns an object with all by their keys, in the fields' units; without the launcher. */
json_t *resources_json(const struct adapter_resources *r);

/* Adds the options of the batch system, except those of chunks. */
void resources_options(struct words *words, const struct adapter_resources *want, enum resource_system system);
/* Returns the options that belong to each chunk, such as ":ngpus=2:mem=4mb"; to be freed. */
char *resources_of_chunk(const struct adapter_resources *want, enum resource_system system);

#endif
