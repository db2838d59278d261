/* What one client may ask of the daemon. */
#ifndef API_LIMITS_H
#define API_LIMITS_H

#define LIMIT_BODY (16u << 20)       /* bytes of one request body */
#define LIMIT_OPEN_BODY (4u << 10)   /* likewise, from somebody who is not known */
#define LIMIT_BODIES (256u << 20)    /* bytes of all bodies in memory at once */
#define LIMIT_DISCARD (64u << 20)    /* bytes of a refused body that are read so that the client sees the answer */
#define LIMIT_STREAMS 2048u          /* event streams; shares.h says who may have how many of them */
#define LIMIT_FOLLOWS 64u            /* outputs that are followed; likewise */
#define LIMIT_STRANGERS 256u         /* connections of which no request has been let in; of one listener */
#define LIMIT_STRANGER_MS 10000u     /* until then */
#define LIMIT_CONNECTIONS (400u + LIMIT_STRANGERS + LIMIT_STREAMS + LIMIT_FOLLOWS) /* of one listener, where descriptors allow */
#define LIMIT_FILES 256u             /* descriptors that connections leave for jobs, files and the database */
#define LIMIT_IDLE_SECONDS 60u       /* without a byte in either direction */
#define LIMIT_PARAMETERS 64u          /* of a query; no call knows as many */
#define LIMIT_HEADERS (32u << 10)    /* bytes of memory of one connection: request line, headers, reply headers */

#endif
