#include "tests/unit/stream_puppets.h"

#include "common/files.h"
#include "tasks/proto/dealing.h"
#include "tasks/proto/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* A rank that does as the test says. */
struct puppet {
    void *socket;
    uint8_t sender[64], message[FRAME_SHARED_MAX];
    int sender_size;
    uint64_t last; /* sequence */
    int64_t step;
};

static void puppet_start(struct puppet *p, void *zmq, const struct fixture *fx, int generation, int rank)
{
    char name[40], endpoint[200], host[200] = "";
    struct error err;
    json_t *file;
    int limit = FIXTURE_LIMIT_SECONDS * 1000;

    *p = (struct puppet){.socket = zmq_socket(zmq, ZMQ_ROUTER)};
    zmq_setsockopt(p->socket, ZMQ_LINGER, &(int){0}, sizeof(int));
    zmq_setsockopt(p->socket, ZMQ_RCVTIMEO, &limit, sizeof limit);
    snprintf(name, sizeof name, "puppet%d-%d", generation, rank);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", fixture_path(fx, name));
    assert_int_equal(zmq_bind(p->socket, endpoint), 0);
    gethostname(host, sizeof host - 1);
    file = json_pack("{s:s, s:[s]}", "host", host, "endpoints", endpoint);
    snprintf(name, sizeof name, "g%d-rank%d.json", generation, rank);
    assert_int_equal(file_write_json(fixture_path(fx, name), file, 0600, &err), 0);
    json_decref(file);
}

static void puppet_stop(struct puppet *p, const struct fixture *fx, int generation, int rank)
{
    char name[40];

    snprintf(name, sizeof name, "puppet%d-%d", generation, rank);
    zmq_close(p->socket);
    unlink(fixture_path(fx, name));
}

/* Reads a message; 0 if none has come. */
static size_t puppet_read(struct puppet *p, struct frame *first, int flags)
{
    int size = zmq_recv(p->socket, p->sender, sizeof p->sender, flags);

    if (size < 0)
        return 0;
    p->sender_size = size;
    size = zmq_recv(p->socket, p->message, sizeof p->message, 0);
    assert_in_range(size, FRAME_HEADER_SIZE, sizeof p->message);
    assert_int_equal(frame_decode(p->message, (size_t)size, first), FRAME_OK);
    return (size_t)size;
}

static void puppet_say(struct puppet *p, const struct frame *to, enum frame_kind kind, uint64_t sequence)
{
    struct frame f = {.kind = kind, .key = to->key, .ensemble = to->ensemble, .member = to->member,
                      .attempt = to->attempt, .session = to->session, .generation = to->generation,
                      .sequence = sequence, .step = kind == FRAME_WELCOME ? (int64_t)to->sequence : 0};
    uint8_t header[FRAME_HEADER_SIZE];

    frame_encode(&f, header);
    assert_true(zmq_send(p->socket, p->sender, (size_t)p->sender_size, ZMQ_SNDMORE) > 0);
    assert_true(zmq_send(p->socket, header, sizeof header, 0) > 0);
}

static void check_payload(const struct fixture *fx, const struct frame *f, const uint8_t *payload)
{
    if (f->field == 0) { /* "n" */
        assert_int_equal(f->length, sizeof(int64_t));
        assert_memory_equal(payload, &f->step, sizeof f->step);
        return;
    }
    assert_int_equal(f->length, (size_t)fx->width * sizeof(float));
    for (int i = 0; i < fx->width; i++) {
        float value, right = (float)((double)f->step / 8 + i);

        memcpy(&value, payload + (size_t)i * sizeof value, sizeof value);
        assert_true(value == right);
    }
}

/* Takes the frames of a message, which follow those before without a gap, and never go back to an earlier step;
 * count[2 * step + field] counts them. */
static int take_frames(struct puppet *p, const struct fixture *fx, int generation, size_t size, int *count)
{
    struct frame f = {.flags = FRAME_MORE};
    int frames = 0;

    for (size_t at = 0; f.flags & FRAME_MORE; at += frame_span(&f), frames++) {
        assert_int_equal(frame_decode(p->message + at, size - at, &f), FRAME_OK);
        assert_int_equal(f.kind, FRAME_SAMPLE);
        assert_int_equal(f.generation, generation);
        assert_int_equal(f.sequence, ++p->last);
        assert_true(f.step >= p->step);
        p->step = f.step;
        check_payload(fx, &f, p->message + at + FRAME_HEADER_SIZE);
        count[2 * f.step + f.field]++;
    }
    return frames;
}

/* The former rank has acknowledged a part of a message, and of a step. */
void only_what_was_not_acknowledged_is_dealt_to_the_new_ranks(void **state)
{
    enum { SENT = 40, HELD = 41, RANKS = 3 };
    void *zmq = zmq_ctx_new();
    struct puppet old, new[RANKS];
    struct fixture fx;
    struct stretto *s;
    struct frame f;
    size_t size;
    int count[2 * SENT] = {0}, frames = 0, field, told = 0;
    struct dealing *dealing = dealing_create(RANKS);

    begin(&fx, 1, SMALL, 1);
    puppet_start(&old, zmq, &fx, 1, 0);
    s = open_member();
    assert_int_equal(fill_window(&fx, s, 0, SENT, &field), SENT); /* the fields of each step as "u", "n" */
    while (old.last < 2 * SENT) {
        assert_int_equal(stretto_checkpointed(s, "none", 0), STRETTO_AGAIN);
        while ((size = puppet_read(&old, &f, ZMQ_DONTWAIT)) > 0)
            if (f.kind == FRAME_SAMPLE)
                take_frames(&old, &fx, 1, size, count);
    }
    puppet_say(&old, &f, FRAME_REWIND, HELD);
    do { /* until it sends something again: now it knows */
        assert_int_equal(stretto_checkpointed(s, "none", 0), STRETTO_AGAIN);
        size = puppet_read(&old, &f, ZMQ_DONTWAIT);
    } while (size == 0 || f.kind != FRAME_SAMPLE);
    assert_true(f.sequence <= HELD); /* the message goes on with what is missing */
    puppet_stop(&old, &fx, 1, 0);
    memset(count, 0, sizeof count);
    fixture_generation(&fx, 2, RANKS);
    for (int i = 0; i < RANKS; i++)
        puppet_start(&new[i], zmq, &fx, 2, i);
    fixture_announce(&fx, 1);
    while (frames < 2 * SENT - HELD || told < RANKS) {
        assert_int_equal(stretto_checkpointed(s, "none", 0), STRETTO_AGAIN);
        for (int i = 0; i < RANKS; i++)
            while ((size = puppet_read(&new[i], &f, ZMQ_DONTWAIT)) > 0) {
                if (f.kind == FRAME_HELLO) {
                    assert_int_equal(f.generation, 2);
                    if (new[i].last == 0) {
                        assert_true(f.sequence == 0 && f.step == 0);
                        puppet_say(&new[i], &f, FRAME_WELCOME, 0);
                        told++;
                    }
                } else if (new[i].last == 0 || f.sequence > new[i].last) {
                    assert_int_equal(dealing_rank(dealing, f.member, f.step), i);
                    frames += take_frames(&new[i], &fx, 2, size, count);
                    puppet_say(&new[i], &f, FRAME_ACK, new[i].last);
                }
            }
    }
    for (int i = 0; i < 2 * SENT; i++) /* in the order in which they were sent, of each step "u" and then "n" */
        assert_int_equal(count[2 * (i / 2) + 1 - i % 2], i >= HELD);
    UNTIL_OVER(&fx, s, &(struct crew){.ranks = 0}, stretto_checkpointed(s, "none", 0));
    stretto_abort(s);
    dealing_destroy(dealing);
    for (int i = 0; i < RANKS; i++)
        puppet_stop(&new[i], &fx, 2, i);
    zmq_ctx_term(zmq);
    fixture_fini(&fx);
}

void frames_of_several_ranks_come_in_their_order(void **state)
{
    enum { SENT = 40, RANKS = 3 };
    void *zmq = zmq_ctx_new();
    struct puppet old[RANKS], new;
    struct fixture fx;
    struct stretto *s;
    struct frame f = {.kind = FRAME_HELLO};
    size_t size = 0;
    int count[2 * SENT] = {0}, field;

    begin(&fx, RANKS, SMALL, 1);
    for (int i = 0; i < RANKS; i++)
        puppet_start(&old[i], zmq, &fx, 1, i);
    s = open_member();
    assert_int_equal(fill_window(&fx, s, 0, SENT, &field), SENT);
    for (int i = 0; i < RANKS; i++)
        puppet_stop(&old[i], &fx, 1, i);
    fixture_generation(&fx, 2, 1);
    puppet_start(&new, zmq, &fx, 2, 0);
    fixture_announce(&fx, 1);
    while (new.last < 2 * SENT) {
        assert_int_equal(stretto_checkpointed(s, "none", 0), STRETTO_AGAIN);
        while ((size = puppet_read(&new, &f, ZMQ_DONTWAIT)) > 0)
            if (f.kind == FRAME_HELLO)
                puppet_say(&new, &f, FRAME_WELCOME, new.last);
            else if (f.sequence > new.last)
                take_frames(&new, &fx, 2, size, count);
    }
    for (int i = 0; i < 2 * SENT; i++)
        assert_int_equal(count[i], 1);
    stretto_abort(s);
    puppet_stop(&new, &fx, 2, 0);
    zmq_ctx_term(zmq);
    fixture_fini(&fx);
}

void a_refusal_by_one_of_several_ranks_is_told(void **state)
{
    enum { RANKS = 2 };
    void *zmq = zmq_ctx_new();
    struct puppet ranks[RANKS];
    struct fixture fx;
    struct stretto *s;
    struct frame f;
    int rc;

    begin(&fx, RANKS, SMALL, 0);
    for (int i = 0; i < RANKS; i++)
        puppet_start(&ranks[i], zmq, &fx, 1, i);
    s = open_member();
    for (int i = 0; i < RANKS; i++) {
        assert_true(puppet_read(&ranks[i], &f, 0) > 0);
        assert_int_equal(f.kind, FRAME_HELLO);
        puppet_say(&ranks[i], &f, i == 0 ? FRAME_REFUSED : FRAME_WELCOME, 0);
    }
    rc = send_field(&fx, s, 0, 0);
    while (rc == 0 || rc == STRETTO_AGAIN)
        rc = stretto_checkpointed(s, "none", 0);
    assert_non_null(strstr(stretto_error(s), "rank 0 refuses"));
    stretto_abort(s);
    for (int i = 0; i < RANKS; i++)
        puppet_stop(&ranks[i], &fx, 1, i);
    zmq_ctx_term(zmq);
    fixture_fini(&fx);
}
