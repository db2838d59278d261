/* Limits on what one client may ask of the daemon. */
#ifndef API_LIMITS_H
#define API_LIMITS_H

#define LIMIT_BODY (16u << 20)     /* bytes of one request body */
#define LIMIT_OPEN_BODY (4u << 10) /* bytes of one request body from a client that is not known */
#define LIMIT_BODIES (256u << 20)  /* bytes of all bodies in memory at once */
#define LIMIT_DISCARD (64u << 20)  /* bytes of a refused body that are read so that the client sees the answer */
#define LIMIT_STREAMS 2048u        /* event streams; shares.h says how they are divided */
#define LIMIT_FOLLOWS 64u          /* outputs that are followed; shares.h says how they are divided */
#define LIMIT_STRANGERS 256u       /* connections of one listener without a request that was let in */
#define LIMIT_STRANGER_MS 10000u   /* time for such a connection to send a request */
/* connections of one listener, if there are descriptors for them */
#define LIMIT_CONNECTIONS (400u + LIMIT_STRANGERS + LIMIT_STREAMS + LIMIT_FOLLOWS)
#define LIMIT_FILES 256u          /* descriptors that connections leave for jobs, files and the database */
#define LIMIT_IDLE_SECONDS 60u    /* a connection is closed after so long without a byte in either direction */
#define LIMIT_PARAMETERS 64u      /* parameters of a query; no call knows as many */
#define LIMIT_HEADERS (32u << 10) /* bytes of memory of one connection for request line, headers, reply headers */

#endif
