/* A terminal's second screen, drawn over in place; the first one is as it was afterwards, however the program ends. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H
#include <stdbool.h>
#include <stdint.h>

void screen_begin(void);
void screen_end(void);
/* Lines that are too long or too many are cut. */
void screen_draw(const char *text);
/* Wait so long, or until the terminal has another size; true: q was typed, or somebody ends the program. */
bool screen_wait(int64_t ms);
#endif
