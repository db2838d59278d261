#include "tests/unit/virtual_uv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define TIMERS 8
#define WORKERS 8

static uint64_t now;
static struct ringing {
    uv_timer_t *timer;
    uv_timer_cb cb; /* NULL: it is not active */
    uint64_t due, repeat;
} timers[TIMERS];
static struct held {
    uv_work_t *work;
    uv_work_cb run;
    uv_after_work_cb after;
} held[WORKERS];
static size_t n_held;
static bool is_held;

void virtual_uv_begin(uint64_t now_ms)
{
    memset(timers, 0, sizeof timers);
    now = now_ms;
}

uint64_t virtual_uv_now(void)
{
    return now;
}

static struct ringing *find(const void *timer)
{
    for (size_t i = 0; i < TIMERS; i++)
        if (timers[i].timer == timer)
            return &timers[i];
    return NULL;
}

static struct ringing *next_due(void)
{
    struct ringing *next = NULL;

    for (size_t i = 0; i < TIMERS; i++)
        if (timers[i].cb != NULL && (next == NULL || timers[i].due < next->due))
            next = &timers[i];
    return next;
}

void virtual_uv_hold_up(uint64_t ms)
{
    now += ms;
}

void virtual_uv_go_on(uint64_t ms)
{
    uint64_t until = now + ms;
    struct ringing *next;

    while ((next = next_due()) != NULL && next->due <= until) {
        uv_timer_cb cb = next->cb;

        now = next->due > now ? next->due : now;
        next->due = now + next->repeat;
        if (next->repeat == 0)
            next->cb = NULL;
        cb(next->timer);
    }
    now = until > now ? until : now;
}

uint64_t uv_now(const uv_loop_t *loop)
{
    return now;
}

/* Whatever is done takes 10 µs. */
uint64_t uv_hrtime(void)
{
    static uint64_t done;

    done += 10000;
    return now * 1000000 + done;
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb cb, uint64_t timeout, uint64_t repeat)
{
    struct ringing *ringing = find(timer);

    if (ringing == NULL)
        ringing = find(NULL);
    if (ringing == NULL)
        abort();
    *ringing = (struct ringing){timer, cb, now + timeout, repeat};
    return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
    struct ringing *ringing = find(timer);

    if (ringing != NULL)
        ringing->cb = NULL;
    return 0;
}

int uv_is_active(const uv_handle_t *handle)
{
    const struct ringing *ringing = find(handle);

    return ringing != NULL && ringing->cb != NULL;
}

void uv_unref(uv_handle_t *handle)
{
}

void uv_close(uv_handle_t *handle, uv_close_cb cb)
{
    struct ringing *ringing = find(handle);

    if (ringing != NULL)
        *ringing = (struct ringing){0};
    cb(handle);
}

void virtual_uv_hold_workers(void)
{
    is_held = true;
}

void virtual_uv_let_workers_go(void)
{
    is_held = false;
    for (size_t i = 0; i < n_held; i++)
        uv_queue_work(NULL, held[i].work, held[i].run, held[i].after);
    n_held = 0;
}

int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb after)
{
    if (is_held) {
        if (n_held == WORKERS)
            abort();
        held[n_held++] = (struct held){work, run, after};
        return 0;
    }
    run(work);
    after(work, 0);
    return 0;
}
