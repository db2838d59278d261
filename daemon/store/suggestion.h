/* Members of open ensembles, as they were suggested, and the order in which they became final. */
#ifndef DAEMON_STORE_SUGGESTION_H
#define DAEMON_STORE_SUGGESTION_H
#include "daemon/store/ensemble.h"

#define SUGGESTION_NAME 128

struct suggestion {
    int64_t index;
    const char *name;       /* NULL for none */
    const char *parameters; /* JSON */
    int64_t priority;       /* of those that wait, the highest is started first */
};

/* Adds members to the ensemble, from row->count on, and changes the row accordingly. */
int store_suggestion_add(struct store *store, struct ensemble_row *row, const struct suggestion *list, size_t n,
                         struct error *err);
/* Has members that may go again now stand among those that wait by their priorities alone, however long they have been
 * due. */
int store_suggestion_line_up(struct store *store, int64_t ensemble, int64_t now_ms, struct error *err);
/* Finds the member that was suggested by this name. Returns 1 with its index and its parameters (to be freed), 0 if
 * there is none, -1 on error. */
int store_suggestion_find(struct store *store, int64_t ensemble, const char *name, int64_t *index, char **parameters,
                          struct error *err);
/* Reads the parameters of a member, to be freed. Returns 1, 0 if there is none, -1 on error. */
int store_suggestion_parameters(struct store *store, int64_t ensemble, int64_t index, char **parameters,
                                struct error *err);
/* Reads the name of a member: "" if it has none. */
int store_suggestion_name(struct store *store, int64_t ensemble, int64_t index, char name[SUGGESTION_NAME],
                          struct error *err);

struct result_row {
    int64_t number;
    struct member_row member;
};

/* Makes a member of an open ensemble that has ended, for the first time or again, the family's newest result. */
int store_result_add(struct store *store, int64_t ensemble, int64_t index, struct error *err);
/* Reads members of the family of an open ensemble that are final, in the order in which they became so: those with a
 * number above `after`. One that has gone on, or was resubmitted, is left out until it ends again. */
int store_result_each(struct store *store, int64_t root, int64_t after, int limit,
                      int (*each)(void *arg, const struct result_row *row), void *arg, struct error *err);
#endif
