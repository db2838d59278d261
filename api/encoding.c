#include "api/encoding.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

static const char *const names[] = {"identity", "gzip", "deflate"};

/* Returns whether a list such as "gzip;q=0.5, deflate" has the coding, and not with the weight 0. */
static bool accepts_coding(const char *list, const char *coding)
{
    for (; *list; list += *list == ',') {
        const char *weight;
        size_t size, name;

        list += strspn(list, " \t");
        size = strcspn(list, ",");
        name = strcspn(list, " \t;,");
        weight = strstr(list, "q=");
        if (name == strlen(coding) && strncasecmp(list, coding, name) == 0)
            return weight == NULL || weight > list + size || strtod(weight + 2, NULL) > 0;
        list += size;
    }
    return false;
}

enum encoding encoding_choose(const char *accept)
{
    if (accept != NULL && accepts_coding(accept, names[ENCODING_GZIP]))
        return ENCODING_GZIP;
    return accept != NULL && accepts_coding(accept, names[ENCODING_DEFLATE]) ? ENCODING_DEFLATE : ENCODING_IDENTITY;
}

const char *encoding_name(enum encoding encoding)
{
    return names[encoding];
}

int encoding_window_bits(enum encoding encoding)
{
    return encoding == ENCODING_GZIP ? MAX_WBITS + 16 : MAX_WBITS;
}
