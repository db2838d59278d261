/* Some events as the text of a stream. It is read once for all streams that need the same, which most do, since most
 * have sent all events before. */
#ifndef API_PIECE_H
#define API_PIECE_H
#include "daemon/store/event.h"

#include <stddef.h>
#include <sys/types.h>

struct piece;

/* The pieces that were read last, by filter and place. */
#define PIECES_KEPT 16
struct pieces {
    struct piece *kept[PIECES_KEPT];
    unsigned next;
};
void pieces_forget(struct pieces *pieces);

/* Returns the next events after id `after`, up to id `upto`: a kept piece if one fits, else a new one. NULL with err
 * if the store cannot be read. The caller must piece_drop() it. */
struct piece *piece_read(struct pieces *pieces, struct store *store, int64_t now_ms, int64_t after, int64_t upto,
                         const struct event_filter *filter, struct error *err);
void piece_drop(struct piece *piece);

const char *piece_text(const struct piece *piece, size_t *size); /* empty if no event passes the filter */
int64_t piece_end(const struct piece *piece);                    /* where the next piece begins */
/* Sends the text behind its first `from` bytes, as much as the socket (which does not block) takes at once. Returns
 * what send() returns. */
ssize_t piece_send(struct piece *piece, int socket, size_t from);
#endif
