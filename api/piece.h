/* Some events as the text of a stream, read once for all streams that need the very same: most of them, since most have
 * sent all there was. */
#ifndef API_PIECE_H
#define API_PIECE_H
#include "daemon/store/event.h"

#include <stddef.h>
#include <sys/types.h>

struct piece;

/* What was read last, for as many filters and places as fit. */
#define PIECES_KEPT 16
struct pieces {
    struct piece *kept[PIECES_KEPT];
    unsigned next;
};
void pieces_forget(struct pieces *pieces);

/* The next events after id `after`, up to id `upto`: what is kept where it fits, else read. NULL with err where the store
 * cannot be read. piece_drop() what you get. */
struct piece *piece_read(struct pieces *pieces, struct store *store, int64_t now_ms, int64_t after, int64_t upto,
                         const struct event_filter *filter, struct error *err);
void piece_drop(struct piece *piece);

const char *piece_text(const struct piece *piece, size_t *size); /* nothing where none of the events pass the filter */
int64_t piece_end(const struct piece *piece);                    /* where the next piece begins */
/* Send what comes after the first `from` bytes, as much as the socket (which does not block) takes at once; as send(). */
ssize_t piece_send(struct piece *piece, int socket, size_t from);
#endif
