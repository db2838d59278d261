/* Sends the states of all members, a byte each, by index. There may be a million, so that they are read and sent in
 * pieces. Members change meanwhile, so later bytes may include later events than earlier ones. The reply names the
 * event up to which all of them hold. The changes since that event lead to any later moment. */
#include "api/encoding.h"
#include "api/etag.h"
#include "api/find.h"
#include "api/handlers.h"
#include "api/member_filter.h"
#include "api/paced.h"
#include "api/range.h"
#include "api/state_changes.h"
#include "common/xalloc.h"
#include "daemon/store/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <zlib.h>

#define PIECE 4096      /* members that are read at a time */
#define TURN_NS 1000000 /* time of a turn of the loop after which no other piece is begun */
#define FIRST_CODE '0'
#define NO_MEMBER '-' /* an index whose member is in another ensemble of the family */

struct states_reply {
    struct paced_waiter waiter; /* must be first */
    unsigned refs;              /* one of the response, and one while it waits for a turn */
    struct request *r;
    int64_t ensemble, at, end; /* at: the next member to read; end: one past the last */
    char rowless;
    struct member_filter *filter; /* NULL for all members */
    bool packs, is_over, failed;
    z_stream z;
    unsigned char states[PIECE], packed[PIECE];
    const unsigned char *next; /* bytes that are ready to be sent */
    size_t size;
};

static void unref_states(struct states_reply *s)
{
    if (--s->refs > 0)
        return;
    if (s->packs)
        deflateEnd(&s->z);
    member_filter_destroy(s->filter);
    free(s);
}

static int put_state_byte(void *arg, int64_t index, enum member_state state)
{
    struct states_reply *s = arg;

    s->states[index - s->at] = (unsigned char)(FIRST_CODE + state);
    return 0;
}

static int read_states_piece(struct states_reply *s)
{
    int64_t most = s->filter != NULL ? MEMBER_FILTER_PIECE : PIECE, end = s->end - s->at < most ? s->end : s->at + most;
    size_t n = (size_t)(end - s->at);
    struct error err;

    if (s->filter != NULL) {
        if (member_filter_look(s->filter, s->at, end, s->states, &err) < 0)
            return -1;
    } else {
        memset(s->states, s->rowless, n);
        if (store_member_each_state(request_store(s->r), s->ensemble, s->at, end, put_state_byte, s, &err) < 0)
            return -1;
    }
    s->at = end;
    s->next = s->z.next_in = s->states;
    s->size = s->z.avail_in = (unsigned)n;
    s->is_over = s->at == s->end;
    return 0;
}

/* Takes the bytes from the compressor that it has ready, which may be none. */
static void deflate_states(struct states_reply *s)
{
    int rc;

    s->z.next_out = s->packed;
    s->z.avail_out = sizeof s->packed;
    rc = deflate(&s->z, s->at == s->end ? Z_FINISH : Z_NO_FLUSH);
    s->failed |= rc < 0 && rc != Z_BUF_ERROR;
    s->is_over = rc == Z_STREAM_END;
    s->next = s->packed;
    s->size = sizeof s->packed - s->z.avail_out;
}

static void read_states_on_turn(struct paced_waiter *waiter, bool ending)
{
    struct states_reply *s = (struct states_reply *)waiter;

    uint64_t began = uv_hrtime();

    s->failed = s->failed || ending || !request_is_allowed(s->r);
    do {
        s->failed = s->failed || read_states_piece(s) < 0;
        if (!s->failed && s->packs)
            deflate_states(s);
    } while (!s->failed && s->size == 0 && !s->is_over && uv_hrtime() - began < TURN_NS);
    if (!s->failed && s->size == 0 && !s->is_over) {
        paced_wait(request_config(s->r)->paced, waiter);
        return;
    }
    request_go_on(s->r);
    unref_states(s);
}

static ssize_t give_states(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct states_reply *s = cls;
    size_t n;

    if (s->size == 0 && !s->failed && s->packs && s->at > 0 && !s->is_over && s->z.avail_out == 0)
        deflate_states(s);
    if (s->failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = s->size < max ? s->size : max;
    if (n > 0) {
        memcpy(buf, s->next, n);
        s->next += n;
        s->size -= n;
        return (ssize_t)n;
    }
    if (s->is_over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    s->refs++;
    request_pause(s->r);
    paced_wait(request_config(s->r)->paced, &s->waiter);
    return 0;
}

static void release_states(void *cls)
{
    unref_states(cls);
}

/* Answers with states. It takes the filter over. */
static void reply_states(struct request *r, const struct ensemble_row *ensemble, int64_t places,
                         struct member_filter *filter)
{
    /* If-Range never matches a weak tag, as all tags here are */
    const char *range = request_header(r, "If-Range") == NULL ? request_header(r, "Range") : NULL;
    struct states_reply *s = xcalloc(1, sizeof *s);
    enum range_answer answer = range_parse(range, places, &s->at, &s->end);
    enum encoding encoding =
        answer == RANGE_ALL ? encoding_choose(request_header(r, "Accept-Encoding")) : ENCODING_IDENTITY;
    struct MHD_Response *response;
    char text[96];

    s->waiter.piece = read_states_on_turn;
    s->refs = 1;
    s->r = r;
    s->filter = filter;
    s->ensemble = ensemble->id;
    s->rowless = ensemble->root != 0 ? NO_MEMBER : (char)(FIRST_CODE + find_rowless_state(ensemble));
    request_add_header(r, "Accept-Ranges", "bytes");
    request_add_header(r, "Vary", "Accept-Encoding");
    snprintf(text, sizeof text,
             answer == RANGE_UNSATISFIABLE ? "bytes */%" PRId64 : "bytes %" PRId64 "-%" PRId64 "/%" PRId64,
             answer == RANGE_UNSATISFIABLE ? places : s->at, s->end - 1, places);
    if (answer != RANGE_ALL)
        request_add_header(r, "Content-Range", text);
    if (answer == RANGE_UNSATISFIABLE) {
        member_filter_destroy(filter);
        free(s);
        request_reply_error(r, "range_not_satisfiable", "there are only %" PRId64 " places", places);
        return;
    }
    s->packs = /* as well as it goes, which makes a quarter less of it and is little work for each piece */
        encoding != ENCODING_IDENTITY && deflateInit2(&s->z, Z_BEST_COMPRESSION, Z_DEFLATED,
                                                      encoding_window_bits(encoding), 8, Z_DEFAULT_STRATEGY) == Z_OK;
    if (s->packs)
        request_add_header(r, "Content-Encoding", encoding_name(encoding));
    response = MHD_create_response_from_callback(s->packs ? MHD_SIZE_UNKNOWN : (uint64_t)(s->end - s->at), PIECE,
                                                 give_states, s, release_states);
    if (response == NULL)
        unref_states(s);
    request_reply_response(r, answer == RANGE_PART ? 206 : 200, "text/plain", response);
}

/* Adds a tag for the version, which is the newest event of the ensemble, since every change of a state has one. */
static int add_version(struct request *r, int64_t ensemble, bool *known, struct error *err)
{
    int64_t oldest, newest, own;
    char id[24], tag[32];

    if (store_event_bounds(request_store(r), &oldest, &newest, err) < 0 ||
        store_event_newest_of(request_store(r), ensemble, &own, err) < 0)
        return -1;
    snprintf(id, sizeof id, "%" PRId64, newest);
    snprintf(tag, sizeof tag, "W/\"%" PRId64 "\"", own > 0 ? own : oldest - 1);
    request_add_header(r, "Last-Event-ID", id);
    request_add_header(r, "ETag", tag);
    *known = etag_is_known(r, tag);
    return 0;
}

/* Returns 1 after having answered with changes, 0 if the states themselves are wanted, -1 with err. */
static int reply_changes(struct request *r, const struct ensemble_row *ensemble, struct error *err)
{
    const char *otherwise = request_query(r, "otherwise");
    int64_t since = -1;

    if (request_query_int(r, "since", 0, INT64_MAX, &since, err) < 0)
        return -1;
    if (otherwise != NULL && (since < 0 || strcmp(otherwise, "states") != 0))
        return error_set(err, "query_wrong_value",
                         "query parameter \"otherwise\" must be states, and goes with \"since\"");
    if (since < 0 || state_changes_reply(r, ensemble, since, err) == 0)
        return since >= 0;
    return otherwise != NULL && strcmp(err->code, "changes_not_kept") == 0 ? 0 : -1;
}

/* Reads the query. *filter is NULL if it asks for all members. */
static int read_states_filter(struct request *r, const struct ensemble_row *ensemble, struct member_filter **filter,
                              struct error *err)
{
    *filter = member_filter_create(r, ensemble, err);
    if (*filter == NULL)
        return -1;
    if (member_filter_is_searching(*filter))
        return request_query(r, "since") == NULL
                   ? 0
                   : error_set(
                         err, "query_wrong_value",
                         "query parameter \"since\" tells of all members: it does not go with where, host or cause");
    member_filter_destroy(*filter);
    *filter = NULL;
    return 0;
}

void ensemble_states_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct member_filter *filter = NULL;
    int64_t places = 0;
    bool known = false;
    struct error err;
    int rc;

    if (find_ensemble(r, &ensemble) < 0)
        return;
    rc = read_states_filter(r, &ensemble, &filter, &err);
    if (rc == 0)
        rc = reply_changes(r, &ensemble, &err);
    if (rc == 1)
        return;
    if (rc == 0) {
        places = find_places(r, &ensemble, &err);
        rc = places < 0 ? -1 : add_version(r, ensemble.id, &known, &err);
    }
    if (rc == 0 && !known) {
        reply_states(r, &ensemble, places, filter);
        return;
    }
    member_filter_destroy(filter);
    if (rc < 0)
        request_reply_problem(r, &err);
    else
        request_reply_static(r, 304, NULL, "", 0);
}
