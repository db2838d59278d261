/* A rank's socket on the network, encrypted. */
#ifndef TASKS_TRAIN_NETWORK_H
#define TASKS_TRAIN_NETWORK_H
#include "common/error.h"

#include <jansson.h>

#define NETWORK_KEY_SIZE 41

/* Bind ports of the system's choice on the addresses of `interface` and no others, or where that is NULL on every address
 * of the host, with CURVE and a key pair made for this process: whoever does not know the public key, which stands in a
 * file that only its owner can read, does not get as far as a frame. Appends the endpoints at which other hosts may try, the likely
 * ones first: IPv4 before IPv6, and the host's name where no interface is named. What is bound to the socket before stays as
 * it is. */
int network_bind(void *socket, const char *interface, json_t *endpoints,
                 char public_key[NETWORK_KEY_SIZE], struct error *err);
#endif
