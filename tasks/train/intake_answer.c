#include "tasks/train/intake_private.h"

#include "common/log.h"
#include "common/timefmt.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAY_MEMORY_MS 60000
/* Limits of the answer to a later attempt about its steps: the number of runs, for which a member has room, and their
 * greatest distance. */
#define RUNS_MAX 4000
#define EMPTY_MAX 4096

/* Describes the sender as far as possible: by the frame, if its header is valid, and by the connection. */
static const char *sender(char *buf, size_t size, struct frame_origin from, const struct frame *f)
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

void intake_reject(struct intake *in, struct frame_origin from, const struct frame *f, int fault, const char *why)
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

static struct frame answer_to(const struct intake *in, const struct frame *f, enum frame_kind kind, uint64_t sequence,
                              int64_t step)
{
    return (struct frame){.kind = kind,
                          .key = f->key,
                          .ensemble = f->ensemble,
                          .member = f->member,
                          .session = f->session,
                          .attempt = f->attempt,
                          .generation = in->config->generation,
                          .sequence = sequence,
                          .step = step};
}

void intake_answer(struct intake *in, struct frame_origin to, const struct frame *f, enum frame_kind kind,
                   uint64_t sequence, int64_t step, const char *payload)
{
    struct frame reply = answer_to(in, f, kind, sequence, step);

    reply.length = payload != NULL ? strlen(payload) : 0;
    in->reply(in->arg, to.routing, to.routing_size, &reply, payload);
}

/* Writes which steps of a member this rank has: its runs (stepset.h), each as step / 64 and a bit for each step, of the
 * first RUNS_MAX of them. Steps that are far above all others may be left out, since they are looked for one run after
 * the other. Returns how many bytes. */
static size_t write_steps(const struct intake *in, uint64_t member, uint64_t *out)
{
    size_t n = 0;

    for (uint64_t number = 0, empty = 0; n < RUNS_MAX && empty < EMPTY_MAX; number++) {
        uint64_t bits = stepset_bits(in->have, member << 32 | number);

        empty = bits == 0 ? empty + 1 : 0;
        if (bits == 0)
            continue;
        out[2 * n] = htole64(number);
        out[2 * n++ + 1] = htole64(bits);
    }
    return 2 * n * sizeof *out;
}

void intake_welcome(struct intake *in, struct frame_origin to, const struct frame *f, const struct peer *peer)
{
    struct frame reply = answer_to(in, f, FRAME_WELCOME, peer->last, (int64_t)(f->sequence & INT64_MAX));
    uint64_t steps[2 * RUNS_MAX];

    reply.flags = peer->memory != NULL ? FRAME_IN_MEMORY : 0;
    if (f->attempt > 1)
        reply.length = write_steps(in, f->member, steps);
    in->reply(in->arg, to.routing, to.routing_size, &reply, (const char *)steps);
}

void intake_refuse(struct intake *in, struct frame_origin to, const struct frame *f, int fault, const char *fmt, ...)
{
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    intake_reject(in, to, f, fault, why);
    intake_answer(in, to, f, FRAME_REFUSED, 0, 0, why);
}
