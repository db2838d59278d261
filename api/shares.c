#include "api/shares.h"

#include "common/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <uthash.h>

struct share {
    int64_t token;
    unsigned taken;
    UT_hash_handle hh;
};

static struct share *find_share(const struct shares *shares, int64_t token)
{
    struct share *share;

    HASH_FIND(hh, shares->tokens, &token, sizeof token, share);
    return share;
}

static void count_token(struct shares *shares, int64_t token)
{
    struct share *share = find_share(shares, token);

    if (share == NULL) {
        share = xcalloc(1, sizeof *share);
        share->token = token;
        HASH_ADD(hh, shares->tokens, token, sizeof share->token, share);
    }
    share->taken++;
    shares->by_tcp++;
}

static int check_tcp(const struct shares *shares, int64_t token, struct error *err)
{
    const struct share *share = find_share(shares, token);
    unsigned of_token = shares->max / 4, of_tcp = shares->max - shares->max / 4;

    if (share != NULL && share->taken >= of_token)
        return error_set(err, "token_busy",
                         "token %" PRId64 " has %u %s open already, as many as one token may have; close some", token,
                         share->taken, shares->what);
    if (shares->by_tcp >= of_tcp)
        return error_set(err, "tcp_busy",
                         "%u %s are open over TCP already, as many as there may be; close some, or try again later",
                         shares->by_tcp, shares->what);
    return 0;
}

int shares_take(struct shares *shares, int64_t token, struct error *err)
{
    if (token != 0 && check_tcp(shares, token, err) < 0)
        return -1;
    if (shares->taken >= shares->max)
        return error_set(err, "busy", "%u %s are open already, as many as there may be; close some, or try again later",
                         shares->taken, shares->what);
    if (token != 0)
        count_token(shares, token);
    shares->taken++;
    return 0;
}

void shares_give_back(struct shares *shares, int64_t token)
{
    struct share *share = token != 0 ? find_share(shares, token) : NULL;

    shares->taken--;
    if (share == NULL)
        return;
    shares->by_tcp--;
    if (--share->taken > 0)
        return;
    HASH_DEL(shares->tokens, share);
    free(share);
}
