/* A spec, checked: DESIGN's JSON object as C. */
#ifndef DAEMON_SPEC_SPEC_H
#define DAEMON_SPEC_SPEC_H
#include "daemon/spec/params.h"
#include "scheduler-adapters/adapter.h"

#define SPEC_WIDTH_MAX 1000000
#define SPEC_SAME_FAILURES_MAX 100
#define SPEC_RANKS_MAX 1024
#define SPEC_PACK_MAX 10000
#define SPEC_SAME_FAILURES 5       /* where the spec does not say, of as many members as this or more: */
#define SPEC_SAME_FAILURES_FROM 20 /* fewer cost little */
#define SPEC_FOLLOW_UPS 10 /* made by themselves, where the spec does not say how many */

struct spec_task {
    const json_t *command; /* array of strings */
    const json_t *env;     /* object of strings, or NULL */
    struct adapter_resources resources;
    int64_t grace_ms;
    int64_t silence_ms; /* a process that shows no sign of life for so long is ended; 0: none is */
    bool tmpdir; /* its jobs have a temporary directory */
    const char *umask; /* that it is started with; NULL: 0077 */
};

/* Of members that leave checkpoints. */
struct spec_checkpoint {
    bool any;
    int64_t before_ms;    /* before the end they are warned; 0: not at all */
    int signal;           /* by this; 0: by none */
    const char *glob;     /* files that are checkpoints; NULL: only what the library records */
    const json_t *resume; /* arguments to go on from one, or NULL */
    int64_t keep;         /* of each member */
    int64_t attempts;     /* in a row without progress, before a member is given up */
};

/* Large jobs in which the members run, instead of jobs of their own. */
struct spec_allocation {
    struct adapter_resources resources; /* of one of them, as the adapter is asked for it */
    int64_t count;                /* at once */
    int64_t cpus, gpus, memory;   /* of each node; cpus and memory 0: all that it has */
    int64_t idle_ms;              /* after which it is given back */
    int64_t grace_ms;
    const json_t *launcher; /* words that start a program on every node; NULL: the pilot's own */
};

struct spec {
    json_t *json; /* owns every borrowed pointer below */
    const char *name;
    const char *adapter;
    struct spec_task members;
    struct params *params;
    const char *success_file; /* NULL: exit status alone */
    struct spec_checkpoint checkpoint;
    int64_t retries;
    int64_t max_failures;  /* members that fail before no more are started, and the ensemble ends; 0: any number */
    int64_t same_failures; /* so many members that fail alike, before any ends otherwise, pause the ensemble; 0: it goes on */
    int64_t width;
    int64_t pack;
    bool refill; /* jobs of as many members as `pack` says take others when some have ended: as allocations of that size, */
    int64_t share; /* of the places of an adapter, where several ensembles want them */
    bool follows_up;    /* follow-ups are made by themselves, */
    int64_t follow_ups; /* as long as the family has fewer than these */
    bool has_allocation; /* and this, too, is true then, and pack 1 */
    struct spec_allocation allocation;
    bool has_training;
    bool members_first; /* the training is submitted once a member runs, instead of before all */
    struct spec_task training;
    const char *training_adapter; /* that of the members, where the spec names no other */
    int64_t ranks;
    int64_t training_retries; /* how often it may begin anew */
    int64_t steps;            /* that each member sends; 0: the spec does not say */
    const json_t *fields;
    const json_t *buffer; /* with every default filled in */
};

/* Check a spec; `json` is borrowed and copied. NULL with code, pointer and reason. Where it names a file of parameters,
 * `rows` is the copy (else NULL); taken over on success. */
struct spec *spec_parse(const json_t *json, struct rows *rows, struct error *err);
/* The file that the spec takes its parameters from, checked as a path: 1 and *path (borrowed), 0 where there is none or
 * spec_parse() will tell what is wrong, -1. */
int spec_parameter_file(const json_t *json, const char **path, struct error *err);
/* What a member must have left to be started at all, where the time that is left is known. One that is warned before the end can go
 * on from what it has then; as long before the warning as after it brings it there, or half of what it ever has before that. Any
 * other needs its walltime; 0: it has none. */
int64_t spec_least_time_ms(const struct spec *spec);
void spec_destroy(struct spec *spec);
/* Do members have to run beside the training, in the same places? */
bool spec_trains_beside(const struct spec *spec);

/* The spec of a follow-up: that of the ensemble before it, with what the caller of the API would have otherwise, as an
 * object. New; NULL with code and pointer where that has keys or types that it may not have. The values are judged by
 * spec_parse(): spec_follow_up_place() turns its pointers, and those of an adapter, into pointers into the changes. */
json_t *spec_follow_up(const json_t *spec, const json_t *changes, struct error *err);
void spec_follow_up_place(struct error *err);
/* Whether such changes can be made to any spec: 0, or -1 with code and pointer. */
int spec_follow_up_check(const json_t *changes, struct error *err);
#endif
