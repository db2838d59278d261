/* The second screen of a terminal, which is drawn over in place. However the program ends, the first one is then as
 * before. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H
#include <stdbool.h>
#include <stdint.h>

void screen_begin(void);
void screen_end(void);
/* Draws a text. Lines that are too long or too many are cut. */
void screen_draw(const char *text);
/* Waits for so long, or until the size of the terminal changes. Returns true if q was typed or a signal ends the
 * program. */
bool screen_wait(int64_t ms);
#endif
