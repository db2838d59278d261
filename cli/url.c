#include "cli/url.h"

#include "common/xalloc.h"

#include <stdlib.h>

static char *default_socket(struct error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && state[0] == '/') /* the XDG specification says that a relative path is to be ignored */
        return xasprintf("%s/stretto/stretto.sock", state);
    if (home && home[0] == '/')
        return xasprintf("%s/.local/state/stretto/stretto.sock", home);
    error_set(err, URL_BAD, "neither XDG_STATE_HOME nor HOME is set: say where the daemon is with --url");
    return NULL;
}

int cli_url_parse(struct url *url, const char *text, struct error *err)
{
    char *socket, *whole;
    int rc;

    if (text != NULL && text[0] != '\0')
        return url_parse(url, text, err);
    *url = (struct url){0};
    socket = default_socket(err);
    if (socket == NULL)
        return -1;
    whole = xasprintf("unix:%s", socket);
    rc = url_parse(url, whole, err);
    free(whole);
    free(socket);
    return rc;
}
