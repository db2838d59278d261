#include "daemon/control_key.h"

#include <sodium.h>
#include <string.h>

void control_key_make(const struct store *store, const char *job, char key[CONTROL_KEY_SIZE])
{
    const char *secret = store_control_secret(store);
    unsigned char hash[CONTROL_KEY_SIZE / 2];

    crypto_generichash(hash, sizeof hash, (const unsigned char *)job, strlen(job), (const unsigned char *)secret,
                       strlen(secret));
    sodium_bin2hex(key, CONTROL_KEY_SIZE, hash, sizeof hash);
}

bool control_key_fits(const struct store *store, const struct control_message *message)
{
    char key[CONTROL_KEY_SIZE];

    control_key_make(store, message->job, key);
    return sodium_memcmp(key, message->key, sizeof key) == 0;
}
