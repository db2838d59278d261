/* A rank's socket on the network, encrypted. */
#ifndef TASKS_TRAIN_NETWORK_H
#define TASKS_TRAIN_NETWORK_H
#include "common/error.h"

#include <jansson.h>

#define NETWORK_KEY_SIZE 41

/* Binds ports of the system's choice on the addresses of `interface` only, or where that is NULL on every address of
 * the host, with CURVE and a key pair made for this process: whoever does not know the public key, which is in a file
 * that only its owner can read, cannot send a frame. Appends the endpoints that other hosts may try, the most likely
 * ones first: IPv4 before IPv6, and the host's name where no interface is named. Addresses that were bound to the
 * socket before stay bound. */
int network_bind(void *socket, const char *interface, json_t *endpoints,
                 char public_key[NETWORK_KEY_SIZE], struct error *err);
#endif
