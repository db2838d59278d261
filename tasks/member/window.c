#include "tasks/member/window.h"

#include "common/stretto_assert.h"

#include <stdlib.h>

int window_init(struct window *w, size_t bytes_max, size_t frames_max, size_t backlog)
{
    *w = (struct window){
        .bytes_max = bytes_max, .frames_max = frames_max, .ring = backlog > frames_max ? backlog : frames_max};
    w->kept = calloc(w->ring, sizeof *w->kept);
    w->place = calloc(w->ring, sizeof *w->place);
    return w->kept != NULL && w->place != NULL ? 0 : -1;
}

void window_fini(struct window *w)
{
    for (uint64_t n = w->first; n < w->next; n++)
        zmq_msg_close(window_message(w, n));
    free(w->kept);
    free(w->place);
}

bool window_has_room(const struct window *w, size_t bytes)
{
    uint64_t frames = w->numbered - w->acked;

    if (frames >= w->frames_max)
        return false;
    return frames < 2 || w->bytes + bytes <= w->bytes_max;
}

uint64_t window_number(struct window *w, uint64_t place)
{
    w->numbered++;
    stretto_assert(w->numbered - w->acked <= w->ring);
    w->place[w->numbered % w->ring] = place;
    return w->numbered;
}

uint64_t window_oldest(const struct window *w)
{
    return window_is_empty(w) ? UINT64_MAX : w->place[(w->acked + 1) % w->ring];
}

void window_reserve(struct window *w, size_t bytes)
{
    w->bytes += bytes;
}

void window_keep(struct window *w, zmq_msg_t *msg, size_t reserved)
{
    struct kept_message *kept = &w->kept[w->next++ % w->ring];

    zmq_msg_init(&kept->msg);
    zmq_msg_move(&kept->msg, msg);
    zmq_msg_close(msg);
    kept->bytes = reserved > 0 ? reserved : zmq_msg_size(&kept->msg);
    stretto_assert(w->next - w->first <= w->ring); /* no message that is kept was written over */
    kept->last = w->sent = w->numbered;
    if (reserved == 0)
        w->bytes += kept->bytes;
}

void window_ack(struct window *w, uint64_t sequence)
{
    if (sequence > w->sent || sequence <= w->acked)
        return;
    w->acked = sequence;
    stretto_assert(w->acked <= w->sent && w->sent <= w->numbered);
    for (; w->first < w->next && w->kept[w->first % w->ring].last <= sequence; w->first++) {
        struct kept_message *kept = &w->kept[w->first % w->ring];

        stretto_assert(w->bytes >= kept->bytes);
        w->bytes -= kept->bytes;
        zmq_msg_close(&kept->msg);
    }
}

bool window_is_empty(const struct window *w)
{
    return w->acked == w->numbered;
}

zmq_msg_t *window_message(struct window *w, uint64_t n)
{
    stretto_assert(n >= w->first && n < w->next);
    return &w->kept[n % w->ring].msg;
}
