/* Describes where standard output goes: to a terminal, whose width is known and which may have colours, or
 * elsewhere. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool terminal_is(void);          /* true for a terminal that can be drawn on */
int terminal_width(void);        /* columns; 0 if it is no terminal */
int terminal_height(void);       /* lines; 0 if it is no terminal */
bool terminal_has_utf8(void);    /* whether the locale has UTF-8 */
const char *terminal_dots(void); /* the sign, one column wide, that a text was cut */

/* Colours, on a terminal and unless NO_COLOR is set (https://no-color.org); "" elsewhere. A colour is never the only
 * sign of anything. */
enum style { STYLE_NONE, STYLE_GOOD, STYLE_BAD, STYLE_BUSY, STYLE_CARE, STYLE_QUIET, STYLE_BOLD };
const char *style_on(enum style style);
const char *style_off(enum style style);
enum style style_of_state(const char *state); /* for states of ensembles, members, trainings, jobs and adapters */

/* Decodes the first character of a text of so many bytes, at least 1. Returns its bytes, or 0 if the text ends
 * within it. *code is -1 for a byte that is not UTF-8. */
size_t text_take(const char *text, size_t size, int32_t *code);
/* Returns true for control characters, and for marks that turn the direction of the text around or end a line. */
bool terminal_obeys(int32_t code);
/* Returns how many columns a text in UTF-8 takes. */
int text_width(const char *text);
/* Returns how many bytes of its beginning take at most so many columns. */
size_t text_fit(const char *text, int columns);
#endif
