/* Ensembles as they are stored. */
#ifndef DAEMON_STORE_ENSEMBLE_H
#define DAEMON_STORE_ENSEMBLE_H
#include "daemon/store/member.h"
#include "daemon/store/store.h"

enum ensemble_state {
    ENSEMBLE_RUNNING,
    ENSEMBLE_PAUSED,
    ENSEMBLE_COMPLETE,
    ENSEMBLE_CANCELLED,
    ENSEMBLE_FAILED,
    ENSEMBLE_STATE_COUNT
};

/* An ensemble's way to its members: all from its spec, or suggested while it runs. */
enum ensemble_intake {
    INTAKE_NONE, /* the spec has all of its members */
    INTAKE_OPEN,
    INTAKE_CLOSED, /* they were, and no more come */
};

struct ensemble_row {
    int64_t id;
    char name[256];
    enum ensemble_state state;
    char reason[512]; /* "" for none */
    char adapter[64];
    char stream_key[17];
    enum ensemble_intake intake;
    int64_t count, width, next_index;
    int64_t root, parent; /* the first ensemble of the family and the one before this; 0 if it is no follow-up */
    int64_t after;        /* it begins when this ensemble has completed; 0 if it has begun */
    int64_t created_ms, ended_ms; /* ended_ms is 0 until it has ended */
    /* a phrase such as "by token 3 (cron)"; "" if it is not paused, or nobody knows who paused it */
    char paused_by[256];
    int64_t paused_ms; /* 0 if it is not paused, or that is not known */
};

const char *ensemble_state_name(enum ensemble_state state);
/* Returns the first ensemble of the family, which is the ensemble itself if it is no follow-up. */
static inline int64_t ensemble_root(const struct ensemble_row *row)
{
    return row->root != 0 ? row->root : row->id;
}

/* Returns whether it is over, unless somebody resubmits its training or members of it. */
static inline bool ensemble_is_over(const struct ensemble_row *row)
{
    return row->state >= ENSEMBLE_COMPLETE;
}

/* Returns whether too many members have failed: the ensemble starts no more, and fails once those that run have
 * ended. */
static inline bool ensemble_is_ending(const struct ensemble_row *row)
{
    return row->state == ENSEMBLE_RUNNING && row->reason[0] != '\0';
}

/* Returns whether the ensemble ended before its members, because a user or a rule ended it: members in flight are being
 * cancelled. */
static inline bool ensemble_is_stopped(const struct ensemble_row *row)
{
    return row->state == ENSEMBLE_CANCELLED || row->state == ENSEMBLE_FAILED;
}

/* Inserts an ensemble and sets row->id. `spec` is the JSON text as it was accepted. */
int store_ensemble_insert(struct store *store, struct ensemble_row *row, const char *spec, struct error *err);
/* Makes sure that no ensemble gets an id up to this one. */
int store_ensemble_skip(struct store *store, int64_t id, struct error *err);
int store_ensemble_update(struct store *store, const struct ensemble_row *row, struct error *err);
/* Writes nothing but `next_index`, which changes often. */
int store_ensemble_advance(struct store *store, int64_t id, int64_t next_index, struct error *err);
/* Returns 1 if there is such an ensemble, 0 if not, -1 on error. */
int store_ensemble_get(struct store *store, int64_t id, struct ensemble_row *row, struct error *err);
/* Replaces the text of the spec. */
int store_ensemble_change_spec(struct store *store, int64_t id, const char *spec, struct error *err);
/* Returns the text of the spec, to be freed; NULL if there is no such ensemble or on error. */
char *store_ensemble_spec(struct store *store, int64_t id, struct error *err);

struct ensemble_filter {
    unsigned states;  /* a bit each; 0: any */
    int64_t root;     /* of the family; 0: any */
    const char *name; /* a part of the name, in which A to Z are as good as a to z; NULL: any */
};

/* Reads at most `limit` ensembles with an id below `before` (0 for all) that pass the filter, newest first, until
 * `each` returns non-zero. The time depends on how many are found, or on the size of the family, and not on how many
 * other ensembles there are. */
int store_ensemble_each(struct store *store, int64_t before, const struct ensemble_filter *filter, int limit,
                        int (*each)(void *arg, const struct ensemble_row *row), void *arg, struct error *err);
/* Reads the ensembles that still have something to do (running, paused, or with live jobs or bulk operations), oldest
 * first. */
int store_ensemble_each_live(struct store *store, int (*each)(void *arg, const struct ensemble_row *row), void *arg,
                             struct error *err);

/* Returns 1 if an adapter has ever had an ensemble or a training, 0 if not, -1 on error. */
int store_ensemble_any_of(struct store *store, const char *adapter, struct error *err);

/* Counts ensembles by state, and the members of ensembles that have not ended by state. The cost grows with the number
 * of the latter ensembles. */
int store_census_get(struct store *store, int64_t ensembles[ENSEMBLE_STATE_COUNT], int64_t members[MEMBER_STATE_COUNT],
                     struct error *err);
/* Counts the members of an ensemble by state. */
int store_tally_get(struct store *store, int64_t ensemble, int64_t n[MEMBER_STATE_COUNT], struct error *err);
/* Counts members without a row as cancelled. No member with a row may be pending. */
int store_ensemble_cancel_untried(struct store *store, int64_t ensemble, struct error *err);
/* Counts them as pending again. */
int store_ensemble_restore_untried(struct store *store, int64_t ensemble, struct error *err);
/* Returns when the last of its members succeeded, and how long the slowest of the last 20 that succeeded took from its
 * submission on; 0 if none has succeeded. */
int store_ensemble_pace(struct store *store, int64_t ensemble, int64_t *last_ms, int64_t *took_ms, struct error *err);
/* Returns for how long, from since_ms to now_ms, none of its members ran, as far as its last successes and its running
 * members show. That is so while it was paused, or waited for places. Moments between two members do not count. */
int store_ensemble_idle(struct store *store, int64_t ensemble, int64_t since_ms, int64_t now_ms, int64_t *idle_ms,
                        struct error *err);
/* Returns when the nth-last of its successful members ended, from which a rate is computed: 1 if there is one, 0 if
 * there are fewer, -1 on error. */
int store_ensemble_success(struct store *store, int64_t ensemble, int64_t nth, int64_t *ended_ms, struct error *err);
#endif
