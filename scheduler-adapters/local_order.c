/* Orders to run a job, for the starter and its copies (tasks/proto/starter.h). */
#include "scheduler-adapters/local.h"

#include "common/jobfd.h"
#include "tasks/proto/starter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define JOBFD_MAX_HERE (256 << 10) /* bytes: a worker writes longer descriptors */

static size_t write_text(char text[STARTER_ORDER_MAX], const struct local_job *job, const char *gpus)
{
    int n = snprintf(text, STARTER_ORDER_MAX, "%s%c%s%c%s", job->name, 0, job->dir, 0, gpus != NULL ? gpus : "");

    return strlen(job->name) >= STARTER_MARK_ROOM || n + 1 >= STARTER_ORDER_MAX ? 0 : (size_t)n + (gpus != NULL);
}

bool local_order_suits(const struct local_job *job)
{
    size_t size = job->descriptor != NULL ? strlen(job->descriptor) : 0;

    return size > 0 && size <= JOBFD_MAX_HERE;
}

bool local_order_write(struct local_order *order, const struct local_job *job)
{
    char *gpus = job->a->have.gpus > 0 ? local_gpus_option(job) : NULL;
    struct error err;

    order->size = write_text(order->text, job, gpus != NULL ? strchr(gpus, '=') + 1 : NULL);
    free(gpus);
    order->jobfd = order->size > 0 ? jobfd_write(job->descriptor, strlen(job->descriptor), &err) : -1;
    return order->jobfd >= 0;
}

int local_order_send(const struct local_order *order, int socket, int end)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    const int fds[] = {order->jobfd, end};
    size_t size = (end < 0 ? 1 : 2) * sizeof *fds;
    struct iovec part = {(void *)order->text, order->size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(head), fds, size);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)order->size ? 0 : -1;
}
