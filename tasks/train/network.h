/* A rank's socket on the network, encrypted. */
#ifndef TASKS_TRAIN_NETWORK_H
#define TASKS_TRAIN_NETWORK_H
#include "common/error.h"
#include "tasks/proto/kept.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define NETWORK_KEY_SIZE 41

/* The ports of a rank's endpoint, in the order in which they were bound, and its keys. If `again` is true, they are
 * those of the rank's former process, and are used once more; otherwise network_bind() sets them. */
struct network_place {
    bool again;
    size_t ports, bound;
    uint16_t port[KEPT_PORTS_MAX];
    char public_key[NETWORK_KEY_SIZE], secret_key[NETWORK_KEY_SIZE];
};

/* Binds a port of the host's address, and writes the endpoint. Returns -1 with zmq_errno(). */
int network_bind_host(void *socket, const char *host, struct network_place *place, char *bound, size_t size);

/* Binds ports of the system's choice, with CURVE and a key pair made for this rank. Binds only the addresses of
 * `interface`, or, if that is NULL, every address of the host. The public key is in a file that only its owner can
 * read; without it nobody can send a frame. Appends the endpoints that other hosts may try, the most likely ones first:
 * IPv4 before IPv6, and the host's name if no interface is named. Addresses that were bound to the socket before stay
 * bound. */
int network_bind(void *socket, const char *interface, struct network_place *place, json_t *endpoints,
                 struct error *err);
#endif
