#include "api/piece.h"

#include "api/event_text.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 64 /* of a piece */
#define WINDOW 10000  /* ids looked through at once for those of a kind */

struct piece {
    unsigned refs;
    int64_t after, newest, ensemble;
    char *kind; /* NULL: any */
    int64_t end;
    int found;
    struct text text;
};

void piece_drop(struct piece *piece)
{
    if (piece == NULL || --piece->refs > 0)
        return;
    free(piece->kind);
    free(piece->text.data);
    free(piece);
}

static bool fits(const struct piece *piece, int64_t after, int64_t newest, const struct event_filter *filter)
{
    return piece->after == after && piece->newest == newest && piece->ensemble == filter->ensemble &&
           (piece->kind == NULL) == (filter->kind == NULL) &&
           (piece->kind == NULL || strcmp(piece->kind, filter->kind) == 0);
}

static int add(void *arg, const struct event_row *row)
{
    struct piece *piece = arg;

    text_add(&piece->text, "id: %" PRId64 "\nevent: %s\ndata: ", row->id, row->kind);
    event_text(&piece->text, row);
    text_add(&piece->text, "\n\n");
    piece->end = row->id;
    piece->found++;
    return 0;
}

/* What lies between is not to be had, or never was: say so, and go on behind it. */
static void tell_gap(struct piece *piece, int64_t now_ms, int64_t oldest)
{
    char time[TIMEFMT_SIZE];

    text_add(&piece->text,
             "id: %" PRId64 "\nevent: gap\ndata: {\"id\":%" PRId64 ",\"time\":\"%s\",\"kind\":\"gap\",\"ensemble\":null,"
             "\"detail\":{\"after\":%" PRId64 ",\"oldest\":%" PRId64 "}}\n\n",
             oldest - 1, oldest - 1, timefmt_iso(time, now_ms), piece->after, oldest);
    piece->end = oldest - 1;
}

static int read_events(struct piece *piece, struct store *store, int64_t now_ms, const struct event_filter *filter,
                       struct error *err)
{
    int64_t upto = piece->newest, oldest, made;

    if (store_event_bounds(store, &oldest, &made, err) < 0)
        return -1;
    if (oldest > piece->newest + 1) /* what is not on disk yet is not there */
        oldest = piece->newest + 1;
    if (piece->after < oldest - 1)
        tell_gap(piece, now_ms, oldest);
    else if (piece->after > piece->newest)
        tell_gap(piece, now_ms, piece->newest + 1);
    if (filter->kind != NULL && upto > piece->end + WINDOW)
        upto = piece->end + WINDOW;
    if (store_event_each(store, piece->end, upto, filter, EVENTS_MAX, add, piece, err) < 0)
        return -1;
    if (piece->found < EVENTS_MAX)
        piece->end = upto;
    return 0;
}

struct piece *piece_read(struct piece **last, struct store *store, int64_t now_ms, int64_t after, int64_t newest,
                         const struct event_filter *filter, struct error *err)
{
    struct piece *piece = *last;

    if (piece != NULL && fits(piece, after, newest, filter)) {
        piece->refs++;
        return piece;
    }
    piece = xcalloc(1, sizeof *piece);
    *piece = (struct piece){.refs = 1, .after = after, .newest = newest, .ensemble = filter->ensemble, .end = after};
    piece->kind = filter->kind != NULL ? xstrdup(filter->kind) : NULL;
    if (read_events(piece, store, now_ms, filter, err) < 0) {
        piece_drop(piece);
        return NULL;
    }
    piece_drop(*last);
    *last = piece;
    piece->refs++;
    return piece;
}

const char *piece_text(const struct piece *piece, size_t *size)
{
    *size = piece->text.size;
    return piece->text.data;
}

int64_t piece_end(const struct piece *piece)
{
    return piece->end;
}
