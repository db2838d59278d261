#include "cli/cli.h"
#include "cli/client.h"

#include <stdio.h>
#include <string.h>

int cli_fail(const struct error *err)
{
    bool no_daemon = strcmp(err->code, CLIENT_NO_DAEMON) == 0 || strcmp(err->code, CLIENT_STRANGER) == 0;
    bool usage = strcmp(err->code, CLIENT_BAD_URL) == 0 || strcmp(err->code, "spec_file") == 0 ||
                 strcmp(err->code, "token_file") == 0 || strcmp(err->code, "file_exists") == 0 ||
                 strcmp(err->code, "file_write") == 0 || strcmp(err->code, "token_label") == 0 ||
                 strcmp(err->code, "path_not_safe") == 0 || strcmp(err->code, "path_unusable") == 0;

    if (strcmp(err->code, CLIENT_INTERRUPTED) == 0)
        return CLI_INTERRUPTED;
    fprintf(stderr, "stretto: %s", err->text);
    if (no_daemon || usage)
        fputc('\n', stderr);
    else if (err->pointer[0])
        fprintf(stderr, " (%s at %s)\n", err->code, err->pointer);
    else
        fprintf(stderr, " (%s)\n", err->code);

    if (no_daemon)
        return CLI_NO_DAEMON;
    return usage ? CLI_USAGE : CLI_REFUSED;
}
