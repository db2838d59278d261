/* Ensembles as stored. */
#ifndef DAEMON_STORE_ENSEMBLE_H
#define DAEMON_STORE_ENSEMBLE_H
#include "daemon/store/member.h"
#include "daemon/store/store.h"

enum ensemble_state { ENSEMBLE_RUNNING, ENSEMBLE_PAUSED, ENSEMBLE_COMPLETE, ENSEMBLE_CANCELLED, ENSEMBLE_FAILED, ENSEMBLE_STATE_COUNT };

struct ensemble_row {
    int64_t id;
    char name[256];
    enum ensemble_state state;
    char reason[512]; /* "" none */
    char adapter[64];
    char stream_key[17];
    int64_t count, width, next_index;
    int64_t root, parent; /* of a follow-up: the first of its family, the one before it; 0: it is none */
    int64_t created_ms, ended_ms; /* ended 0: not yet */
    char paused_by[256]; /* a phrase such as "by token 3 (cron)"; "": it is not known, or it is not paused */
    int64_t paused_ms;   /* 0 likewise */
};

const char *ensemble_state_name(enum ensemble_state state);
/* The first of its family: itself where it is no follow-up. */
static inline int64_t ensemble_root(const struct ensemble_row *row)
{
    return row->root != 0 ? row->root : row->id;
}

/* Too many of its members have failed: it starts no more, and has failed for that reason once those that run have ended. */
static inline bool ensemble_is_ending(const struct ensemble_row *row)
{
    return row->state == ENSEMBLE_RUNNING && row->reason[0] != '\0';
}

/* Ended before its members had, by somebody or for a reason: what is under way of it is cancelled. */
static inline bool ensemble_is_stopped(const struct ensemble_row *row)
{
    return row->state == ENSEMBLE_CANCELLED || row->state == ENSEMBLE_FAILED;
}

/* Insert; row->id is set. `spec` is the JSON text as accepted. */
int store_ensemble_insert(struct store *store, struct ensemble_row *row, const char *spec, struct error *err);
/* None gets an id up to this one. */
int store_ensemble_skip(struct store *store, int64_t id, struct error *err);
int store_ensemble_update(struct store *store, const struct ensemble_row *row, struct error *err);
/* 1 found, 0 none, -1 error. */
int store_ensemble_get(struct store *store, int64_t id, struct ensemble_row *row, struct error *err);
/* The spec's text, to be freed; NULL where there is none or on error. */
char *store_ensemble_spec(struct store *store, int64_t id, struct error *err);

/* Newest first, ids below `before` (0: from the newest), at most `limit`. `each` returning non-zero stops. */
int store_ensemble_each(struct store *store, int64_t before, int limit,
                        int (*each)(void *arg, const struct ensemble_row *row), void *arg, struct error *err);
/* The same, of a family. */
int store_family_each(struct store *store, int64_t root, int64_t before, int limit,
                      int (*each)(void *arg, const struct ensemble_row *row), void *arg, struct error *err);
/* Those that still have something to do (running, paused, or with live jobs or chores), oldest first. */
int store_ensemble_each_live(struct store *store, int (*each)(void *arg, const struct ensemble_row *row), void *arg,
                             struct error *err);

/* Has the adapter ever had one? 1 yes, 0 no, -1 error. */
int store_ensemble_any_of(struct store *store, const char *adapter, struct error *err);

/* Ensembles by state, and the members of those that are not over by state; costs what there is of the latter. */
int store_census_get(struct store *store, int64_t ensembles[ENSEMBLE_STATE_COUNT], int64_t members[MEMBER_STATE_COUNT],
                     struct error *err);
/* Members by state. */
int store_tally_get(struct store *store, int64_t ensemble, int64_t n[MEMBER_STATE_COUNT], struct error *err);
/* Members without a row become cancelled: once no row is pending. */
int store_ensemble_cancel_untried(struct store *store, int64_t ensemble, struct error *err);
/* When the latest of its members that succeeded did so, and the longest that the latest 20 took from their submission on; 0: none has. */
int store_ensemble_pace(struct store *store, int64_t ensemble, int64_t *last_ms, int64_t *took_ms, struct error *err);
/* When the nth latest of its members that succeeded did so, for the rate: 1 found, 0 there are fewer. */
int store_ensemble_success(struct store *store, int64_t ensemble, int64_t nth, int64_t *ended_ms, struct error *err);
#endif
