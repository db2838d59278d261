#include "daemon/app.h"

#include "api/api.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/control.h"
#include "daemon/engine/engine.h"
#include "daemon/limits.h"
#include "daemon/prune.h"
#include "daemon/python.h"
#include "daemon/rundir/rundir.h"

#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#define ADAPTERS_MAX 16

struct app_adapter {
    struct app *app;
    const struct adapter_ops *ops;
    struct adapter_host host;
    struct adapter *adapter;
    json_t *section; /* of the configuration; NULL: none */
};

struct app {
    const struct config *config;
    uv_loop_t loop;
    struct store *store;
    struct turn *turn;
    struct engine *engine;
    struct app_adapter adapters[ADAPTERS_MAX];
    size_t n_adapters;
    struct control *control;
    struct prune *prune;
    struct api *api;
    char *control_path, *control_endpoint, *python, *rows_dir;
    uv_timer_t wake;
    uv_signal_t on_term, on_int;
    bool handles; /* wake and the signals are initialised */
};

static int64_t now_ms(void *arg)
{
    return time_now_ms();
}

static void random_bytes(void *arg, void *out, size_t size)
{
    randombytes_buf(out, size);
}

static void on_wake(uv_timer_t *timer)
{
    struct app *app = timer->data;

    engine_tick(app->engine);
}

static void wake_at(void *arg, int64_t when_ms)
{
    struct app *app = arg;
    int64_t wait = when_ms - time_now_ms();

    if (when_ms == INT64_MAX) {
        uv_timer_stop(&app->wake);
        return;
    }
    uv_update_time(&app->loop);
    /* an hour at most: the wall clock may be set */
    uv_timer_start(&app->wake, on_wake, wait < 0 ? 0 : wait > 3600000 ? 3600000 : (uint64_t)wait, 0);
}

static void rolled_back(void *arg)
{
    struct app *app = arg;

    if (app->engine != NULL)
        engine_rest(app->engine);
}

static void poke(void *arg)
{
    struct app_adapter *adapter = arg;

    engine_poke(adapter->app->engine, adapter->adapter);
}

static int make_adapters(struct app *app, struct error *err)
{
    for (size_t i = 0; adapter_registry[i] != NULL && i < ADAPTERS_MAX; i++) {
        struct app_adapter *mine = &app->adapters[app->n_adapters];

        int64_t max_jobs;

        *mine = (struct app_adapter){.app = app, .ops = adapter_registry[i]};
        if (limits_take(app->config->adapters, mine->ops->name, &mine->section, &max_jobs, err) < 0)
            return -1;
        mine->host = (struct adapter_host){
            .loop = &app->loop,
            .runner = app->config->runner,
            .config = mine->section,
            .poke = poke,
            .arg = mine,
        };
        mine->adapter = mine->ops->create(&mine->host, err);
        if (mine->adapter == NULL) {
            json_decref(mine->section);
            return -1;
        }
        app->n_adapters++;
        engine_add_adapter(app->engine, mine->ops, mine->adapter, max_jobs);
    }
    return 0;
}

static void make_engine(struct app *app)
{
    struct engine_ports ports = {
        .now_ms = now_ms,
        .wake_at = wake_at,
        .random = random_bytes,
        .arg = app,
        .rundir_ops = &rundir_ops,
        .rundir = &app->loop,
        .run_dir = app->config->run_dir,
        .rows_dir = app->rows_dir,
        .control_endpoint = app->control_endpoint,
        .python = app->python,
        .python_path = app->config->python_path,
        .examples_dir = app->config->examples_dir,
    };

    app->engine = engine_create(&ports, app->store, app->turn);
}

static int make_api(struct app *app, struct error *err)
{
    static const char *names[ADAPTERS_MAX + 1];
    struct api_config config = {
        .loop = &app->loop,
        .turn = app->turn,
        .store = app->store,
        .engine = app->engine,
        .now_ms = now_ms,
        .state_dir = app->config->state_dir,
        .heartbeat_ms = app->config->heartbeat_ms,
        .adapters = names,
        .tls_certificate = app->config->tls_certificate,
        .tls_key = app->config->tls_key,
        .host_names = (const char *const *)app->config->host_names,
    };

    for (size_t i = 0; i < app->n_adapters; i++)
        names[i] = app->adapters[i].ops->name;
    if (api_create(&app->api, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < app->config->n_listen; i++)
        if (api_listen(app->api, app->config->listen[i], err) < 0)
            return -1;
    return api_publish(app->api, err);
}

static void stop(uv_signal_t *handle, int signum)
{
    log_info("signal %d: ending; jobs under way go on", signum);
    uv_stop(handle->loop);
}

static void start_handles(struct app *app)
{
    app->handles = true;
    uv_timer_init(&app->loop, &app->wake);
    app->wake.data = app;
    uv_signal_init(&app->loop, &app->on_term);
    uv_signal_init(&app->loop, &app->on_int);
    uv_signal_start(&app->on_term, stop, SIGTERM);
    uv_signal_start(&app->on_int, stop, SIGINT);
}

static int start(struct app *app, struct error *err)
{
    const struct store_options options = {.allow_network = app->config->allow_network_state};

    if (store_open_with(&app->store, app->config->state_dir, &options, err) < 0)
        return -1;
    app->python = python_find(&app->loop, app->config->python);
    start_handles(app);
    app->turn = turn_create(&app->loop, app->store, rolled_back, app);
    make_engine(app);
    if (engine_sweep_rows(app->engine, err) < 0 ||
        control_open(&app->control, &app->loop, app->control_path, app->engine, err) < 0 ||
        make_adapters(app, err) < 0 || engine_load(app->engine, err) < 0)
        return -1;
    app->prune = prune_create(&app->loop, app->store, app->config->keep_events_ms);
    return make_api(app, err);
}

static void adapter_gone(void *arg)
{
}

/* In reverse; answers that are still under way find an engine without memory, and change nothing. */
static void finish(struct app *app)
{
    api_destroy(app->api);
    prune_destroy(app->prune);
    if (app->engine != NULL)
        engine_stop(app->engine);
    for (size_t i = app->n_adapters; i-- > 0;)
        app->adapters[i].ops->destroy(app->adapters[i].adapter, adapter_gone, NULL);
    control_close(app->control);
    turn_destroy(app->turn);
    if (app->handles) {
        uv_close((uv_handle_t *)&app->wake, NULL);
        uv_close((uv_handle_t *)&app->on_term, NULL);
        uv_close((uv_handle_t *)&app->on_int, NULL);
    }
    uv_run(&app->loop, UV_RUN_DEFAULT);
    engine_destroy(app->engine);
    for (size_t i = 0; i < app->n_adapters; i++)
        json_decref(app->adapters[i].section);
    store_close(app->store);
    if (uv_loop_close(&app->loop) != 0)
        log_warn("handles were left open at the end");
    free(app->python);
    free(app->rows_dir);
    free(app->control_path);
    free(app->control_endpoint);
}

int app_run(const struct config *config, struct error *err)
{
    struct app app = {.config = config};
    int rc;

    uv_loop_init(&app.loop);
    app.control_path = xasprintf("%s/control.sock", config->state_dir);
    app.rows_dir = xasprintf("%s/parameters", config->state_dir);
    app.control_endpoint = xasprintf("ipc://%s", app.control_path);
    rc = start(&app, err);
    if (rc == 0) {
        log_info("ready: state in %s, jobs in %s", config->state_dir, config->run_dir);
        uv_run(&app.loop, UV_RUN_DEFAULT);
    }
    finish(&app);
    return rc;
}
