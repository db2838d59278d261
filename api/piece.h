/* Some events as the text of a stream, read once for all streams that need the very same: most of them, since most have
 * sent all there was. */
#ifndef API_PIECE_H
#define API_PIECE_H
#include "daemon/store/event.h"

#include <stddef.h>

struct piece;

/* The next events after id `after`, up to id `newest`. *last is the piece that was read last, or NULL: it is given again
 * where it fits, else replaced. NULL with err where the store cannot be read. piece_drop() what you get, and *last. */
struct piece *piece_read(struct piece **last, struct store *store, int64_t now_ms, int64_t after, int64_t newest,
                         const struct event_filter *filter, struct error *err);
void piece_drop(struct piece *piece);

const char *piece_text(const struct piece *piece, size_t *size); /* nothing where none of the events pass the filter */
int64_t piece_end(const struct piece *piece);                    /* where the next piece begins */
#endif
