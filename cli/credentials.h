/* The token that goes with each call. It is never an argument: every user of the machine can read those. */
#ifndef CLI_CREDENTIALS_H
#define CLI_CREDENTIALS_H
#include "common/error.h"

/* STRETTO_TOKEN, or else what is in the file that STRETTO_TOKEN_FILE names, which must belong to this user and be closed
 * to all others. *token is to be freed; NULL where neither is set. Code "token_file". */
int credentials_token(char **token, struct error *err);
#endif
