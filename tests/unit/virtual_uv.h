/* libuv's clock, timers and workers, controlled by the test. A program that is linked with virtual_uv.c never waits.
 * Other handles, and the loop itself, do not exist. */
#ifndef TESTS_VIRTUAL_UV_H
#define TESTS_VIRTUAL_UV_H
#include <stdint.h>

/* Forgets all timers, and begins at this time. */
void virtual_uv_begin(uint64_t now_ms);
/* Lets timers ring in the order of their times, until so much time has gone by. */
void virtual_uv_go_on(uint64_t ms);
/* Advances only the clock: the daemon was held up, and no timer has rung. */
void virtual_uv_hold_up(uint64_t ms);
uint64_t virtual_uv_now(void);
/* Workers are through at once, unless they are held: then they work as soon as they are let go. */
void virtual_uv_hold_workers(void);
void virtual_uv_let_workers_go(void);
#endif
