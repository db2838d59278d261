#include "api/web.h"

#include "api/encoding.h"
#include "api/etag.h"
#include "api/web_tables.h"

#include <stdio.h>
#include <string.h>

extern const struct embedded web_files[];

static const struct {
    const char *suffix, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

/* Headers of the page. Only the daemon's own files may run or be requested, and no text can become a script. No other
 * page can put this one into a frame or get hold of its window. */
static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
     "require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors 'none'; base-uri 'none'; "
     "form-action 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
    {"Cache-Control", "no-cache"}, /* kept, but checked each time, since the daemon may be another version by then */
    {"Vary", "Accept, Accept-Encoding"},
};

static const char *type_of(const char *name)
{
    const char *suffix = strrchr(name, '.');

    for (size_t i = 0; suffix != NULL && i < sizeof types / sizeof *types; i++) {
        if (strcmp(suffix, types[i].suffix) == 0)
            return types[i].type;
    }
    return NULL;
}

static const struct embedded *find_in_files(const struct embedded *file, const char *name)
{
    while (file->name != NULL && strcmp(file->name, name) != 0)
        file++;
    return file->name != NULL ? file : NULL;
}

static const struct embedded *find_web_file(const char *name)
{
    const struct embedded *file = find_in_files(web_files, name);

    return file != NULL ? file : find_in_files(web_tables, name);
}

static const struct embedded *find_packed(const char *name)
{
    char packed[ROUTE_FILE + 4];

    snprintf(packed, sizeof packed, "%s.gz", name);
    return find_web_file(packed);
}

static struct MHD_Response *response_of(struct request *r, const struct embedded *file, int *status)
{
    const struct embedded *packed = find_packed(file->name);
    bool packs = packed != NULL && encoding_choose(request_header(r, "Accept-Encoding")) == ENCODING_GZIP;
    struct MHD_Response *response;
    char tag[ETAG_SIZE];

    etag_of(file->data, file->size, tag);
    *status = etag_is_known(r, tag) ? 304 : 200;
    if (packs)
        file = packed;
    response =
        MHD_create_response_from_buffer(*status == 304 ? 0 : file->size, (void *)file->data, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i].name, headers[i].value);
    MHD_add_response_header(response, "ETag", tag);
    if (packs && *status == 200)
        MHD_add_response_header(response, "Content-Encoding", encoding_name(ENCODING_GZIP));
    return response;
}

void web_reply(struct request *r, const char *name)
{
    const struct embedded *file = type_of(name) != NULL ? find_web_file(name) : NULL;
    struct MHD_Response *response;
    int status;

    if (file == NULL) {
        request_reply_error(r, "file_not_found", "the dashboard has no file %s", name);
        return;
    }
    response = response_of(r, file, &status);
    request_reply_response(r, status, status == 200 ? type_of(name) : NULL, response);
}
