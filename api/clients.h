/* Keeps account of who is connected to one listener, so that those who only hold a connection keep nobody out.
 *
 * A client is a stranger until one of its requests has been let in (access.h). There is room for a number of strangers:
 * one more makes the oldest go, and each has LIMIT_STRANGER_MS to send a request. A stranger that is being answered
 * does not go for being late, since its request has been carried out, and it would only ask again. So a client that
 * sends its request at once gets in, however many others send nothing, or a byte at a time. Clients that were let in
 * have room of their own, which strangers cannot fill. For the loop's thread only. */
#ifndef API_CLIENTS_H
#define API_CLIENTS_H
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct clients;
struct http_client;

struct clients_counts {
    unsigned strangers, known;
    uint64_t evicted; /* strangers that had to go for others, or were too slow */
};

/* Makes room for `max` connections in all. They are counted in `total` as well, which is borrowed and shared with other
 * listeners. */
struct clients *clients_create(uv_loop_t *loop, unsigned max, struct clients_counts *total);
/* Must be called when all clients have been removed. The loop closes its handle and frees its memory. */
void clients_destroy(struct clients *clients);

/* Adds a connection. `fd` belongs to its owner, and may be shut down here (not closed) until the client is removed. */
struct http_client *clients_add(struct clients *clients, int fd);
/* Notes whether a whole request of the client is being answered. */
void clients_answer(struct clients *clients, struct http_client *client, bool answering);
/* Admits a client after one of its requests was let in. Returns false if there are too many; it then remains a
 * stranger. */
bool clients_admit(struct clients *clients, struct http_client *client);
void clients_remove(struct clients *clients, struct http_client *client);
#endif
