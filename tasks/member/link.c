#include "tasks/member/link.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_MAX_MS 30000
#define REPLY_MAX 65536
/* Frames this small come so fast that looking for answers at each of them would cost as much as sending it. */
#define SMALL_BYTES 65536
#define LOOK_FRAMES 16
#define LOOK_MS 5

struct link {
    struct link_config config;
    void *socket;
    size_t endpoint;   /* that is connected to */
    bool heard;        /* it has answered: it is the right one */
    zmq_msg_t *window; /* ring: the frame of sequence n is at n % window_frames */
    size_t window_used; /* bytes */
    uint64_t acked;     /* highest sequence number that the rank holds safely */
    uint64_t sent;      /* highest that was sent */
    bool finalizing;
    bool finalized;
    bool hello_out;        /* a HELLO is unanswered */
    int64_t silence;       /* ms of silence after which HELLO is said again; grows while nobody answers */
    int64_t quiet_since;   /* monotonic ms: the last sign of life, or HELLO */
    bool said_silent;
    int unlooked;      /* frames sent since answers were last looked for */
    bool passed_over;  /* link_service() has done nothing since the last frame */
    int64_t looked;    /* monotonic ms */
};

static struct frame frame_of(const struct link *link, enum frame_kind kind)
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

/* A frame that is not kept: where it gets lost, silence brings a new one. */
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

static void say_hello(struct link *link)
{
    struct frame f = frame_of(link, FRAME_HELLO);
    json_t *body = json_pack("{s:i, s:O}", "version", FRAME_VERSION, "parameters", link->config.env->parameters);
    char *text = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);

    f.sequence = link->sent;
    f.step = (int64_t)link->acked;
    send_control(link, &f, text);
    free(text);
    json_decref(body);
    link->hello_out = true;
    link->quiet_since = time_monotonic_ms();
}

static void say_finalize(struct link *link)
{
    struct frame f = frame_of(link, FRAME_FINALIZE);

    f.sequence = link->sent;
    send_control(link, &f, NULL);
}

static int set_options(void *socket)
{
    /* The window bounds what is queued here, so ZeroMQ itself must never make a send block or drop. */
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

/* Whoever does not have the rank's secret key is not spoken to; our own pair is only of this connection. */
static int encrypt(void *socket, const char *rank_key)
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

static const char *endpoint_of(const struct link *link)
{
    return link->config.address->endpoint[link->endpoint];
}

/* What was sent there is sent again, once the next one has answered. */
static void try_next(struct link *link)
{
    zmq_disconnect(link->socket, endpoint_of(link));
    link->endpoint = (link->endpoint + 1) % link->config.address->endpoints;
    if (zmq_connect(link->socket, endpoint_of(link)) != 0)
        log_warn("rank %d cannot be reached at %s: %s", link->config.rank, endpoint_of(link), zmq_strerror(zmq_errno()));
}

struct link *link_create(const struct link_config *config, struct error *err)
{
    struct link *link = xcalloc(1, sizeof *link);

    link->config = *config;
    link->silence = config->env->silence;
    link->window = xcalloc(config->window_frames, sizeof *link->window);
    link->socket = zmq_socket(config->zmq, ZMQ_DEALER);
    if (link->socket == NULL || set_options(link->socket) < 0 ||
        encrypt(link->socket, config->address->curve) < 0 || zmq_connect(link->socket, endpoint_of(link)) != 0) {
        error_set(err, "stream_connect", "cannot connect to rank %d at %s: %s", config->rank, endpoint_of(link),
                  zmq_strerror(zmq_errno()));
        link_destroy(link);
        return NULL;
    }
    say_hello(link);
    return link;
}

void link_destroy(struct link *link)
{
    if (link == NULL)
        return;
    for (uint64_t n = link->acked + 1; n <= link->sent; n++)
        zmq_msg_close(&link->window[n % link->config.window_frames]);
    if (link->socket != NULL)
        zmq_close(link->socket);
    free(link->window);
    free(link);
}

bool link_has_room(const struct link *link, size_t size)
{
    uint64_t frames = link->sent - link->acked;

    if (frames >= link->config.window_frames)
        return false;
    return frames < 2 || link->window_used + size <= link->config.window_bytes;
}

/* The window keeps the message, ZeroMQ gets a second reference to the same bytes. */
static int send_kept(struct link *link, uint64_t sequence, struct error *err)
{
    zmq_msg_t copy;

    zmq_msg_init(&copy);
    if (zmq_msg_copy(&copy, &link->window[sequence % link->config.window_frames]) != 0 ||
        (zmq_msg_send(&copy, link->socket, ZMQ_DONTWAIT) < 0 && zmq_errno() != EAGAIN && zmq_errno() != EINTR)) {
        error_set(err, "stream_send", "cannot send to rank %d: %s", link->config.rank, zmq_strerror(zmq_errno()));
        zmq_msg_close(&copy);
        return -1;
    }
    zmq_msg_close(&copy);
    return 0;
}

int link_send(struct link *link, struct frame *f, zmq_msg_t *msg, struct error *err)
{
    struct frame identity = frame_of(link, FRAME_SAMPLE);
    zmq_msg_t *kept;

    f->kind = identity.kind;
    f->key = identity.key;
    f->ensemble = identity.ensemble;
    f->member = identity.member;
    f->attempt = identity.attempt;
    f->session = identity.session;
    f->generation = identity.generation;
    f->sequence = link->sent + 1;
    frame_encode(f, zmq_msg_data(msg));
    if (link->sent == link->acked)
        link->quiet_since = time_monotonic_ms(); /* until now there was nothing to answer */
    link->sent++;
    kept = &link->window[link->sent % link->config.window_frames];
    zmq_msg_init(kept);
    zmq_msg_move(kept, msg);
    zmq_msg_close(msg);
    link->window_used += zmq_msg_size(kept);
    link->unlooked++;
    link->passed_over = false;
    return send_kept(link, link->sent, err);
}

static void take_ack(struct link *link, uint64_t sequence)
{
    if (sequence > link->sent)
        return;
    while (link->acked < sequence) {
        zmq_msg_t *kept = &link->window[++link->acked % link->config.window_frames];

        link->window_used -= zmq_msg_size(kept);
        zmq_msg_close(kept);
    }
}

static int resend(struct link *link, struct error *err)
{
    for (uint64_t n = link->acked + 1; n <= link->sent; n++)
        if (send_kept(link, n, err) < 0)
            return -1;
    return 0;
}

static int refused(struct link *link, const struct frame *f, const char *payload, struct error *err)
{
    return error_set(err, "stream_refused", "rank %d refuses member %llu.%llu: %.*s", link->config.rank,
                     (unsigned long long)f->ensemble, (unsigned long long)f->member, (int)f->length, payload);
}

static int take(struct link *link, zmq_msg_t *msg, struct error *err)
{
    struct frame f;
    bool all_before = link->acked == link->sent;

    if (frame_decode(zmq_msg_data(msg), zmq_msg_size(msg), &f) != FRAME_OK || f.key != link->config.env->key ||
        f.session != link->config.session)
        return 0;
    link->quiet_since = time_monotonic_ms();
    link->silence = link->config.env->silence;
    link->said_silent = false;
    link->heard = true;
    switch (f.kind) {
    case FRAME_ACK:
        take_ack(link, f.sequence);
        break;
    case FRAME_WELCOME:
        link->hello_out = false;
        take_ack(link, f.sequence);
        /* f.step is what had been sent when HELLO was said: frames before it can no longer be on their way */
        if (f.sequence < (uint64_t)f.step && resend(link, err) < 0)
            return -1;
        all_before = false;
        break;
    case FRAME_REWIND:
        take_ack(link, f.sequence);
        return resend(link, err);
    case FRAME_WHO:
        if (!link->hello_out)
            say_hello(link);
        break;
    case FRAME_FINALIZED:
        if (link->finalizing && link->acked == link->sent)
            link->finalized = true;
        break;
    case FRAME_REFUSED:
        return refused(link, &f, (const char *)zmq_msg_data(msg) + FRAME_HEADER_SIZE, err);
    case FRAME_HELLO:
    case FRAME_SAMPLE:
    case FRAME_FINALIZE:
        break;
    }
    if (link->finalizing && !link->finalized && !all_before && link->acked == link->sent)
        say_finalize(link);
    return 0;
}

void link_finalize(struct link *link)
{
    if (link->finalizing)
        return;
    link->finalizing = true;
    if (link->acked == link->sent) {
        link->quiet_since = time_monotonic_ms();
        say_finalize(link);
    }
}

bool link_settled(const struct link *link)
{
    return link->acked == link->sent && (!link->finalizing || link->finalized);
}

static bool expects_answer(const struct link *link)
{
    return link->hello_out || !link_settled(link);
}

/* Whether to leave the answers for later: never twice without a frame in between, so whoever waits is not kept. */
static bool pass_over(struct link *link)
{
    if (link->passed_over || link->unlooked == 0 || link->unlooked >= LOOK_FRAMES || link->sent - link->acked < 2 ||
        link->window_used > (link->sent - link->acked) * SMALL_BYTES || time_monotonic_ms() >= link->looked + LOOK_MS)
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
        rc = take(link, &msg, err);
    zmq_msg_close(&msg);
    if (rc == 0 && link_timeout(link) == 0) {
        if (!link->said_silent && link->silence >= SILENCE_MAX_MS) {
            log_warn("member %llu.%llu: rank %d has not answered for a while; still trying",
                     (unsigned long long)link->config.env->ensemble, (unsigned long long)link->config.env->member,
                     link->config.rank);
            link->said_silent = true;
        }
        if (!link->heard && link->config.address->endpoints > 1)
            try_next(link);
        if (link->heard || link->endpoint == 0) /* after each round */
            link->silence = link->silence * 2 < SILENCE_MAX_MS ? link->silence * 2 : SILENCE_MAX_MS;
        say_hello(link);
    }
    return rc;
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
