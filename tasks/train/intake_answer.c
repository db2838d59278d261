#include "tasks/train/intake_private.h"

#include "common/log.h"
#include "common/timefmt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAY_MEMORY_MS 60000

/* Describes the sender as far as possible: by the frame, where its header is valid, and by the connection. */
static const char *sender(char *buf, size_t size, struct origin from, const struct frame *f)
{
    const char *address = from.msg != NULL ? zmq_msg_gets(from.msg, "Peer-Address") : NULL;
    int n = 0;

    if (f != NULL)
        n = snprintf(buf, size, "member %llu.%llu, attempt %u, ", (unsigned long long)f->ensemble,
                     (unsigned long long)f->member, f->attempt);
    n += snprintf(buf + n, size - (size_t)n, "connection ");
    for (int i = 0; i < from.routing_size && i < 16; i++)
        n += snprintf(buf + n, size - (size_t)n, "%02x", from.routing[i]);
    if (address != NULL && strncmp(address, "::ffff:", 7) == 0)
        address += 7; /* an IPv4 address on a socket for both families */
    if (address != NULL && *address != '\0')
        snprintf(buf + n, size - (size_t)n, " from %.64s", address);
    return buf;
}

void intake_reject(struct intake *in, struct origin from, const struct frame *f, int fault, const char *why)
{
    char who[256];

    intake_count(&in->counters.rejected[fault], 1);
    if (!in->said[fault])
        log_warn("ensemble %llu, rank %d: a frame of %s was rejected: %s (said once; the status counts them as \"%s\")",
                 (unsigned long long)in->config->ensemble, in->config->rank, sender(who, sizeof who, from, f), why,
                 fault_name(fault));
    in->said[fault] = true;
}

bool intake_no_memory(struct intake *in)
{
    int64_t now = time_monotonic_ms();

    if (in->said_memory == 0 || now - in->said_memory >= SAY_MEMORY_MS)
        log_warn("ensemble %llu, rank %d: there is no memory for what a member has sent; it is sent again until there "
                 "is",
                 (unsigned long long)in->config->ensemble, in->config->rank);
    in->said_memory = now;
    return false;
}

void intake_answer_flagged(struct intake *in, struct origin to, const struct frame *f, enum frame_kind kind,
                           uint16_t flags, uint64_t sequence, int64_t step, const char *payload)
{
    struct frame reply = {.kind = kind,
                          .flags = flags,
                          .key = f->key,
                          .ensemble = f->ensemble,
                          .member = f->member,
                          .session = f->session,
                          .attempt = f->attempt,
                          .generation = in->config->generation,
                          .sequence = sequence,
                          .step = step,
                          .length = payload != NULL ? strlen(payload) : 0};

    in->reply(in->arg, to.routing, to.routing_size, &reply, payload);
}

void intake_answer(struct intake *in, struct origin to, const struct frame *f, enum frame_kind kind, uint64_t sequence,
                   int64_t step, const char *payload)
{
    intake_answer_flagged(in, to, f, kind, 0, sequence, step, payload);
}

void intake_refuse(struct intake *in, struct origin to, const struct frame *f, int fault, const char *fmt, ...)
{
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    intake_reject(in, to, f, fault, why);
    intake_answer(in, to, f, FRAME_REFUSED, 0, 0, why);
}
