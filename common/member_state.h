/* The states of members: all that the daemon, its API, the command and the dashboard know of each stands in this one
 * table. A digit in GET /v1/ensembles/ID/states is a row's number, and columns of counts have the order of the rows. */
#ifndef COMMON_MEMBER_STATE_H
#define COMMON_MEMBER_STATE_H
#include <stdbool.h>

/* X(symbol, name, final, style, sign, place, fill, ink, dark fill, dark ink, help)
 * final: it has no attempt, and waits for none; style: its colour in a terminal (cli/terminal.h); place: where it
 * stands in the dashboard's bars and legends, from 1 on; colours of the dashboard: of areas and of text, on a light
 * page and on a dark one. */
/* clang-format off */
#define MEMBER_STATES(X) \
    X(PENDING, "pending", 0, QUIET, "○", 8, "#c3cad5", "#5a6372", "#4a5260", "#a6b0c0", \
      "It waits for a place.") \
    X(SUBMITTED, "submitted", 0, NONE, "◔", 7, "#8ec1ea", "#2b6697", "#4f86b4", "#8ec1ea", \
      "Its job is with the batch system.") \
    X(RUNNING, "running", 0, BUSY, "▶", 6, "#2f7fc9", "#1f66a8", "#4b9fe8", "#74b8f4", \
      "Its job has started.") \
    X(SUCCEEDED, "succeeded", 1, GOOD, "✓", 1, "#15966f", "#0d7355", "#2bb389", "#4fcda5", \
      "It has done all that the spec asks for.") \
    X(FAILED, "failed", 1, BAD, "✕", 4, "#cc4c02", "#b23a00", "#f0743a", "#ff9a66", \
      "It has no retries left, or cannot be tried again.") \
    X(UNFINISHED, "unfinished", 1, CARE, "◐", 3, "#e0a100", "#8a6100", "#e0ab2b", "#ecc05a", \
      "It ran out of time or was preempted, and has a checkpoint to go on from.") \
    X(CANCELLED, "cancelled", 1, QUIET, "⊘", 5, "#857a96", "#685d7a", "#8b80a0", "#b3a8c7", \
      "A user or the daemon has ended it, or it never began.") \
    X(STOPPED, "stopped", 1, QUIET, "■", 2, "#a86fb5", "#83448f", "#b57fc2", "#d9a6e3", \
      "It was ended early, at a rung, and keeps its checkpoint: it goes on if it is promoted.")
/* clang-format on */

enum member_state {
#define MEMBER_STATE_SYMBOL(symbol, ...) MEMBER_##symbol,
    MEMBER_STATES(MEMBER_STATE_SYMBOL) MEMBER_STATE_COUNT
};

/* The names of final states, for an SQL condition: "state IN (" MEMBER_STATES_FINAL ")". */
#define MEMBER_STATES_FINAL MEMBER_STATES(MEMBER_STATE_IF_FINAL) "''"
#define MEMBER_STATE_IF_FINAL(symbol, name, final, ...) MEMBER_STATE_IF_##final(name)
#define MEMBER_STATE_IF_0(name)
#define MEMBER_STATE_IF_1(name) "'" name "', "

const char *member_state_name(enum member_state state);
int member_state_parse(const char *name, enum member_state *state); /* 0 or -1 */
bool member_state_is_final(enum member_state state);
#endif
