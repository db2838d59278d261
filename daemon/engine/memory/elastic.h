/* Elasticity by policy. The width and the number of ranks follow which side waits, within the limits of the spec's
 * "elastic".
 *
 * - While ranks wait for samples most of the time, or draw mostly samples that they drew before, more members run. If
 *   the width has reached its limit, and ranks wait, there are fewer ranks.
 * - While members wait for room most of the time, there are more ranks, or fewer members.
 *
 * A change is made when several measurements in a row ask for it. The next one follows only when it has taken effect
 * and a pause is over. The pause is a multiple of the time that the change needed to take effect. It doubles each time
 * that a change took back another one, so that changes to and fro become rare. A value that a user sets by hand is left
 * alone from then on. */
#ifndef DAEMON_ENGINE_MEMORY_ELASTIC_H
#define DAEMON_ENGINE_MEMORY_ELASTIC_H
#include "daemon/engine/memory/waits.h"
#include "daemon/store/elastic.h"

struct engine;
struct live_ensemble;
struct spec_elastic;

#define ELASTIC_IN_ROW 3    /* measurements in a row that ask for the same */
#define ELASTIC_PAUSE_MIN 3 /* the least pause, in measurements */
#define ELASTIC_COSTS 5     /* the pause, in times of what the change took to take effect */
#define ELASTIC_SETTLES 20  /* measurements after which a change is regarded as settled in any case */
#define ELASTIC_DOUBLES 10  /* how often the pause is doubled at most */

/* The figures of one measurement. */
struct elastic_figures {
    int64_t now_ms;
    double for_samples, for_room; /* parts of the time that ranks wait for samples, and members for room */
    double repeated;              /* the part of the drawn samples that were drawn before */
    int64_t width, ranks;
    int64_t in_flight, running; /* attempts of members; in flight are the queued ones, too */
    int64_t pending;            /* members that are to be started yet */
    bool ranks_fit;             /* another number of ranks finds places */
};

enum elastic_need { ELASTIC_CONTENT, ELASTIC_NEEDS_SAMPLES, ELASTIC_NEEDS_ROOM };
enum elastic_knob { ELASTIC_NOTHING, ELASTIC_WIDTH, ELASTIC_RANKS };

struct elastic_state {
    struct elastic_row row; /* is stored */
    enum elastic_need need; /* of the last measurement, */
    int in_row;             /* and of so many in a row */
};

struct elastic_decision {
    enum elastic_knob knob;
    int64_t to;
    bool changed; /* state->row has changed, whatever the knob */
};

/* Notes a measurement and decides. Nothing but the arguments counts; `state` is changed. */
struct elastic_decision elastic_decide(const struct spec_elastic *limits, struct elastic_state *state,
                                       const struct elastic_figures *figures);

struct elastic {
    struct elastic_state state;
    struct waits waits;       /* measured over `every` */
    struct rank_draws before; /* at the beginning of the measurement */
};

/* Reads the state of an ensemble that is loaded into memory; NULL if its spec has no "elastic", or on error. */
struct elastic *elastic_new(struct engine *engine, const struct live_ensemble *ens);
/* A user has set the width, or the number of ranks. Returns 0, or -1 if that cannot be stored. */
int elastic_by_hand(struct engine *engine, struct live_ensemble *ens, enum elastic_knob knob, struct error *err);
/* Begins the measurement again, since the generation of ranks has changed. */
void elastic_restart(struct live_ensemble *ens);
#endif
