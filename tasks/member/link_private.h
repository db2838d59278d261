/* What the files of the link share: link.c speaks with the rank, link_send.c sends it the samples' frames. For no other
 * file. */
#ifndef TASKS_MEMBER_LINK_PRIVATE_H
#define TASKS_MEMBER_LINK_PRIVATE_H
#include "tasks/member/bundle.h"
#include "tasks/member/link.h"
#include "tasks/member/window.h"

struct link {
    struct link_config config;
    void *socket;
    size_t endpoint;   /* that is connected to */
    bool heard;        /* it has answered: it is the right one */
    bool shares;       /* and reads payloads in the slots */
    struct window window;
    struct bundle bundle;
    bool finalizing;
    bool finalized;
    char complaint[256];  /* why the rank does not take the member for finished; "": it does */
    uint64_t member_held; /* steps of this member, of all attempts, that the rank told with it */
    bool hello_out;        /* a HELLO is unanswered */
    int64_t silence;       /* ms of silence after which HELLO is said again; grows while nobody answers */
    int64_t quiet_since;   /* monotonic ms: the last sign of life, or HELLO */
    bool said_silent;
    int unlooked;      /* frames sent since answers were last looked for */
    bool passed_over;  /* link_service() has done nothing since the last frame */
    int64_t looked;    /* monotonic ms */
};

/* Send all again that is kept. */
int link_resend(struct link *link, struct error *err);
#endif
