/* The struct that the files of libstretto's interface share: stretto.c opens, sends and finishes; stretto_field.c
 * declares and describes fields. No other file includes this; it is not installed. */
#ifndef TASKS_MEMBER_STRETTO_PRIVATE_H
#define TASKS_MEMBER_STRETTO_PRIVATE_H
#include "tasks/member/discovery.h"
#include "tasks/member/lending.h"
#include "tasks/member/links.h"
#include "tasks/member/steps.h"
#include "tasks/member/stretto.h"

#include <sys/types.h>

struct stretto {
    struct error err;
    pid_t owner; /* the process that opened it */
    struct environment env;
    struct discovery ranks;
    struct links *links;
    struct steps *steps; /* the steps that still lack fields */
    struct {
        bool declared;
        enum stretto_dtype dtype; /* the type of the data given to stretto_send() */
        struct lending lending;
        uint64_t lent_extent;
    } field[FIELDS_MAX];
    bool due;         /* the program was told that it is time to leave a checkpoint and stop */
    bool covered;     /* everything that was sent is covered by a checkpoint that was recorded */
    bool failed;      /* nothing more can be sent */
    bool finished;    /* everything is acknowledged, and the ranks know that it was all */
    int64_t patience; /* ms that a call waits before it returns STRETTO_AGAIN, -1 for as long as it takes */
    int64_t until;    /* monotonic ms when the current call's patience ends */
};

/* Checks that this is the process that opened the stream, and not a child of it: only the former has the stream's
 * threads and connections. Returns 0 or -1. */
int stretto_check_owner(struct stretto *s);
#endif
