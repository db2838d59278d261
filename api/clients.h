/* Who is connected to one listener, so that those who only hold a connection keep nobody out.
 *
 * A connection is a stranger's until one of its requests has been let in (access.h). There is room for so many strangers;
 * one more makes the eldest go, and each has LIMIT_STRANGER_MS to ask for something. One that is being answered does not go for
 * being late: what it asked for has been done, and it would ask again. So a client that sends its request at
 * once gets in however many others say nothing, or say it a byte at a time. Those who were let in have a room of their
 * own, which no stranger can fill. Loop thread only. */
#ifndef API_CLIENTS_H
#define API_CLIENTS_H
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct clients;
struct client;

struct clients_counts {
    unsigned strangers, known;
    uint64_t evicted; /* strangers who had to go for others, or were too slow */
};

/* Room for `max` connections in all. They are counted in `total`, too, which is other listeners' as well, and borrowed. */
struct clients *clients_create(uv_loop_t *loop, unsigned max, struct clients_counts *total);
/* All have been removed. Its handle is closed, and its memory freed, by the loop. */
void clients_destroy(struct clients *clients);

/* A new connection; `fd` stays its owner's, and may be shut down (not closed) until the client is removed. */
struct client *clients_add(struct clients *clients, int fd);
/* A whole request of its is there and being answered; or no longer. */
void clients_answer(struct clients *clients, struct client *client, bool answering);
/* One of its requests has been let in. False: there are too many such, and it remains a stranger. */
bool clients_admit(struct clients *clients, struct client *client);
void clients_remove(struct clients *clients, struct client *client);
#endif
