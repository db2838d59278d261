/* Sends metric series of a training or of a member by buckets of steps. Every point is looked at, so that no spike and
 * no NaN is lost; since there may be millions, some are read in each turn of the loop. */
#ifndef API_SERIES_REPLY_H
#define API_SERIES_REPLY_H
#include "api/request.h"
#include "daemon/store/series.h"

struct series_owner {
    int64_t id;    /* the training, or the member's ensemble */
    int64_t index; /* of the member */
};

/* A place in a series, behind one point and before the next. */
struct series_place {
    int64_t step, rank;
};

/* The functions that read the series of a kind of owner. Each function returns 0, or -1 with err. bounds(), however,
 * returns 1 if there are points, and 0 if there are none. */
struct series_ops {
    bool of_member;
    int (*each_name)(struct store *store, const struct series_owner *owner, const char *from,
                     int (*each)(void *arg, const char *name), void *arg, struct error *err);
    int (*bounds)(struct store *store, const struct series_owner *owner, const char *name, int64_t from, int64_t to,
                  int64_t *first, int64_t *last, struct error *err);
    int (*each_point)(struct store *store, const struct series_owner *owner, const char *name,
                      struct series_place after, int64_t to, int64_t limit,
                      int (*each)(void *arg, const struct series_point *point, int64_t rank), void *arg,
                      struct error *err);
};

/* Answers with the series that the query asks for; `head` is what the JSON object begins with. */
void series_reply(struct request *r, const struct series_ops *ops, const struct series_owner *owner, const char *head);
#endif
