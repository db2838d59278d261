/* The engine's memory, a cache of what is under way, which can be rebuilt from the store at any time. All files of the
 * engine use it: they find things in it, have ensembles looked at, and report events. */
#ifndef DAEMON_ENGINE_MEMORY_CORE_H
#define DAEMON_ENGINE_MEMORY_CORE_H
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/ports.h"
#include "daemon/store/member.h"

#include <stdbool.h>
#include <stdint.h>

struct adapter;
struct ensemble_row;
struct job_row;
struct live_ensemble;

#define FILE_RETRY_MS 5000 /* after a failed write to the run directory */
#define DISPATCH_MAX 256   /* attempts made or jobs cancelled between two ticks, to keep a loop turn short */
#define SLICE_MAX 512      /* members or jobs changed in one turn, to keep it short */
#define ROOM_MS 1000       /* between checks for space on the disk, while there is none for new jobs */

/* Functions of files further up that core.c has to call. engine.c sets them, so that core.c need not know those
 * files. */
struct engine_steps {
    int (*load)(struct engine *engine, struct error *err);
    void (*settle)(struct engine *engine);
};

/* An ensemble that could not be read when the memory was loaded. */
struct left_alone {
    int64_t ensemble;
    char *why;
    struct left_alone *next;
};

struct engine {
    struct engine_ports ports;
    const struct engine_steps *steps;
    struct store *store;
    struct turn *turn;
    uint64_t epoch; /* grows with every load: answers to questions from before it are ignored */
    uint32_t nonce; /* of the names of jobs that are made until the next load */
    struct known_adapter *adapters;
    struct live_ensemble *ensembles;
    struct live_job *jobs;
    struct left_alone *left_alone;
    struct {
        struct fact *facts;                      /* to be handed to their owners (facts.h) */
        struct live_job *jobs;                   /* that were touched (job.h) */
        struct live_ensemble *ensembles, *saved; /* that were touched; whose progress is to be stored */
        bool under_way;
    } to_settle;
    struct live_job *unsaved_jobs; /* in the order in which they are to be saved */
    struct {
        int64_t offset;  /* what engine_now() is ahead of the steady clock (follow_clock() in engine.c) */
        int64_t wake_at; /* by engine_now() */
    } clock;
    struct heap alarms;
    struct alarm save;   /* when the first unsaved job is to be saved */
    int64_t budget;      /* attempts that may still be made before the next tick */
    bool again;          /* the budget was too small: jobs are made again in the next tick */
    int64_t scheduled;   /* jobs made since the engine was created */
    uint64_t follow_ups; /* follow-ups made and committed since the engine was created */
    struct {
        int64_t slots;         /* attempts whose points are read (feed.h) */
        struct live_job *jobs; /* whose files of points are to be read now, in this order */
        int orders;            /* to read such files, that are under way */
    } feeds;
    struct {
        int under_way, failed; /* failed: in a row */
    } withdrawals;             /* of duplicates */
    int slice;                 /* how many members or jobs one turn of a bulk operation changes */
    bool waits_for_room;       /* new jobs wait for space on the disk */
    bool resting;              /* memory is to be loaded again */
    struct {
        int64_t ms, at; /* how long, and since when */
    } rest;
};

/* A ticket is what an asynchronous question remembers. It has no pointer into the engine's memory, which may go. */
struct ticket {
    struct engine *engine;
    uint64_t epoch;
    int64_t id;
};

struct ticket *ticket_new(struct engine *engine, int64_t id);
/* Frees the ticket; *id is what it was made for. Returns the engine, or NULL if its memory was rebuilt since. */
struct engine *ticket_redeem(void *ticket, int64_t *id);
/* Has engine_settle() look at the ensemble, before this entry into the engine returns. */
void engine_touch(struct engine *engine, struct live_ensemble *ens);
/* Touches all ensembles of the adapter, because the adapter can do more than before, or a training on it has begun or
 * ended. */
void engine_touch_all(struct engine *engine, const struct known_adapter *adapter);
/* Hands facts to their owners, has touched jobs take a step, and looks at touched ensembles, until none is left. Every
 * entry into the engine ends with it. */
void engine_settle(struct engine *engine);
/* Has the number of members that have been tried written when all ensembles are settled. */
void engine_save_later(struct engine *engine, struct live_ensemble *ens);
void engine_event(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, json_t *detail);
/* Reports members that changed without an event for each: "members.changed" has the span of their indices and their new
 * state. Reports nothing if the span is empty. */
void engine_event_of_span(struct engine *engine, int64_t ensemble, const struct member_span *span,
                          enum member_state state);
/* Like engine_event(), but fast, for the most frequent events: `rest` is JSON text, with all that the detail holds
 * after the attempt. */
void engine_event_of_attempt(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, int64_t attempt,
                             const char *rest);
/* Stores a job under a new name; sets row->id and row->name. */
int engine_insert_job(struct engine *engine, struct job_row *row, struct error *err);
/* Returns the id in the name of a job, or -1 if it is not a daemon's. It may be another daemon's. */
int64_t engine_parse_job_name(const char *name);
struct live_job *engine_find_job_named(struct engine *engine, const char *name);
struct known_adapter *engine_known_adapter(struct engine *engine, const struct adapter *adapter);
struct live_ensemble *engine_find_ensemble(struct engine *engine, int64_t id);
/* Finds the ensemble that a call from outside wants to change. Returns 0, or -1 with "ensemble_not_found" or
 * "ensemble_over". */
int engine_open_ensemble(struct engine *engine, int64_t id, struct live_ensemble **ens, struct error *err);
/* Reads the row of an ensemble, whether it is live or not. Returns 0, or -1 with "ensemble_not_found". */
int engine_stored_ensemble(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);
/* Finds the member that a call from outside names. Returns 1 with its row, 0 if it has no row yet, or -1 with
 * "member_not_found" or "member_in_follow_up". */
int engine_named_member(struct engine *engine, const struct ensemble_row *row, int64_t index, struct member_row *member,
                        struct error *err);
/* Checks that the ensemble's adapter is here, and that of its training unless that is over. Returns 0, or -1 with
 * "adapter_not_here". An ensemble of a plugin that is not loaded is left alone until it is. */
int engine_check_adapter(const struct engine *engine, const struct ensemble_row *row, struct error *err);
/* Checks that an adapter of this name is here, for that ensemble. Returns 0, or -1 with "adapter_not_here". */
int engine_check_here(const struct engine *engine, const char *name, int64_t ensemble, struct error *err);
/* Returns whether the disk has space for new jobs and for what trainings report. If not, all ensembles are touched once
 * it has. */
bool engine_has_room(struct engine *engine);
/* Loads the memory if the engine rests, since nothing can be changed that is not in memory. */
int engine_wake_up(struct engine *engine, struct error *err);
struct live_job *engine_find_job(struct engine *engine, int64_t id);

#endif
