/* Finds the token that goes with each call. It is never an argument, since all users of the machine can read
 * arguments. */
#ifndef CLI_CREDENTIALS_H
#define CLI_CREDENTIALS_H
#include "common/error.h"

/* Reads the token from STRETTO_TOKEN, or else from the file that STRETTO_TOKEN_FILE names. That file must belong to
 * this user and be closed to all others. *token is to be freed; it is NULL if neither is set. Fails with code
 * "token_file". */
int credentials_token(char **token, struct error *err);
#endif
