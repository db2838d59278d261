#include "tasks/runner/runlog.h"

#include "common/jobfd.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    char *path; /* NULL: not begun, or in the file */
    int memory; /* -1: none */
} the = {.memory = -1};

static void write_to(int fd)
{
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
}

void runlog_begin(const char *jobdir)
{
    struct error err;

    the.path = xasprintf("%s/runner.log", jobdir);
    the.memory = jobfd_write("", 0, &err);
    if (the.memory >= 0)
        write_to(the.memory);
    else
        runlog_keep();
}

void runlog_keep(void)
{
    int fd = the.path ? open(the.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600) : -1;
    struct error err;
    size_t size;
    char *text;

    if (fd < 0) /* tried again later, with all that is written until then */
        return;
    text = the.memory >= 0 ? jobfd_read(the.memory, &size, &err) : NULL;
    if (text != NULL && write(fd, text, size) < 0) { /* the disk is full: later lines may find room */
    }
    free(text);
    write_to(fd);
    close(fd);
    if (the.memory >= 0)
        close(the.memory);
    free(the.path);
    the.path = NULL;
    the.memory = -1;
}
