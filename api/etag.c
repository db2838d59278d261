#include "api/etag.h"

#include "api/value.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_BYTES crypto_generichash_BYTES_MIN

/* Returns whether the header names the tag, or "*", which is any. The comparison is weak: "W/" does not count. */
static bool header_names_tag(const char *header, const char *quoted)
{
    return header != NULL && (strcmp(header, "*") == 0 || strstr(header, quoted) != NULL);
}

bool etag_is_known(const struct request *r, const char *tag)
{
    return header_names_tag(request_header(r, "If-None-Match"), tag + 2);
}

void etag_of(const char *data, size_t size, char tag[ETAG_SIZE])
{
    unsigned char digest[TAG_BYTES];
    char hex[2 * TAG_BYTES + 1];

    crypto_generichash(digest, sizeof digest, (const unsigned char *)data, size, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    snprintf(tag, ETAG_SIZE, "W/\"%s\"", hex);
}

void etag_reply_json(struct request *r, json_t *json)
{
    char tag[ETAG_SIZE];
    char *text = value_dump(json);

    if (text == NULL) {
        request_reply_json(r, 200, json); /* handles a lack of memory */
        return;
    }
    json_decref(json);
    etag_of(text, strlen(text), tag);
    request_add_header(r, "ETag", tag);
    if (etag_is_known(r, tag)) {
        free(text);
        request_reply_static(r, 304, NULL, "", 0);
    } else {
        request_reply_text(r, 200, "application/json", text);
    }
}
