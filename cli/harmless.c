#include "cli/harmless.h"

#include "cli/terminal.h"
#include "common/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define CHARACTER_MAX 4 /* bytes */

struct harmless {
    FILE *to;
    char held[CHARACTER_MAX + 1]; /* the beginning of a character, or of the end of a line */
    size_t count;
    bool is_styled;
};

static void set_style(struct harmless *harmless, bool is_styled)
{
    if (is_styled != harmless->is_styled)
        fputs(is_styled ? style_on(STYLE_QUIET) : style_off(STYLE_QUIET), harmless->to);
    harmless->is_styled = is_styled;
}

static void show_character(struct harmless *harmless, const char *bytes, size_t n, int32_t code)
{
    bool is_plain = code == '\n' || code == '\t' || (code >= 0 && !terminal_obeys(code));

    set_style(harmless, !is_plain);
    if (is_plain)
        fwrite(bytes, 1, n, harmless->to);
    else if (code < 0)
        fprintf(harmless->to, "<%02X>", (unsigned char)bytes[0]);
    else if (code < 0x80)
        fprintf(harmless->to, "^%c", (int)code ^ 0x40);
    else
        fprintf(harmless->to, "<U+%04X>", (unsigned)code);
}

/* Shows the complete characters of the bytes held; all bytes if nothing more comes. */
static void show_whole(struct harmless *harmless, bool is_end)
{
    char *held = harmless->held;
    int32_t code;
    size_t n;

    while (harmless->count > 0) {
        n = text_take(held, harmless->count, &code);
        if (n == 0 && !is_end)
            return;
        if (n == 0) { /* a character that was cut off */
            n = 1;
            code = -1;
        }
        if (code == '\r' && harmless->count == 1 && !is_end)
            return;
        if (code == '\r' && harmless->count > 1 && held[1] == '\n')
            code = '\n';
        show_character(harmless, held, n, code);
        harmless->count -= n;
        memmove(held, held + n, harmless->count);
    }
}

static ssize_t write_harmless(void *cookie, const char *piece, size_t size)
{
    struct harmless *harmless = cookie;

    for (size_t i = 0; i < size; i++) {
        harmless->held[harmless->count++] = piece[i];
        show_whole(harmless, false);
    }
    set_style(harmless, false);
    return fflush(harmless->to) == 0 && !ferror(harmless->to) ? (ssize_t)size : 0;
}

static int close_harmless(void *cookie)
{
    struct harmless *harmless = cookie;
    int rc;

    show_whole(harmless, true);
    set_style(harmless, false);
    rc = fflush(harmless->to);
    free(harmless);
    return rc;
}

FILE *harmless_open(FILE *to)
{
    struct harmless *harmless = xcalloc(1, sizeof *harmless);
    FILE *stream;

    harmless->to = to;
    stream = fopencookie(harmless, "w", (cookie_io_functions_t){.write = write_harmless, .close = close_harmless});
    if (stream == NULL) /* there is no memory */
        abort();
    return stream;
}
