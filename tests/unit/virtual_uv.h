/* libuv's clock, timers and workers in the test's hands: a program that is linked with this one's source never waits. Other
 * handles, and the loop itself, are not there. */
#ifndef TESTS_VIRTUAL_UV_H
#define TESTS_VIRTUAL_UV_H
#include <stdint.h>

/* Forget all timers, and begin at this time. */
void virtual_uv_begin(uint64_t now_ms);
/* Timers ring in the order of their times, up to that one, which it is then. */
void virtual_uv_go_on(uint64_t ms);
/* The same with the clock alone: the daemon was held up, and no timer has rung. */
void virtual_uv_hold_up(uint64_t ms);
uint64_t virtual_uv_now(void);
#endif
