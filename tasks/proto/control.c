#include "tasks/proto/control.h"

#include "common/jsonx.h"
#include "tasks/proto/jobdesc.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The number of tries of a full queue. Linux queues 11 messages unless net.unix.max_dgram_qlen is raised, and as many
 * runners may end at once. A running daemon empties the queue within a few tries. */
#define FULL_TRIES 20

static const char *const what_names[] = {
    [CONTROL_CLAIM] = "claim",       [CONTROL_EXIT] = "exit",       [CONTROL_ENDED] = "ended",
    [CONTROL_STATUS] = "status",     [CONTROL_METRICS] = "metrics", [CONTROL_DONE] = "done",
    [CONTROL_ENDPOINT] = "endpoint",
};

size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, enum control_what what)
{
    return (size_t)snprintf(buf, CONTROL_MESSAGE_MAX, "{\"version\": 1, \"job\": \"%.63s\", \"what\": \"%s\"}", job,
                            what_names[what]);
}

int control_parse(const void *data, size_t size, struct control_message *out, struct error *err)
{
    const char *job = NULL, *what = NULL;
    json_error_t jerr;
    json_t *root;
    int64_t version;
    size_t i;
    int rc = -1;

    if (size >= CONTROL_MESSAGE_MAX)
        return error_set(err, "control_invalid", "a control message of %zu bytes is too long", size);
    root = json_loadb(data, size, 0, &jerr);
    if (root == NULL || !json_is_object(root)) {
        error_set(err, "control_invalid", "a control message is no JSON object");
        goto out;
    }
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) < 0 ||
        jsonx_string(root, "", "job", JSONX_REQUIRED, &job, err) < 0 ||
        jsonx_string(root, "", "what", JSONX_REQUIRED, &what, err) < 0)
        goto out;
    for (i = 0; i < sizeof what_names / sizeof *what_names && strcmp(what, what_names[i]) != 0; i++)
        ;
    if (!job_name_valid(job) || i == sizeof what_names / sizeof *what_names) {
        error_set(err, "control_invalid", "a control message about nothing known");
        goto out;
    }
    snprintf(out->job, sizeof out->job, "%s", job);
    out->what = (enum control_what)i;
    rc = 0;
out:
    json_decref(root);
    return rc;
}

void control_nudge(const char *path, const char *job, enum control_what what)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char text[CONTROL_MESSAGE_MAX];
    size_t size = control_build(text, job, what);
    int fd, tries = 0;

    if (path == NULL || path[0] != '/' || strlen(path) >= sizeof to.sun_path)
        return;
    strcpy(to.sun_path, path);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    while (sendto(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof to) < 0 &&
           errno == EAGAIN && tries++ < FULL_TRIES)
        sched_yield();
    close(fd);
}
