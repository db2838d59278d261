#include "tasks/member/stretto_private.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "tasks/member/checkpoint.h"
#include "tasks/member/convert.h"
#include "tasks/member/declare.h"
#include "tasks/proto/alive.h"
#include "tasks/proto/copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sets the time limit of a call that may wait, at its beginning. */
static void be_patient(struct stretto *s)
{
    s->until = s->patience < 0 ? INT64_MAX : time_monotonic_ms() + s->patience;
}

static int read_stream_environment(struct stretto *s)
{
    if (environment_read(&s->env, &s->err) < 0)
        return -1;
    if (!s->env.active) {
        log_info("STRETTO_STREAM is not set: this is no ensemble member with a training, nothing is sent");
        return 0;
    }
    s->steps = steps_create(s->env.fields.count);
    return s->steps != NULL ? 0 : error_set(&s->err, "stream_memory", "no memory for the stream");
}

/* An idle stream has neither threads nor connections, so that any process may use it. */
static bool is_owner(const struct stretto *s)
{
    return !s->env.active || s->owner == getpid();
}

int stretto_check_owner(struct stretto *s)
{
    if (is_owner(s))
        return 0;
    return error_set(&s->err, "stream_forked",
                     "process %d has opened this stream, and process %d was forked from it and cannot use it: open a "
                     "stream after fork(), or send in the process that opened it",
                     (int)s->owner, (int)getpid());
}

int stretto_open_patiently(struct stretto **out, int patience_ms)
{
    struct stretto *s = *out;
    int rc = 0;

    alive_sign();
    if (s == NULL) {
        *out = s = calloc(1, sizeof *s);
        if (s == NULL)
            return -1;
        s->patience = patience_ms < 0 ? -1 : patience_ms;
        s->failed = true;
        s->owner = getpid();
        if (read_stream_environment(s) < 0)
            return -1;
    }
    if (stretto_check_owner(s) < 0)
        return -1;
    be_patient(s);
    if (s->env.active)
        rc = discovery_wait(&s->env, s->until, &s->ranks, &s->err);
    if (rc == DISCOVERY_NOT_YET)
        return STRETTO_AGAIN;
    if (rc == 0 && s->env.active)
        s->links = links_create(&s->env, &s->ranks, &s->err);
    if (rc < 0 || (s->env.active && s->links == NULL))
        return -1;
    if (s->env.active && links_mark(s->links, STREAM_OPEN, &s->err) < 0)
        return -1;
    s->failed = false;
    return 0;
}

int stretto_open(struct stretto **out)
{
    *out = NULL;
    return stretto_open_patiently(out, -1);
}

int stretto_active(const struct stretto *s)
{
    return s->env.active;
}

/* The properties of one frame to be sent, and its link. */
struct sample_target {
    int field;
    int64_t step;
    uint64_t extent; /* the first extent */
    struct link *link;
};

static struct frame sample_frame(struct stretto *s, const struct sample_target *to, const void *payload)
{
    const struct field *field = &s->env.fields.field[to->field];
    uint64_t bytes = field_bytes(field, to->extent);
    struct frame f = {.step = to->step,
                      .field = (uint16_t)to->field,
                      .dtype = (uint8_t)field->dtype,
                      .ndim = (uint8_t)field->ndim,
                      .length = bytes};

    memcpy(f.shape, field->shape, sizeof f.shape);
    if (field_varies(field))
        f.shape[0] = to->extent;
    if (s->env.checksum) {
        f.flags = FRAME_PAYLOAD_CHECKSUM;
        f.payload_checksum = frame_checksum(payload, bytes);
    }
    return f;
}

/* Sends a parcel, whose message is taken over. */
static int send_parcel(struct stretto *s, const struct sample_target *to, struct parcel *p)
{
    struct frame f = sample_frame(s, to, p->payload);

    if (p->in_memory)
        f.flags |= FRAME_IN_MEMORY;
    return link_send(to->link, &f, &p->msg, &s->err);
}

static int send_copy(struct stretto *s, const struct sample_target *to, const void *data)
{
    const struct field *field = &s->env.fields.field[to->field];
    uint64_t bytes = field_bytes(field, to->extent), count = bytes / dtype_size(field->dtype);
    void *place = link_place(to->link, FRAME_HEADER_SIZE + bytes);
    struct parcel p;

    if (place != NULL) {
        struct frame f;

        convert(place, field->dtype, data, s->field[to->field].dtype, count);
        f = sample_frame(s, to, place);
        return link_placed(to->link, &f, &s->err);
    }
    if (parcel_make(&p, links_pool(s->links), links_slots(s->links, to->link), bytes) < 0)
        return error_set(&s->err, "stream_memory", "no memory for a send buffer of %llu bytes",
                         (unsigned long long)bytes);
    /* only the rank reads shared memory, on another processor, so our caches are spared */
    if (p.in_memory && field->dtype == s->field[to->field].dtype)
        copy_out(p.payload, data, bytes);
    else
        convert(p.payload, field->dtype, data, s->field[to->field].dtype, count);
    return send_parcel(s, to, &p);
}

static int incomplete(struct stretto *s)
{
    int64_t step;
    int field;

    if (!steps_first_incomplete(s->steps, &step, &field))
        return 0;
    return error_set(&s->err, "stream_incomplete", "step %lld was sent without the field \"%s\"", (long long)step,
                     s->env.fields.field[field].name);
}

/* Refuses one more step of which some fields are sent and others not. */
static int too_many_open(struct stretto *s, int64_t next)
{
    int64_t step = 0;
    int field = 0;

    steps_first_incomplete(s->steps, &step, &field);
    return error_set(&s->err, "stream_incomplete",
                     "step %lld cannot begin: %d steps lack fields, the first of them step %lld without \"%s\"; "
                     "send all fields of a step before those of %d later ones",
                     (long long)next, FIELDS_OPEN_STEPS_MAX, (long long)step, s->env.fields.field[field].name,
                     FIELDS_OPEN_STEPS_MAX);
}

static int check_field_sendable(struct stretto *s, int field)
{
    if (stretto_check_owner(s) < 0)
        return -1;
    if (s->failed)
        return *s->err.text ? -1 : error_set(&s->err, "stream_failed", "the stream has failed before");
    if (s->finished)
        return error_set(&s->err, "stream_finished", "the stream has been finished: nothing more can be sent");
    if (field < 0 || field >= s->env.fields.count || !s->field[field].declared)
        return error_set(&s->err, "stream_field", "field %d was not declared", field);
    return 0;
}

/* Waits until there is room on the link for that field of that step, which is set in `to`. */
static int wait_for_link(struct stretto *s, struct sample_target *to)
{
    size_t size = FRAME_HEADER_SIZE + field_bytes(&s->env.fields.field[to->field], to->extent);
    int rc;

    if (to->step < 0)
        return error_set(&s->err, "stream_step", "a step cannot be negative: %lld", (long long)to->step);
    if (!steps_may_begin(s->steps, to->step, FIELDS_OPEN_STEPS_MAX))
        return too_many_open(s, to->step);
    links_begin_frame(s->links);
    be_patient(s);
    rc = links_room(s->links, to->step, size, s->until, &to->link, &s->err);
    s->failed = rc == -1;
    return rc;
}

static int leave_links(struct stretto *s, int rc)
{
    int left = links_leave(s->links, rc, &s->err);

    if (left != rc)
        s->failed = true;
    return left;
}

static void note_whole(struct stretto *s, const struct sample_target *to)
{
    uint64_t sent = links_sent(s->links), oldest;

    steps_note(s->steps, to->step, to->field, sent);
    oldest = steps_oldest(s->steps);
    links_note_whole(s->links, oldest <= sent ? oldest - 1 : sent);
}

/* Notes the result of handing a message to a link. */
static int note_sent(struct stretto *s, const struct sample_target *to, int rc)
{
    s->covered = false;
    if (rc < 0)
        s->failed = true;
    else
        note_whole(s, to);
    return rc;
}

/* Returns whether the ranks have that step, which an earlier attempt has sent, so that this one does not. */
static int may_skip(struct stretto *s, int64_t step, int field, bool *skip)
{
    int rc;

    *skip = false;
    if (s->env.attempt <= 1)
        return 0;
    be_patient(s);
    rc = links_skip(s->links, step, field == 0, s->until, skip, &s->err);
    s->failed = rc == -1;
    if (*skip) {
        s->covered = false;
        steps_drop(s->steps, step);
    }
    return rc;
}

static int send_data(struct stretto *s, int field, int64_t step, int64_t extent, const void *data)
{
    struct sample_target to = {.field = field, .step = step, .extent = (uint64_t)extent};
    bool skip;
    int rc;

    links_enter(s->links);
    rc = may_skip(s, step, field, &skip);
    if (rc == 0 && !skip)
        rc = wait_for_link(s, &to);
    if (rc == 0 && !skip)
        rc = note_sent(s, &to, send_copy(s, &to, data));
    return leave_links(s, rc);
}

int stretto_send(struct stretto *s, int field, int64_t step, const void *data)
{
    int64_t extent;

    alive_sign();
    if (!s->env.active && !s->failed)
        return 0;
    if (check_field_sendable(s, field) < 0 || declare_fixed(&s->env.fields.field[field], &extent, &s->err) < 0)
        return -1;
    return send_data(s, field, step, extent, data);
}

int stretto_send_extent(struct stretto *s, int field, int64_t step, int64_t extent, const void *data)
{
    alive_sign();
    if (!s->env.active && !s->failed)
        return 0;
    if (check_field_sendable(s, field) < 0 || declare_extent(&s->env.fields.field[field], extent, &s->err) < 0)
        return -1;
    return send_data(s, field, step, extent, data);
}

static int lend(struct stretto *s, int field, int64_t extent, void **out)
{
    const struct field *f = &s->env.fields.field[field];
    struct lending *lending = &s->field[field].lending;
    bool in_place = s->env.active && s->field[field].dtype == f->dtype;
    struct slots *slots = NULL;

    if (in_place) {
        links_enter(s->links);
        slots = links_slots(s->links, NULL);
        if (leave_links(s, 0) < 0)
            return -1;
    }
    if (lending->lent && s->field[field].lent_extent != (uint64_t)extent)
        lending_fini(lending);
    s->field[field].lent_extent = (uint64_t)extent;
    *out = lending_lend(lending, in_place ? links_pool(s->links) : NULL, slots,
                        field_bytes(f, (uint64_t)extent) / dtype_size(f->dtype) * dtype_size(s->field[field].dtype));
    if (*out == NULL)
        return error_set(&s->err, "stream_memory", "no memory to lend for field \"%s\"", f->name);
    return 0;
}

int stretto_lend(struct stretto *s, int field, void **out)
{
    int64_t extent;

    *out = NULL;
    if (check_field_sendable(s, field) < 0 || declare_fixed(&s->env.fields.field[field], &extent, &s->err) < 0)
        return -1;
    return lend(s, field, extent, out);
}

int stretto_lend_extent(struct stretto *s, int field, int64_t extent, void **out)
{
    *out = NULL;
    if (check_field_sendable(s, field) < 0 || declare_extent(&s->env.fields.field[field], extent, &s->err) < 0)
        return -1;
    return lend(s, field, extent, out);
}

/* Sends lent memory. It was lent to be shared with all ranks, but one may have stopped reading it since: it gets a
 * copy. */
static int send_taken(struct stretto *s, const struct sample_target *to, struct parcel *p)
{
    int rc;

    if (!p->in_memory || links_slots(s->links, to->link) != NULL)
        return send_parcel(s, to, p);
    rc = send_copy(s, to, p->payload);
    zmq_msg_close(&p->msg);
    return rc;
}

int stretto_send_lent(struct stretto *s, int field, int64_t step)
{
    struct sample_target to = {.field = field, .step = step};
    struct lending *lending;
    struct parcel p;
    bool framed, skip;
    int rc;

    alive_sign();
    if (check_field_sendable(s, field) < 0)
        return -1;
    lending = &s->field[field].lending;
    if (!lending->lent)
        return error_set(&s->err, "stream_lent", "nothing is lent for field \"%s\"", s->env.fields.field[field].name);
    if (!s->env.active) {
        lending_take(lending, &p);
        return 0;
    }
    to.extent = s->field[field].lent_extent;
    links_enter(s->links);
    rc = may_skip(s, step, field, &skip);
    if (rc == 0 && skip)
        lending_drop(lending);
    else if (rc == 0)
        rc = wait_for_link(s, &to);
    if (rc == 0 && !skip) {
        framed = lending->framed;
        lending_take(lending, &p);
        rc = note_sent(s, &to, framed ? send_taken(s, &to, &p) : send_copy(s, &to, lending->scratch));
    }
    return leave_links(s, rc);
}

double stretto_time_left(const struct stretto *s)
{
    if (s->env.deadline <= 0)
        return HUGE_VAL;
    return s->env.deadline - (double)time_now_ms() / 1000;
}

int stretto_checkpoint_due(const struct stretto *s, double seconds)
{
    bool due = checkpoint_due(&s->env, seconds);

    alive_sign();
    ((struct stretto *)s)->due = s->due || due; /* the caller's copy is const, but not the memory that it points to */
    return due;
}

/* Waits until the ranks hold what was sent: an attempt that goes on from a checkpoint does not send it again. */
static int wait_for_held(struct stretto *s)
{
    int rc;

    if (s->links == NULL || s->finished)
        return 0;
    if (s->failed)
        return *s->err.text ? -1 : error_set(&s->err, "stream_failed", "the stream has failed before");
    be_patient(s);
    links_enter(s->links);
    rc = leave_links(s, links_wait_held(s->links, s->until, &s->err));
    s->failed = rc == -1;
    return rc;
}

int stretto_checkpointed(struct stretto *s, const char *path, int64_t step)
{
    int rc;

    alive_sign();
    if (stretto_check_owner(s) < 0)
        return -1;
    rc = wait_for_held(s);
    if (rc == 0)
        rc = checkpoint_record(path, step, &s->err);
    s->covered = s->covered || rc == 0;
    return rc;
}

int stretto_finish(struct stretto *s)
{
    int rc;

    alive_sign();
    if (stretto_check_owner(s) < 0)
        return -1;
    if (s->failed)
        return *s->err.text ? -1 : error_set(&s->err, "stream_failed", "the stream has failed before");
    if (!s->env.active || s->finished)
        return 0;
    if (incomplete(s) < 0)
        return -1;
    if (s->due &&
        /* it stops for now, and its next attempt sends what is left: the ranks are not told that it has finished */
        s->covered) {
        s->finished = true;
        return links_mark(s->links, STREAM_PAUSED, &s->err);
    }
    be_patient(s);
    links_enter(s->links);
    rc = leave_links(s, links_finish(s->links, s->covered, s->until, &s->err));
    if (rc == 0)
        rc = links_mark(s->links, STREAM_CLOSED, &s->err);
    s->failed = rc == -1;
    s->finished = rc == 0;
    return rc;
}

void stretto_abort(struct stretto *s)
{
    if (s == NULL || !is_owner(s)) /* to free it, a forked process would wait for threads that it does not have */
        return;
    for (int i = 0; i < FIELDS_MAX; i++)
        lending_fini(&s->field[i].lending);
    links_destroy(s->links);
    steps_destroy(s->steps);
    discovery_fini(&s->ranks);
    environment_fini(&s->env);
    free(s);
}

int stretto_close(struct stretto *s)
{
    int rc;

    if (s == NULL)
        return 0;
    rc = stretto_finish(s);
    if (rc == STRETTO_AGAIN)
        return rc;
    if (rc < 0)
        log_error("%s", s->err.text);
    stretto_abort(s);
    return rc;
}

const char *stretto_error(const struct stretto *s)
{
    return s != NULL ? s->err.text : "no memory for the stream";
}
