/* The struct that the files of the link share: link.c speaks with the rank, link_send.c sends the frames of samples. No
 * other file includes this. */
#ifndef TASKS_MEMBER_LINK_PRIVATE_H
#define TASKS_MEMBER_LINK_PRIVATE_H
#include "tasks/member/bundle.h"
#include "tasks/member/link.h"
#include "tasks/member/window.h"

struct link {
    struct link_config config;
    void *socket;
    size_t endpoint; /* the one that is connected */
    bool heard;      /* a rank has answered there, so the endpoint is right */
    bool welcome;    /* it has answered HELLO */
    int64_t skipped; /* samples that were not sent, since the rank has them */
    bool shares;     /* the rank reads payloads in the slots */
    bool waits;      /* there are frames of another link's, and nothing is sent before the rank has answered HELLO */
    struct window window;
    struct bundle bundle;
    bool finalizing;
    bool finalized;
    char complaint[256];  /* the reason why the rank does not regard the member as finished; "": it does */
    uint64_t member_held; /* steps of this member, of all attempts, that the rank reported at the end */
    bool hello_out;       /* a HELLO is unanswered */
    int64_t silence;      /* ms of silence before the next HELLO; it grows while nobody answers */
    int64_t quiet_since;  /* monotonic ms of the last sign of life, or HELLO */
    int64_t asked;        /* monotonic ms since when an answer has been due, if one is */
    bool said_silent;
    int unlooked;     /* frames sent since the last look for answers */
    bool passed_over; /* link_service() has done nothing since the last frame */
    int64_t looked;   /* monotonic ms */
};

/* Notes that the rank has given a sign of life, or that an answer is due from now on. */
void link_listen(struct link *link);

/* Sends all frames again that are kept. */
int link_resend(struct link *link, struct error *err);
#endif
