#include "api/nul.h"

#include <stdint.h>
#include <string.h>

/* A walk over the head, in whose memory libmicrohttpd has put NUL in the place of separators. */
struct head {
    const char *at, *end; /* where the last text ended; the end of the head */
    bool whole;           /* nothing is between texts but separators */
};

void *nul_mark(const char *uri)
{
    return (void *)(((uintptr_t)(uri != NULL ? uri + strlen(uri) : NULL) << 1) | 1);
}

bool nul_is_mark(const void *context)
{
    return ((uintptr_t)context & 1) != 0;
}

/* Returns whether there are only separators up to the next text: blanks, and at most so many NULs. */
static bool is_separated(const char *at, const char *next, int most)
{
    int n = 0;

    for (; at < next; at++) {
        if (*at != ' ' && *at != '\t' && *at != '\0')
            return false;
        n += *at == '\0';
    }
    return n <= most;
}

static enum MHD_Result look_for_nul(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct head *head = arg;

    /* a line's end, CR and LF, is before a name, and the colon is before its value */
    head->whole = head->whole && value != NULL && name >= head->at && value > name && value < head->end &&
                  is_separated(head->at, name, 2) && is_separated(name + strlen(name), value, 1);
    if (head->whole)
        head->at = value + strlen(value);
    return head->whole ? MHD_YES : MHD_NO;
}

int nul_check(struct MHD_Connection *connection, const void *mark, const char *method, const char *version,
              struct error *err)
{
    const union MHD_ConnectionInfo *size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    uintptr_t target = (uintptr_t)mark >> 1;
    struct head head = {.at = version + strlen(version), .end = method + size->header_size, .whole = true};

    if (target + 1 != (uintptr_t)version)
        return error_set(err, "request_ambiguous", "there is a NUL in the request's target");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look_for_nul, &head);
    if (!head.whole || !is_separated(head.at, head.end, 4)) /* CR LF CR LF is after the last one */
        return error_set(err, "request_ambiguous", "there is a NUL in a header, or a header is folded");
    return 0;
}
