/* The user or program that asks for a change. */
#ifndef API_WHO_H
#define API_WHO_H
#include "api/request.h"

#define WHO_SIZE 256

/* Writes a phrase for people, such as "by token 3 (cron)". The label of a token is its owner's, and may be any text. */
void who_asks(const struct request *r, char out[WHO_SIZE]);
#endif
