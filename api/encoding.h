/* Content codings (RFC 9110, 12.5.3) in which a reply can be sent. */
#ifndef API_ENCODING_H
#define API_ENCODING_H

enum encoding { ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_DEFLATE };

/* Returns the best coding that an Accept-Encoding header (may be NULL) takes: gzip, then deflate, then none. */
enum encoding encoding_choose(const char *accept);
const char *encoding_name(enum encoding encoding); /* for Content-Encoding */
int encoding_window_bits(enum encoding encoding);  /* for zlib's deflateInit2() */
#endif
