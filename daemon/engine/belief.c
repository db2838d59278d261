#include "daemon/engine/belief.h"

#define U BELIEF_UNASKED
#define D BELIEF_DOUBT
#define A BELIEF_ABSENT
#define Q BELIEF_QUEUED
#define R BELIEF_RUNNING
#define E BELIEF_ENDED
#define F BELIEF_FORGOTTEN
#define X BELIEF_RETURNED
#define _ BELIEF_COUNT /* the event is impossible in this belief */

/* A job is submitted only while it is absent. A job that is unasked or in doubt stays so until its scheduler, or the
 * whole journal of its pilot, has told what it has of the job. While a submission is under way, a late answer may be
 * about an earlier one. */
static const enum job_belief next[EVENT_COUNT][BELIEF_COUNT] = {
    /*                         U  D  A  Q  R  E  F  X */
    [EVENT_WAITED]         = { U, U, A, Q, R, E, F, X },
    [EVENT_NOT_TAKEN]      = { _, _, A, _, _, _, _, _ },
    [EVENT_UNANSWERED]     = { _, _, D, D, D, D, D, _ },
    [EVENT_TAKEN]          = { U, D, Q, Q, R, E, F, X },
    [EVENT_SEND_AGAIN]     = { _, _, _, _, _, _, A, _ },
    [EVENT_TOLD_QUEUED]    = { Q, Q, Q, Q, Q, Q, Q, _ },
    [EVENT_TOLD_RUNNING]   = { R, R, R, R, R, R, R, _ },
    [EVENT_TOLD_ENDED]     = { E, E, E, E, E, E, E, X },
    [EVENT_TOLD_ABSENT]    = { A, A, A, _, _, _, _, _ },
    [EVENT_TOLD_FORGOTTEN] = { F, F, _, F, F, F, F, _ },
    [EVENT_RETURNED]       = { X, X, X, X, X, X, X, X },
};

enum job_belief belief_after(enum job_belief belief, enum job_event event)
{
    return next[event][belief];
}
