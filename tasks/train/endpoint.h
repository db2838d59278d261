/* The socket on which a rank receives, and the file by which members find it. */
#ifndef TASKS_TRAIN_ENDPOINT_H
#define TASKS_TRAIN_ENDPOINT_H
#include "tasks/proto/kept.h"
#include "tasks/train/config.h"

struct endpoint;

/* Binds a ROUTER socket in a directory that only this user can enter ($STRETTO_TMPDIR, or one of its own in /tmp).
 * Binds it on the network, too, if members may be elsewhere. `head` may be NULL: the memory that outlives this process,
 * which keeps the place. After a restart it holds the former process's place, so that members find this one by
 * themselves. */
struct endpoint *endpoint_create(const struct train_config *config, void *zmq, struct kept_head *head,
                                 struct error *err);

/* Writes the file in the stream directory that has the socket's addresses. Callable from any thread. */
int endpoint_publish(const struct endpoint *endpoint, const struct train_config *config, struct error *err);

/* Closes the socket and removes its files. NULL is allowed. */
void endpoint_destroy(struct endpoint *endpoint);

/* Returns the socket; used by one thread at a time. */
void *endpoint_socket(const struct endpoint *endpoint);
#endif
