#include "cli/terminal.h"

#include "common/member_state.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define WIDTH_LEAST 20 /* a terminal that reports less, or nothing, has the usual size: */
#define WIDTH_USUAL 80
#define HEIGHT_USUAL 24

bool terminal_is(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

static struct winsize terminal_size(void)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < WIDTH_LEAST)
        size.ws_col = WIDTH_USUAL;
    if (size.ws_row == 0)
        size.ws_row = HEIGHT_USUAL;
    return size;
}

int terminal_width(void)
{
    return isatty(STDOUT_FILENO) ? terminal_size().ws_col : 0;
}

int terminal_height(void)
{
    return isatty(STDOUT_FILENO) ? terminal_size().ws_row : 0;
}

bool terminal_has_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const char *terminal_dots(void)
{
    return terminal_has_utf8() ? "\xe2\x80\xa6" : "~";
}

static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return terminal_is() && (no == NULL || no[0] == '\0');
}

const char *style_on(enum style style)
{
    static const char *const codes[] = {"", "\033[32m", "\033[31m", "\033[36m", "\033[33m", "\033[2m", "\033[1m"};

    return has_colours() ? codes[style] : "";
}

const char *style_off(enum style style)
{
    return style != STYLE_NONE && has_colours() ? "\033[0m" : "";
}

enum style style_of_state(const char *state)
{
    static const struct {
        const char *state;
        enum style style;
    } styles[] = {{"complete", STYLE_GOOD},   {"done", STYLE_GOOD},     {"answers", STYLE_GOOD},
                  {"no answer", STYLE_BAD},   {"paused", STYLE_CARE},   {"not set up", STYLE_CARE},
                  {"intent", STYLE_QUIET},    {"reached", STYLE_QUIET}, {"revoked", STYLE_QUIET},
#define MEMBER_STYLE(symbol, name, final, style, ...) {name, STYLE_##style},
                  MEMBER_STATES(MEMBER_STYLE)};

    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(styles[i].state, state) == 0)
            return styles[i].style;
    return STYLE_NONE;
}

size_t text_take(const char *text, size_t size, int32_t *code)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* of a character of so many bytes */
    unsigned char first = (unsigned char)text[0];
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

    *code = -1;
    if (n == 0)
        return 1;
    int32_t c = n == 1 ? first : first & (0x7f >> n);
    for (size_t i = 1; i < n; i++) {
        if (i == size)
            return 0;
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 1;
        c = (c << 6) | ((unsigned char)text[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 1;
    *code = c;
    return n;
}

bool terminal_obeys(int32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Takes one character. Returns its bytes; *width is its columns. A byte that is not UTF-8 takes one column. */
static size_t take_character(const char *text, int *width)
{
    int32_t code;
    size_t n = text_take(text, strlen(text), &code);

    *width = code < 0x80 ? 1 : wcwidth((wchar_t)code);
    if (*width < 0) /* the character is unknown to the locale */
        *width = 1;
    return n > 0 ? n : 1;
}

int text_width(const char *text)
{
    int sum = 0, width;

    for (; *text; sum += width)
        text += take_character(text, &width);
    return sum;
}

size_t text_fit(const char *text, int columns)
{
    size_t at = 0, n;
    int width;

    while (text[at]) {
        n = take_character(text + at, &width);
        if (width > columns)
            break;
        columns -= width;
        at += n;
    }
    return at;
}
