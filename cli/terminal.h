/* Where standard output goes: to a terminal, whose width is known and which may have colours, or elsewhere. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H
#include <stdbool.h>
#include <stddef.h>

bool terminal_is(void);    /* one that can be drawn on */
int terminal_width(void);  /* columns; 0: it is none */
int terminal_height(void); /* lines; 0 likewise */
bool terminal_has_utf8(void); /* so says the locale */

/* Colours, on a terminal and unless NO_COLOR is set (https://no-color.org); "" elsewhere. Never the only sign of anything. */
enum style { STYLE_NONE, STYLE_GOOD, STYLE_BAD, STYLE_BUSY, STYLE_CARE, STYLE_QUIET, STYLE_BOLD };
const char *style_on(enum style style);
const char *style_off(enum style style);
enum style style_of_state(const char *state); /* of an ensemble, a member, a training, a job, an adapter */

/* Columns that a text in UTF-8 takes. */
int text_width(const char *text);
/* Bytes of its beginning that take at most so many columns. */
size_t text_fit(const char *text, int columns);
#endif
