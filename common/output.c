#include "common/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name;
static int status_if_lost;

static void check_stdout(void)
{
    bool failed_before = ferror(stdout) != 0;

    if (fflush(stdout) == 0 && !failed_before)
        return;
    if (failed_before)
        fprintf(stderr, "%s: standard output cannot be written\n", name);
    else
        fprintf(stderr, "%s: standard output cannot be written: %s\n", name, strerror(errno));
    _exit(status_if_lost); /* exit() is running already, and must not be called a second time */
}

void output_check_at_exit(const char *program, int status)
{
    name = program;
    status_if_lost = status;
    atexit(check_stdout);
}
