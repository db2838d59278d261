#include "tasks/member/link_private.h"

#include "common/timefmt.h"
#include "tasks/member/parcel.h"

#include <errno.h>
#include <string.h>

bool link_gathers(const struct link *link, size_t size)
{
    return bundle_takes(&link->bundle, size) && window_has_room(&link->window, 0);
}

bool link_has_room(const struct link *link, size_t size)
{
    return link_gathers(link, size) || window_has_room(&link->window, size);
}

/* Sends a frame of the window, which keeps the message: ZeroMQ gets a second reference to the same bytes. */
static int send_kept(struct link *link, uint64_t n, struct error *err)
{
    zmq_msg_t copy;

    if (link->waits)
        return 0;
    zmq_msg_init(&copy);
    if (zmq_msg_copy(&copy, window_message(&link->window, n)) != 0 ||
        (zmq_msg_send(&copy, link->socket, ZMQ_DONTWAIT) < 0 && zmq_errno() != EAGAIN && zmq_errno() != EINTR)) {
        error_set(err, "stream_send", "cannot send to rank %d: %s", link->config.rank, zmq_strerror(zmq_errno()));
        zmq_msg_close(&copy);
        return -1;
    }
    zmq_msg_close(&copy);
    return 0;
}

static int send_first(struct link *link, zmq_msg_t *msg, size_t reserved, struct error *err)
{
    if (link->window.sent == link->window.acked)
        link_listen(link); /* until now there was nothing to answer */
    window_keep(&link->window, msg, reserved);
    link->unlooked++;
    link->passed_over = false;
    return send_kept(link, link->window.next - 1, err);
}

/* Does the same as link_frame(), in place, since it runs for every frame. */
static void number_sample(struct link *link, struct frame *f, uint64_t place)
{
    const struct environment *env = link->config.env;

    f->kind = FRAME_SAMPLE;
    f->key = env->key;
    f->ensemble = env->ensemble;
    f->member = env->member;
    f->attempt = env->attempt;
    f->session = link->config.session;
    f->generation = link->config.generation;
    f->sequence = window_number(&link->window, place);
}

/* Sends a numbered frame in a message of its own. */
static int send_alone(struct link *link, struct frame *f, zmq_msg_t *msg, struct error *err)
{
    frame_encode(f, zmq_msg_data(msg));
    if (!frame_is_in_memory(f))
        return send_first(link, msg, 0, err);
    window_reserve(&link->window, FRAME_HEADER_SIZE + f->length);
    return send_first(link, msg, FRAME_HEADER_SIZE + f->length, err);
}

int link_send(struct link *link, struct frame *f, zmq_msg_t *msg, struct error *err)
{
    if (link_flush(link, err) < 0) {
        zmq_msg_close(msg);
        return -1;
    }
    number_sample(link, f, ++*link->config.sent);
    return send_alone(link, f, msg, err);
}

/* Opens a bundle, unless nothing is on its way: then a frame is sent at once. */
static bool open_bundle(struct link *link, size_t size)
{
    struct bundle *b = &link->bundle;

    if (link->window.sent == link->window.acked || !bundle_suits(b, size) ||
        !window_has_room(&link->window, b->capacity) || bundle_open(b, link->config.pool) < 0)
        return false;
    window_reserve(&link->window, b->capacity);
    return true;
}

void *link_place(struct link *link, size_t size)
{
    if (!bundle_is_open(&link->bundle) && !open_bundle(link, size))
        return NULL;
    return bundle_takes(&link->bundle, size) ? bundle_place(&link->bundle) : NULL;
}

int link_placed(struct link *link, struct frame *f, struct error *err)
{
    number_sample(link, f, ++*link->config.sent);
    bundle_add(&link->bundle, f);
    return bundle_takes(&link->bundle, FRAME_HEADER_SIZE + f->length) ? 0 : link_flush(link, err);
}

int link_flush(struct link *link, struct error *err)
{
    zmq_msg_t msg;

    if (!bundle_is_open(&link->bundle))
        return 0;
    if (bundle_close(&link->bundle, &msg) < 0)
        return error_set(err, "stream_memory", "no memory for a message to rank %d", link->config.rank);
    return send_first(link, &msg, link->bundle.capacity, err);
}

int link_look(struct link *link, struct error *err)
{
    if (!bundle_is_open(&link->bundle))
        return 0;
    if (link->bundle.seen)
        return link_flush(link, err);
    link->bundle.seen = true;
    return 1;
}

bool link_holds(const struct link *link)
{
    return bundle_is_open(&link->bundle);
}

int link_resend(struct link *link, struct error *err)
{
    for (uint64_t n = link->window.first; n < link->window.next; n++)
        if (send_kept(link, n, err) < 0)
            return -1;
    return 0;
}

size_t link_unheld(struct link *link, struct unheld *list)
{
    struct window *w = &link->window;
    size_t n = 0;

    if (list == NULL)
        return w->sent - w->acked;
    for (uint64_t i = w->first; i < w->next; i++) {
        zmq_msg_t *msg = window_message(w, i);
        const uint8_t *data = zmq_msg_data(msg);
        struct frame f = {.flags = FRAME_MORE};

        for (size_t at = 0; f.flags & FRAME_MORE; at += frame_span(&f)) {
            frame_decode(data + at, zmq_msg_size(msg) - at, &f);
            if (f.sequence > w->acked)
                list[n++] = (struct unheld){.f = f,
                                            .place = w->place[f.sequence % w->ring],
                                            .msg = msg,
                                            .alone = at == 0 && !(f.flags & FRAME_MORE),
                                            .payload = data + at + FRAME_HEADER_SIZE};
        }
    }
    return n;
}

/* Takes over the message itself, and writes its header again. */
static int adopt_message(struct link *link, struct frame *f, zmq_msg_t *kept, struct error *err)
{
    zmq_msg_t msg;

    if (link_flush(link, err) < 0)
        return -1;
    zmq_msg_init(&msg);
    zmq_msg_move(&msg, kept);
    if (frame_is_in_memory(f))
        link->shares = true; /* until WELCOME says otherwise */
    return send_alone(link, f, &msg, err);
}

/* Returns room for the payload of one of several frames that shared a message, in the bundle or else in *p; NULL if
 * there is no memory. The bundle is opened whether or not the window has room. */
static void *place_again(struct link *link, size_t length, struct parcel *p, struct error *err)
{
    struct bundle *b = &link->bundle;

    if (!bundle_takes(b, FRAME_HEADER_SIZE + length)) {
        if (link_flush(link, err) < 0)
            return NULL;
        if (bundle_suits(b, FRAME_HEADER_SIZE + length) && bundle_open(b, link->config.pool) == 0)
            window_reserve(&link->window, b->capacity);
    }
    if (bundle_is_open(b))
        return bundle_place(b);
    if (parcel_make(p, link->config.pool, NULL, length) == 0)
        return p->payload;
    error_set(err, "stream_memory", "no memory for a message to rank %d", link->config.rank);
    return NULL;
}

int link_adopt(struct link *link, struct unheld *frame, struct error *err)
{
    struct frame f = frame->f;
    struct parcel p;
    void *payload;

    link->waits = true;
    f.flags &= (uint16_t)~FRAME_MORE;
    if (frame->alone) {
        number_sample(link, &f, frame->place);
        return adopt_message(link, &f, frame->msg, err);
    }
    payload = place_again(link, f.length, &p, err);
    if (payload == NULL)
        return -1;
    memcpy(payload, frame->payload, f.length);
    number_sample(link, &f, frame->place);
    if (!bundle_is_open(&link->bundle))
        return send_alone(link, &f, &p.msg, err);
    bundle_add(&link->bundle, &f);
    return 0;
}
