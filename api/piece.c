#include "api/piece.h"

#include "api/event_text.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 512 /* events of a piece: about 100 kB, which a socket takes at once */
#define WINDOW 10000   /* ids that are looked at in one go for events of a kind */

struct piece {
    unsigned refs;
    int64_t after, upto, ensemble;
    char *kind; /* NULL for any */
    int64_t end;
    int found;
    struct text text;
    int file;      /* a file in memory with the same text, if many want it; else -1 */
    unsigned sent; /* how often it was sent without a file */
};

/* Text that many streams want is put into a file in memory, from which the kernel sends pages as they are, without a
 * copy for each stream. There is a limit, since slow clients may hold as many pieces as there are streams, and each
 * file takes a descriptor. */
#define SENT_WITHOUT 8
#define FILES_MAX 32
static unsigned files;

void piece_drop(struct piece *piece)
{
    if (piece == NULL || --piece->refs > 0)
        return;
    if (piece->file >= 0) {
        close(piece->file);
        files--;
    }
    free(piece->kind);
    free(piece->text.data);
    free(piece);
}

static bool piece_fits(const struct piece *piece, int64_t after, int64_t upto, const struct event_filter *filter)
{
    return piece->after == after && piece->upto == upto && piece->ensemble == filter->ensemble &&
           (piece->kind == NULL) == (filter->kind == NULL) &&
           (piece->kind == NULL || strcmp(piece->kind, filter->kind) == 0);
}

static int add_event_to_piece(void *arg, const struct event_row *row)
{
    struct piece *piece = arg;

    text_add(&piece->text, "id: %" PRId64 "\nevent: %s\ndata: ", row->id, row->kind);
    event_text(&piece->text, row);
    text_add(&piece->text, "\n\n");
    piece->end = row->id;
    piece->found++;
    return 0;
}

/* Writes an event "gap" in the place of events that are no longer kept, or never existed, and goes on behind them. */
static void tell_gap(struct piece *piece, int64_t now_ms, int64_t oldest)
{
    char time[TIMEFMT_SIZE];

    text_add(&piece->text,
             "id: %" PRId64 "\nevent: gap\ndata: {\"id\":%" PRId64
             ",\"time\":\"%s\",\"kind\":\"gap\",\"ensemble\":null,"
             "\"detail\":{\"after\":%" PRId64 ",\"oldest\":%" PRId64 "}}\n\n",
             oldest - 1, oldest - 1, timefmt_iso(time, now_ms), piece->after, oldest);
    piece->end = oldest - 1;
}

static int read_events(struct piece *piece, struct store *store, int64_t now_ms, const struct event_filter *filter,
                       struct error *err)
{
    int64_t upto = piece->upto, oldest, made;

    if (store_event_bounds(store, &oldest, &made, err) < 0)
        return -1;
    if (oldest > piece->upto + 1) /* events that are not on disk yet do not count */
        oldest = piece->upto + 1;
    if (piece->after < oldest - 1)
        tell_gap(piece, now_ms, oldest);
    else if (piece->after > piece->upto)
        tell_gap(piece, now_ms, piece->upto + 1);
    if (filter->kind != NULL && upto > piece->end + WINDOW)
        upto = piece->end + WINDOW;
    if (store_event_each(store, piece->end, upto, filter, EVENTS_MAX, add_event_to_piece, piece, err) < 0)
        return -1;
    if (piece->found < EVENTS_MAX)
        piece->end = upto;
    return 0;
}

struct piece *piece_read(struct pieces *pieces, struct store *store, int64_t now_ms, int64_t after, int64_t upto,
                         const struct event_filter *filter, struct error *err)
{
    struct piece *piece, **place;

    for (int i = 0; i < PIECES_KEPT; i++) {
        piece = pieces->kept[i];
        if (piece != NULL && piece_fits(piece, after, upto, filter)) {
            piece->refs++;
            return piece;
        }
    }
    piece = xcalloc(1, sizeof *piece);
    *piece =
        (struct piece){.refs = 2, .after = after, .upto = upto, .ensemble = filter->ensemble, .end = after, .file = -1};
    piece->kind = filter->kind != NULL ? xstrdup(filter->kind) : NULL;
    place = &pieces->kept[pieces->next++ % PIECES_KEPT];
    piece_drop(*place);
    *place = piece;
    if (read_events(piece, store, now_ms, filter, err) == 0)
        return piece;
    *place = NULL;
    piece->refs = 1;
    piece_drop(piece);
    return NULL;
}

void pieces_forget(struct pieces *pieces)
{
    for (int i = 0; i < PIECES_KEPT; i++) {
        piece_drop(pieces->kept[i]);
        pieces->kept[i] = NULL;
    }
}

static void make_file(struct piece *piece)
{
    int fd = memfd_create("events", MFD_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, piece->text.data, piece->text.size) != (ssize_t)piece->text.size) {
        close(fd);
        return;
    }
    piece->file = fd;
    files++;
}

ssize_t piece_send(struct piece *piece, int socket, size_t from)
{
    off_t at = (off_t)from;

    if (piece->file < 0 && files < FILES_MAX && ++piece->sent > SENT_WITHOUT)
        make_file(piece);
    if (piece->file >= 0)
        return sendfile(socket, piece->file, &at, piece->text.size - from);
    return send(socket, piece->text.data + from, piece->text.size - from, MSG_DONTWAIT | MSG_NOSIGNAL);
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
