#include "tasks/member/link_private.h"

#include "common/jsonx.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "tasks/member/parcel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_MAX 65536
/* Frames up to this size come so fast that looking for answers after each would cost as much as sending it. */
#define SMALL_BYTES 65536
#define LOOK_FRAMES 16
#define LOOK_MS 5

static struct frame link_frame(const struct link *link, enum frame_kind kind)
{
    return (struct frame){
        .kind = kind,
        .key = link->config.env->key,
        .ensemble = link->config.env->ensemble,
        .member = link->config.env->member,
        .attempt = link->config.env->attempt,
        .session = link->config.session,
        .generation = link->config.generation,
    };
}

/* Sends a frame that is not kept: if it is lost, the silence timer sends a new one. */
static void send_control(struct link *link, struct frame *f, const char *payload)
{
    uint8_t *data;
    zmq_msg_t msg;

    f->length = payload != NULL ? strlen(payload) : 0;
    if (zmq_msg_init_size(&msg, FRAME_HEADER_SIZE + f->length) != 0)
        return;
    data = zmq_msg_data(&msg);
    frame_encode(f, data);
    if (f->length > 0)
        memcpy(data + FRAME_HEADER_SIZE, payload, f->length);
    if (zmq_msg_send(&msg, link->socket, ZMQ_DONTWAIT) < 0)
        zmq_msg_close(&msg);
}

static const char *endpoint_of(const struct link *link)
{
    return link->config.address->endpoint[link->endpoint];
}

static void say_hello(struct link *link)
{
    struct frame f = link_frame(link, FRAME_HELLO);
    json_t *body = json_pack("{s:i, s:O}", "version", FRAME_VERSION, "parameters", link->config.env->parameters);
    char *text;

    if (link->config.slots != NULL && strncmp(endpoint_of(link), "ipc://", 6) == 0)
        json_object_set_new(body, "memory", slots_offer(link->config.slots));
    text = jsonx_dump(body, "");
    f.sequence = link->waits ? 0 : link->window.sent;
    f.step = (int64_t)link->window.acked;
    if (text != NULL) /* without memory it is sent later, as if it had been lost */
        send_control(link, &f, text);
    free(text);
    json_decref(body);
    link->hello_out = true;
    link->quiet_since = time_monotonic_ms();
}

static void say_finalize(struct link *link)
{
    struct frame f = link_frame(link, FRAME_FINALIZE);

    f.sequence = link->window.sent;
    f.step = link->skipped;
    send_control(link, &f, NULL);
}

static int set_options(void *socket)
{
    /* The window bounds the frames that are queued here, so ZeroMQ itself must never block or drop a message. */
    int linger = 0, unlimited = 0, retry = 50, retry_max = 1000;
    int64_t reply_max = REPLY_MAX;

    return zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger) == 0 &&
                   zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited) == 0 &&
                   zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &retry, sizeof retry) == 0 &&
                   zmq_setsockopt(socket, ZMQ_RECONNECT_IVL_MAX, &retry_max, sizeof retry_max) == 0 &&
                   zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &reply_max, sizeof reply_max) == 0
               ? 0
               : -1;
}

/* Encrypts the connection, for a rank that has the secret key of `rank_key`; our own pair of keys is for this
 * connection only. */
static int encrypt_link(void *socket, const char *rank_key)
{
    char public_key[41], secret[41];
    int rc;

    if (rank_key == NULL)
        return 0;
    if (zmq_curve_keypair(public_key, secret) != 0)
        return -1;
    rc = zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, rank_key, strlen(rank_key)) == 0 &&
                 zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, 40) == 0 &&
                 zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, 40) == 0
             ? 0
             : -1;
    explicit_bzero(secret, sizeof secret);
    return rc;
}

/* Looks a host's name up among IPv4 addresses only: IPv6 addresses have entries of their own in the list. */
static int connect_to(const struct link *link)
{
    int ipv6 = strncmp(endpoint_of(link), "tcp://[", 7) == 0;

    return zmq_setsockopt(link->socket, ZMQ_IPV6, &ipv6, sizeof ipv6) == 0
               ? zmq_connect(link->socket, endpoint_of(link))
               : -1;
}

/* Connects to the next endpoint. Frames that were sent to the last one are sent again when the new one has answered. */
static void try_next(struct link *link)
{
    zmq_disconnect(link->socket, endpoint_of(link));
    link->endpoint = (link->endpoint + 1) % link->config.address->endpoints;
    if (connect_to(link) != 0)
        log_warn("rank %d cannot be reached at %s: %s", link->config.rank, endpoint_of(link),
                 zmq_strerror(zmq_errno()));
}

struct link *link_create(const struct link_config *config, struct error *err)
{
    struct link *link = calloc(1, sizeof *link);

    if (link == NULL) {
        error_set(err, "stream_memory", "no memory for the way to rank %d", config->rank);
        return NULL;
    }
    link->config = *config;
    link->silence = config->env->silence;
    if (window_init(&link->window, config->window_bytes, config->window_frames, config->backlog) < 0) {
        error_set(err, "stream_memory", "no memory for the window of rank %d", config->rank);
        link_destroy(link);
        return NULL;
    }
    bundle_init(&link->bundle, config->window_bytes);
    link->socket = zmq_socket(config->zmq, ZMQ_DEALER);
    if (link->socket == NULL || set_options(link->socket) < 0 ||
        encrypt_link(link->socket, config->address->curve) < 0 || connect_to(link) != 0) {
        error_set(err, "stream_connect", "cannot connect to rank %d at %s: %s", config->rank, endpoint_of(link),
                  zmq_strerror(zmq_errno()));
        link_destroy(link);
        return NULL;
    }
    link_listen(link);
    say_hello(link);
    return link;
}

void link_hang_up(struct link *link)
{
    if (link->socket != NULL)
        zmq_close(link->socket);
    link->socket = NULL;
}

void link_destroy(struct link *link)
{
    if (link == NULL)
        return;
    bundle_fini(&link->bundle);
    window_fini(&link->window);
    link_hang_up(link);
    free(link);
}

void link_listen(struct link *link)
{
    link->quiet_since = link->asked = time_monotonic_ms();
}

bool link_is_welcome(const struct link *link)
{
    return link->welcome;
}

void link_skip(struct link *link)
{
    link->skipped++;
}

bool link_shares(const struct link *link)
{
    return link->shares;
}

/* Handles WELCOME. The rank that answers may be another one than before, which cannot read the slots any more. */
static int welcome(struct link *link, const struct frame *f, const void *payload, struct error *err)
{
    struct window *w = &link->window;
    bool shared = link->shares, waited = link->waits;

    link->hello_out = link->waits = false;
    if (!link->welcome && link->config.known != NULL)
        known_add(link->config.known, payload, f->length);
    link->welcome = true;
    link->shares = link->config.slots != NULL && (f->flags & FRAME_IN_MEMORY);
    window_ack(w, f->sequence);
    for (uint64_t n = w->first; shared && !link->shares && n < w->next; n++)
        if (parcel_unshare(window_message(w, n), link->config.pool, link->config.slots) < 0)
            return error_set(err, "stream_memory", "no memory for a message to rank %d", link->config.rank);
    /* f->step is the number of frames that had been sent when HELLO was sent: none of them can still be on its way */
    return waited || f->sequence < (uint64_t)f->step ? link_resend(link, err) : 0;
}

static int refused(struct link *link, const struct frame *f, const char *payload, struct error *err)
{
    return error_set(err, "stream_refused", "rank %d refuses member %llu.%llu: %.*s", link->config.rank,
                     (unsigned long long)f->ensemble, (unsigned long long)f->member, (int)f->length, payload);
}

static int link_take(struct link *link, zmq_msg_t *msg, struct error *err)
{
    struct frame f;
    bool all_before = window_is_empty(&link->window);

    if (frame_decode(zmq_msg_data(msg), zmq_msg_size(msg), &f) != FRAME_OK || f.key != link->config.env->key ||
        f.session != link->config.session)
        return 0;
    link_listen(link);
    link->silence = link->config.env->silence;
    link->said_silent = false;
    link->heard = true;
    switch (f.kind) {
    case FRAME_ACK: window_ack(&link->window, f.sequence); break;
    case FRAME_WELCOME:
        if (welcome(link, &f, (const char *)zmq_msg_data(msg) + FRAME_HEADER_SIZE, err) < 0)
            return -1;
        all_before = false;
        break;
    case FRAME_REWIND: window_ack(&link->window, f.sequence); return link_resend(link, err);
    case FRAME_WHO:
        if (!link->hello_out)
            say_hello(link);
        break;
    case FRAME_FINALIZED:
        if (link->finalizing && window_is_empty(&link->window)) {
            link->finalized = true;
            link->member_held = (uint64_t)f.step;
            snprintf(link->complaint, sizeof link->complaint, "%.*s", (int)f.length,
                     (const char *)zmq_msg_data(msg) + FRAME_HEADER_SIZE);
        }
        break;
    case FRAME_REFUSED: return refused(link, &f, (const char *)zmq_msg_data(msg) + FRAME_HEADER_SIZE, err);
    case FRAME_HELLO:
    case FRAME_SAMPLE:
    case FRAME_FINALIZE: break;
    }
    if (link->finalizing && !link->finalized && !all_before && window_is_empty(&link->window))
        say_finalize(link);
    return 0;
}

int link_finalize(struct link *link, struct error *err)
{
    if (link->finalizing)
        return 0;
    if (link_flush(link, err) < 0)
        return -1;
    link->finalizing = true;
    if (window_is_empty(&link->window)) {
        link_listen(link);
        say_finalize(link);
    }
    return 0;
}

uint64_t link_member_held(const struct link *link)
{
    return link->member_held;
}

const char *link_complaint(const struct link *link)
{
    return link->complaint;
}

uint64_t link_oldest(const struct link *link)
{
    return window_oldest(&link->window);
}

bool link_settled(const struct link *link)
{
    return window_is_empty(&link->window) && (!link->finalizing || link->finalized);
}

/* Returns whether an answer is due; frames that are still held need none. */
static bool expects_answer(const struct link *link)
{
    return link->hello_out || link->window.sent != link->window.acked || (link->finalizing && !link->finalized);
}

/* Returns whether to look for answers later. It never does so twice without a frame in between, so that a caller who
 * waits is not delayed. */
static bool pass_over(struct link *link)
{
    uint64_t waiting = link->window.sent - link->window.acked;

    if (link->passed_over || link->unlooked == 0 || link->unlooked >= LOOK_FRAMES || waiting < 2 ||
        link->window.bytes > waiting * SMALL_BYTES || time_monotonic_ms() >= link->looked + LOOK_MS)
        return false;
    link->passed_over = true;
    return true;
}

int link_service(struct link *link, struct error *err)
{
    zmq_msg_t msg;
    int rc = 0;

    if (pass_over(link))
        return 0;
    link->looked = time_monotonic_ms();
    link->unlooked = 0;

    zmq_msg_init(&msg);
    while (rc == 0 && zmq_msg_recv(&msg, link->socket, ZMQ_DONTWAIT) >= 0)
        rc = link_take(link, &msg, err);
    zmq_msg_close(&msg);
    if (rc == 0 && link_timeout(link) == 0) {
        if (!link->said_silent && link->silence >= link->config.env->silence_max) {
            log_warn("member %llu.%llu: rank %d has not answered for a while; still trying",
                     (unsigned long long)link->config.env->ensemble, (unsigned long long)link->config.env->member,
                     link->config.rank);
            link->said_silent = true;
        }
        if (!link->heard && link->config.address->endpoints > 1)
            try_next(link);
        if (link->heard || link->endpoint == 0) /* after each round of the endpoints */
            link->silence =
                link->silence * 2 < link->config.env->silence_max ? link->silence * 2 : link->config.env->silence_max;
        say_hello(link);
    }
    return rc;
}

int64_t link_unanswered(const struct link *link)
{
    return expects_answer(link) ? link->asked : INT64_MAX;
}

int64_t link_timeout(const struct link *link)
{
    int64_t left;

    if (!expects_answer(link))
        return -1;
    left = link->quiet_since + link->silence - time_monotonic_ms();
    return left > 0 ? left : 0;
}

void *link_socket(const struct link *link)
{
    return link->socket;
}
