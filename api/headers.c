#include "api/headers.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum single { LENGTH, CODING, HOST, AUTHORIZATION, SINGLES };

static const char *const single_names[SINGLES] = {"Content-Length", "Transfer-Encoding", "Host", "Authorization"};

struct headers_seen {
    int n[SINGLES];
    struct error *err;
    bool failed;
};

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                    const char *value, size_t value_size)
{
    struct headers_seen *seen = arg;

    seen->failed = true;
    if (strlen(name) != name_size || name_size == 0 || strpbrk(name, " \t") != NULL ||
        (value != NULL && strlen(value) != value_size)) {
        error_set(seen->err, "request_ambiguous", "a header's name has a blank in it, or its value a NUL");
        return MHD_NO;
    }
    for (int i = 0; i < SINGLES; i++) {
        if (strcasecmp(name, single_names[i]) == 0 && seen->n[i]++ > 0) {
            error_set(seen->err, "request_ambiguous", "the header %s is there twice", single_names[i]);
            return MHD_NO;
        }
    }
    seen->failed = false;
    return MHD_YES;
}

int headers_check(struct MHD_Connection *connection, struct error *err)
{
    struct headers_seen seen = {.err = err};
    const char *length, *coding;

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, check_header, &seen);
    if (seen.failed)
        return -1;
    length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, single_names[LENGTH]);
    coding = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, single_names[CODING]);
    if (length != NULL && coding != NULL)
        return error_set(err, "request_ambiguous", "Content-Length and Transfer-Encoding exclude each other");
    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        return error_set(err, "request_ambiguous", "the only Transfer-Encoding here is \"chunked\"");
    if (length != NULL && (*length == '\0' || length[strspn(length, "0123456789")] != '\0'))
        return error_set(err, "request_ambiguous", "a Content-Length is a number");
    return 0;
}
