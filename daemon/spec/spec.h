/* Specs: parses and checks the JSON object that describes an ensemble. */
#ifndef DAEMON_SPEC_SPEC_H
#define DAEMON_SPEC_SPEC_H
#include "daemon/spec/params.h"
#include "scheduler-adapters/adapter.h"
#include "tasks/proto/jobdesc.h"

#define SPEC_WIDTH_MAX 1000000
#define SPEC_SAME_FAILURES_MAX 100
#define SPEC_RANKS_MAX 1024
#define SPEC_PACK_MAX 10000
#define SPEC_SAME_FAILURES 5       /* the default of max_same_failures, */
#define SPEC_SAME_FAILURES_FROM 20 /* for ensembles of so many members or more; failures of fewer cost little */
#define SPEC_COPIES "copies"       /* the launcher that is the runner itself */
#define SPEC_FOLLOW_UPS 10         /* the default of how many follow-ups are made automatically */

struct spec_task {
    const json_t *command; /* an array of strings */
    const json_t *env;     /* an object of strings, or NULL */
    /* of members: the most that any of them has, if they differ; resources.launch are templates */
    struct adapter_resources resources;
    const json_t
        *needs; /* the spec's resources, if values of them depend on a member's parameters (needs.h); else NULL */
    int64_t grace_ms;
    int64_t silence_ms; /* a process that shows no sign of life for so long is ended; 0 for no limit */
    int64_t stopped_ms; /* one whose processes are all stopped for so long is ended; 0 for silence_ms */
    bool tmpdir;        /* the jobs have a temporary directory */
    const char *umask;  /* the umask that the program is started with; NULL for 0077 */
    bool merged;        /* its standard error goes into the file of its standard output */
};

/* The way in which members, or the ranks of a training, leave checkpoints and go on from them. */
struct spec_checkpoint {
    bool any;
    int64_t every_ms;     /* of a training: how often a checkpoint becomes due; 0 for before the end only */
    int64_t before_ms;    /* they are warned so long before the end; 0 for no warning */
    int signal;           /* the signal that warns them; 0 for none */
    const char *glob;     /* names of files that are checkpoints; NULL if only the library records them */
    const json_t *resume; /* arguments for going on from a checkpoint, or NULL */
    int64_t retain;       /* of a training: drawn samples that a rank keeps in memory; -1 for the usual number */
    int64_t keep;         /* number of checkpoints that are kept of each member, or of the training */
    int64_t attempts; /* of members: number of attempts in a row without progress after which a member is given up */
};

/* Allocations (pilots): large jobs in which the members run, instead of jobs of their own. */
struct spec_allocation {
    struct adapter_resources resources; /* of one allocation, as the adapter is asked for it */
    int64_t count;                      /* number of allocations at once */
    int64_t cpus, gpus, memory;         /* of each node; cpus and memory are 0 for all that the node has */
    int64_t idle_ms;                    /* an allocation is given back when it was idle for so long */
    int64_t grace_ms;
    const json_t *launcher; /* words that start a program on every node; NULL for the pilot's own launcher */
};

/* Limits of a number that the daemon changes by itself; `most` is 0 if it does not. */
struct spec_range {
    int64_t least, most;
};

/* The policy of daemon/engine/memory/elastic.h. */
struct spec_elastic {
    struct spec_range width, ranks;
    int64_t every_ms; /* how long is measured before anything is decided */
};

#define SPEC_POINTS 1000 /* the default of how many points of each metric are kept of a member, */
#define SPEC_POINTS_MAX 10000

/* The metrics that members report, and what these mean. */
struct spec_metrics {
    const char *file; /* which members write in their directories; NULL for none but $STRETTO_METRICS */
    enum jobdesc_format format;
    int64_t points; /* that are kept of each */
    enum jobdesc_diverged diverged;
    const char *success; /* the name of the metric by which success is judged, or NULL */
    bool has_least, has_most, best;
    double least, most;
};

#define SPEC_RUNGS_MAX 100

/* Early stopping. STOPPING_ASHA: asynchronous successive halving, in which members pause at rungs and are promoted.
 * STOPPING_ASHA_STOP: the same without pauses: members are ended at a rung for good, or run on.
 * STOPPING_MEDIAN: a member is ended at a rung if its best value is worse than the median of the others there. */
enum stopping_rule { STOPPING_NONE, STOPPING_ASHA, STOPPING_ASHA_STOP, STOPPING_MEDIAN };

struct spec_stopping {
    enum stopping_rule rule;
    const char *metric;
    bool more_is_better;
    int64_t reduction; /* the best 1/reduction of each rung are promoted, or go on; 2 with STOPPING_MEDIAN */
    int64_t
        min_members; /* with STOPPING_MEDIAN: so many others must have reached a rung before anyone is ended there */
    size_t n;        /* rungs */
    int64_t steps[SPEC_RUNGS_MAX];
};

struct spec {
    json_t *json; /* owns all borrowed pointers below */
    const char *name;
    const char *adapter;
    struct spec_task members;
    struct params *params;
    const char *success_file; /* NULL if the exit status alone decides */
    const json_t *artefacts;  /* patterns of files that a member leaves when it succeeds, or NULL */
    const char *results;      /* template of the directory for links to them, or NULL: daemon/spec/results.h */
    struct spec_checkpoint checkpoint;
    struct spec_metrics metrics;
    struct spec_stopping stopping;
    int64_t retries;
    /* when so many members have failed, no more are started, and the ensemble ends; 0 for no limit */
    int64_t max_failures;
    /* when so many members fail alike before any ends otherwise, the ensemble is paused; 0 for no limit */
    int64_t same_failures;
    int64_t width;
    int64_t pack;
    bool refill;   /* jobs of `pack` members take other members when some have ended; they are handled as allocations */
    int64_t share; /* weight among ensembles that want places of the same adapter */
    bool follows_up;    /* follow-ups are made automatically */
    int64_t after;      /* the ensemble after which it begins; 0 for none */
    int64_t follow_ups; /* as long as the family has fewer follow-ups than this */
    struct spec_elastic elastic;
    bool has_allocation; /* also true with refill; pack is then 1 */
    struct spec_allocation allocation;
    bool has_training;
    bool members_first; /* the training is submitted once a member runs, instead of before all members */
    struct spec_task training;
    const char *training_adapter; /* the adapter of the members, unless the spec names another one */
    int64_t ranks;
    struct spec_checkpoint training_checkpoint;
    int64_t from_ensemble; /* the ensemble from whose training's checkpoint it starts; 0: it starts with nothing */
    const char *from_checkpoint; /* the name of the checkpoint; NULL: the newest at submission */
    int64_t failure_after_ms;    /* a rank that does not go on for so long is taken for failed */
    int64_t training_retries;    /* how often the training may begin again because it failed */
    int64_t steps;               /* number of steps that each member sends; 0 if the spec does not say */
    bool streams_optional;       /* a member that never opens a stream may succeed */
    const json_t *rules;         /* or NULL: daemon/spec/rules.h */
    const json_t *fields;
    const json_t *buffer; /* with all defaults filled in */
};

/* Parses and checks a spec; `json` is borrowed and copied. Returns NULL with code, pointer and reason. If the spec
 * names a file of parameters, `rows` is its copy, which is taken over on success; else it is NULL. */
struct spec *spec_parse(const json_t *json, struct rows *rows, struct error *err);

/* Knows the directories of ensembles. */
struct spec_dirs {
    char *(*of)(void *arg, int64_t ensemble); /* to be freed */
    void *arg;
};

/* Returns a copy of a spec that begins after another ensemble, with the directory of that one in the place of "{after}"
 * in commands and variables. Returns NULL if the spec begins after none. */
json_t *spec_fill_after(const json_t *json, const struct spec_dirs *dirs);
/* Returns a copy of a reference for a spec that begins after the ensemble `after` (0: after none). In the copy the
 * directory of `after` replaces "{after}", and the directory of the ensemble after which the reference itself began. */
json_t *spec_align_after(const json_t *reference, int64_t after, const struct spec_dirs *dirs);
/* Finds the file that the spec takes its parameters from. Returns 1 and *path (borrowed), 0 if there is none or
 * if spec_parse() will report the mistake, -1 with err if the path is not valid. */
int spec_parameter_file(const json_t *json, const char **path, struct error *err);
const char *stopping_rule_name(enum stopping_rule rule); /* NULL for STOPPING_NONE */
/* Returns how much time must be left for a member to be started, if the time that is left is known; 0 if it needs none.
 * A member that is warned before the end can go on from a checkpoint later. It needs as long before the warning as
 * after it, but at most half of the time that it ever has before the warning. Any other member needs its walltime. */
int64_t spec_least_time_ms(const struct spec *spec);
int64_t spec_least_time_of(const struct spec *spec, int64_t walltime_ms); /* the same of a member with that walltime */
void spec_destroy(struct spec *spec);
/* Returns whether the runner starts the processes of each member itself. */
bool spec_starts_copies(const struct spec_task *task);
/* Returns whether members have to run beside the training, in the same places. */
bool spec_trains_beside(const struct spec *spec);

/* Makes the spec of a follow-up: that of the ensemble before it, with the changes that a client asks for, an object.
 * Returns a new object, or NULL with code and pointer if the changes have keys or types that they may not have.
 * Their values are judged by spec_parse(): spec_follow_up_place() turns its pointers, and those of an adapter, into
 * pointers into the changes. */
json_t *spec_follow_up(const json_t *spec, const json_t *changes, struct error *err);
void spec_follow_up_place(struct error *err);
/* Checks whether such changes can be made to any spec. Returns 0, or -1 with code and pointer. */
int spec_follow_up_check(const json_t *changes, struct error *err);
/* Makes the spec for a training that is resubmitted. `command` and `ranks` of the changes replace those of the spec.
 * The keys of `env` and `resources` are added to the spec's, or replace them. Fails and is judged as
 * spec_follow_up(). */
json_t *spec_resubmit(const json_t *spec, const json_t *changes, struct error *err);
void spec_resubmit_place(struct error *err);
/* Checks that so many ranks of the training cannot block each other while so many members send. Fails with a
 * pointer into the spec. */
int spec_check_ranks(const struct spec *spec, int64_t ranks, int64_t width, struct error *err);
/* Returns whether members never pause at rungs: they run on, or are ended. */
bool spec_stops_only(const struct spec *spec);
/* Returns the step up to which an attempt to this rung goes; 0 if it goes to its own end. */
int64_t spec_rung_until(const struct spec *spec, int64_t rung);
/* Returns the step of a rung, and whether it is the last one. */
int64_t spec_rung_step(const struct spec *spec, int64_t rung);
bool spec_rung_is_last(const struct spec *spec, int64_t rung);

#endif
