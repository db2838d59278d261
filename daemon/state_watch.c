#include "daemon/state_watch.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS 1000

struct state_watch {
    uv_timer_t timer;
    struct store *store;
    struct turn *turn;
    void (*each)(void *arg);
    void *arg;
};

static void look_at_store(uv_timer_t *timer)
{
    struct state_watch *watch = timer->data;
    const struct error *trouble = turn_trouble(watch->turn);
    struct error err;

    if (store_check_present(watch->store, &err) == 0)
        turn_trouble_over(watch->turn, "store_gone");
    else if (trouble == NULL || strcmp(trouble->code, err.code) != 0)
        store_doom(watch->store, &err); /* makes the commit at the end of this turn fail with this error */
    if (watch->each != NULL)
        watch->each(watch->arg);
}

struct state_watch *state_watch_create(uv_loop_t *loop, struct store *store, struct turn *turn, void (*each)(void *arg),
                                       void *arg)
{
    struct state_watch *watch = xcalloc(1, sizeof *watch);

    watch->store = store;
    watch->turn = turn;
    watch->each = each;
    watch->arg = arg;
    uv_timer_init(loop, &watch->timer);
    watch->timer.data = watch;
    uv_timer_start(&watch->timer, look_at_store, LOOK_MS, LOOK_MS);
    uv_unref((uv_handle_t *)&watch->timer);
    return watch;
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

void state_watch_destroy(struct state_watch *watch)
{
    if (watch != NULL)
        uv_close((uv_handle_t *)&watch->timer, free_watch);
}
