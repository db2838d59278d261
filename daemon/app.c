#include "daemon/app.h"

#include "api/api.h"
#include "common/files.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/adapters.h"
#include "daemon/control.h"
#include "daemon/engine/engine.h"
#include "daemon/loop_latency.h"
#include "daemon/logs.h"
#include "daemon/notify.h"
#include "daemon/archive.h"
#include "daemon/prune.h"
#include "daemon/python.h"
#include "daemon/run_books.h"
#include "daemon/run_mark.h"
#include "daemon/rundir/rundir.h"
#include "daemon/state_watch.h"
#include "daemon/store/backup.h"
#include "daemon/store/checkpoint.h"
#include "daemon/sweep.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMIT_PAUSE 4 /* the pause between commits, in units of the time that the last one took */
/* wait for changes that nobody waits for; the run directory would report them after a crash */
#define COMMIT_TOGETHER_MS 10

struct app {
    struct config *config;
    uv_loop_t loop;
    struct store *store, *reader; /* the reader is NULL if only one connection is possible */
    struct turn *turn;
    struct state_watch *state_watch;
    struct engine *engine;
    struct adapters *adapters;
    struct control *control;
    struct prune *prune;
    struct logs *logs;
    struct notify *notify;
    struct loop_latency *latency;
    struct checkpoint *checkpoint;
    struct run_marker *marker;
    struct archive *archive;
    struct output_sweep *sweep;
    struct api *api;
    char *control_path, *python, *rows_dir;
    uv_timer_t wake;
    uv_idle_t wake_now;
    uv_work_t first_work;
    uv_signal_t on_term, on_int, on_hup;
    bool handles; /* the handles above are initialised */
};

static int64_t wall_ms(void *arg)
{
    return time_now_ms();
}

static int64_t steady_ms(void *arg)
{
    return time_monotonic_ms();
}

static void random_bytes(void *arg, void *out, size_t size)
{
    randombytes_buf(out, size);
}

static bool app_is_held(void *arg, int64_t ensemble, int64_t index)
{
    struct app *app = arg;

    return app->archive != NULL && archive_holds(app->archive, ensemble, index);
}

static void on_wake(uv_timer_t *timer)
{
    struct app *app = timer->data;

    engine_tick(app->engine);
}

static void on_wake_now(uv_idle_t *idle)
{
    struct app *app = idle->data;

    uv_idle_stop(idle); /* comes first, since engine_tick() may start it again for the next turn */
    engine_tick(app->engine);
}

/* Uses an idle handle, not a timer, for work that is due now. The shortest wait of a timer is a millisecond, which
 * would pass between the end of a member and the start of the next. (libuv before 1.45 never leaves a timer of 0 ms
 * that its own callback starts again.) */
static void wake_in(void *arg, int64_t ms)
{
    struct app *app = arg;

    uv_timer_stop(&app->wake);
    uv_idle_stop(&app->wake_now);
    if (ms == INT64_MAX)
        return;
    if (ms < 1) {
        uv_idle_start(&app->wake_now, on_wake_now);
        return;
    }
    uv_update_time(&app->loop);
    /* at most a minute, so that a clock that was set is noticed */
    uv_timer_start(&app->wake, on_wake, ms > 60000 ? 60000 : (uint64_t)ms, 0);
}

static void rolled_back(void *arg)
{
    struct app *app = arg;

    if (app->engine != NULL)
        engine_rest(app->engine);
}

static void make_engine(struct app *app)
{
    struct engine_ports ports = {
        .wall_ms = wall_ms,
        .steady_ms = steady_ms,
        .wake_in = wake_in,
        .random = random_bytes,
        .held = app_is_held,
        .arg = app,
        .rundir_ops = &rundir_ops,
        .rundir = &app->loop,
        .run_dir = app->config->run_dir,
        .rows_dir = app->rows_dir,
        .control_path = app->control_path,
        .runner = app->config->runner,
        .python = app->python,
        .python_path = app->config->python_path,
        .stream_interface = app->config->stream_interface,
        .examples_dir = app->config->examples_dir,
    };

    app->engine = engine_create(&ports, app->store, app->turn);
}

static int make_api(struct app *app, struct error *err)
{
    struct api_config config = {
        .loop = &app->loop,
        .turn = app->turn,
        .store = app->store,
        .reader = app->reader,
        .engine = app->engine,
        .control = app->control,
        .latency = app->latency,
        .now_ms = wall_ms,
        .state_dir = app->config->state_dir,
        .listeners = (unsigned)app->config->n_listen,
        .connections_max = (unsigned)app->config->max_connections,
        .heartbeat_ms = app->config->heartbeat_ms,
        .adapters = app->adapters,
        .tls_certificate = app->config->tls_certificate,
        .tls_key = app->config->tls_key,
        .host_names = (const char *const *)app->config->host_names,
    };

    if (api_create(&app->api, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < app->config->n_listen; i++)
        if (api_listen(app->api, app->config->listen[i], err) < 0)
            return -1;
    api_publish(app->api);
    return 0;
}

static void app_stop(uv_signal_t *handle, int signum)
{
    log_info("signal %d: ending; jobs under way go on", signum);
    uv_stop(handle->loop);
}

static void app_describe(void *arg, char *out, size_t size)
{
    struct app *app = arg;
    const struct error *trouble = turn_trouble(app->turn);
    size_t ensembles, jobs;

    if (trouble != NULL) {
        snprintf(out, size, "Changes cannot be stored: %s", trouble->text);
        return;
    }
    engine_count(app->engine, &ensembles, &jobs);
    snprintf(out, size, "%zu ensembles and %zu jobs under way", ensembles, jobs);
}

/* SIGHUP, which programs that renew certificates send. */
static void app_reload(uv_signal_t *handle, int signum)
{
    struct app *app = handle->data;

    if (app->api != NULL)
        api_reload(app->api);
}

static void start_handles(struct app *app)
{
    app->handles = true;
    uv_timer_init(&app->loop, &app->wake);
    uv_idle_init(&app->loop, &app->wake_now);
    app->wake.data = app->wake_now.data = app;
    uv_signal_init(&app->loop, &app->on_term);
    uv_signal_init(&app->loop, &app->on_int);
    uv_signal_init(&app->loop, &app->on_hup);
    app->on_hup.data = app;
    uv_signal_start(&app->on_term, app_stop, SIGTERM);
    uv_signal_start(&app->on_int, app_stop, SIGINT);
    uv_signal_start(&app->on_hup, app_reload, SIGHUP);
}

/* Called when a flush has failed: commits may be missing on the disk for good, so that nobody may be told that they
 * were stored. The daemon ends; when it is started again, it begins with what the disk holds. */
static void not_flushed(void *arg, const struct error *err)
{
    log_error("%s: the daemon ends at once, since it can vouch for nothing more; jobs under way go on", err->text);
    log_close();
    _exit(EX_IOERR);
}

static void do_nothing(uv_work_t *work)
{
}

/* Makes libuv's worker threads with all signals blocked. Linux delivers SIGCHLD to the thread that started the child,
 * so that the end of each runner would wake up a worker, only for it to wake up the loop. */
static void make_workers(struct app *app)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uv_queue_work(&app->loop, &app->first_work, do_nothing, NULL); /* the first work makes libuv start its threads */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Settles which run directory it is, and whether the database fits to it. */
static int open_books(struct app *app, struct error *err)
{
    struct config *config = app->config;
    struct run_books books = {.state_dir = config->state_dir,
                              .rows_dir = app->rows_dir,
                              .now_ms = time_now_ms(),
                              .new_run_dir = config->new_run_dir};
    char *home;
    int rc = run_books_home(app->store, config->state_dir, &home, err);

    if (home != NULL && !config->run_dir_chosen && !config->new_run_dir)
        rc = config_use_run_dir(config, home, err);
    free(home);
    books.run_dir = config->run_dir;
    return rc < 0 ? -1 : run_books_open(app->store, &books, err);
}

static void each_second(void *arg)
{
    struct app *app = arg;

    checkpoint_look(app->checkpoint);
    run_marker_look(app->marker);
}

static int app_start(struct app *app, struct error *err)
{
    const struct store_options options = {.allow_network = app->config->allow_network_state};
    int rc;

    app->logs = logs_create(&app->loop);
    app->notify =
        notify_create(&app->loop, app_describe, app); /* first, since children must not inherit its variables */
    rc = store_open_with(&app->store, app->config->state_dir, &options, err);
    if (rc < 0 || store_open_reader(&app->reader, app->store, err) < 0)
        return -1;
    backup_sweep(app->config->state_dir);
    if (open_books(app, err) < 0)
        return -1;
    file_sweep_temporary(app->config->state_dir);
    file_sweep_temporary(app->config->run_dir);
    app->python = python_find(&app->loop, app->config->python);
    start_handles(app);
    app->checkpoint = checkpoint_create(&app->loop, app->store);
    app->latency = loop_latency_create(&app->loop);
    app->turn = turn_create(&app->loop, app->store, rolled_back, app);
    turn_be_patient(app->turn, COMMIT_TOGETHER_MS);
    turn_pause(app->turn, COMMIT_PAUSE);
    turn_flush_apart(app->turn, not_flushed, NULL);
    app->marker = run_marker_create(&app->loop, app->reader != NULL ? app->reader : app->store,
                                    store_instance(app->store), app->config->run_dir);
    app->state_watch = state_watch_create(&app->loop, app->store, app->turn, each_second, app);
    app->archive =
        archive_create(&app->loop, app->store, app->turn, app->config->run_dir, app->config->archive_after_ms);
    make_engine(app);
    if (engine_sweep_rows(app->engine, err) < 0 ||
        control_open(&app->control, &app->loop, app->control_path, app->engine, err) < 0 ||
        adapters_create(&app->adapters, &app->loop, app->config, app->engine, err) < 0 ||
        engine_load(app->engine, err) < 0)
        return -1;
    app->sweep = sweep_create(&app->loop, app->store, app->turn, app->archive, app->config->run_dir,
                              app->config->keep_output, app->config->keep_output_for_ms);
    app->prune = prune_create(&app->loop, app->store, app->config->keep_events_ms);
    return make_api(app, err);
}

/* Ends all parts in reverse order. Answers that are still under way find an engine without memory, and change
 * nothing. */
static void app_finish(struct app *app)
{
    if (app->notify != NULL)
        notify_stopping(app->notify);
    api_destroy(app->api);
    prune_destroy(app->prune);
    sweep_destroy(app->sweep);
    archive_destroy(app->archive);
    app->archive = NULL;
    if (app->engine != NULL)
        engine_stop(app->engine);
    adapters_destroy(app->adapters);
    control_close(app->control);
    state_watch_destroy(app->state_watch);
    turn_destroy(app->turn);
    if (app->marker != NULL)
        run_marker_look(app->marker); /* for the last changes */
    run_marker_destroy(app->marker);
    loop_latency_destroy(app->latency);
    checkpoint_destroy(app->checkpoint);
    notify_destroy(app->notify);
    logs_destroy(app->logs);
    if (app->handles) {
        uv_close((uv_handle_t *)&app->wake, NULL);
        uv_close((uv_handle_t *)&app->wake_now, NULL);
        uv_close((uv_handle_t *)&app->on_term, NULL);
        uv_close((uv_handle_t *)&app->on_int, NULL);
        uv_close((uv_handle_t *)&app->on_hup, NULL);
    }
    uv_run(&app->loop, UV_RUN_DEFAULT);
    adapters_free(app->adapters);
    engine_destroy(app->engine);
    store_close(app->reader);
    store_close(app->store);
    if (uv_loop_close(&app->loop) != 0)
        log_warn("handles were left open at the end");
    free(app->python);
    free(app->rows_dir);
    free(app->control_path);
}

int app_run(struct config *config, struct error *err)
{
    struct app app = {.config = config};
    int rc;

    uv_loop_init(&app.loop);
    uv_loop_configure(&app.loop, UV_METRICS_IDLE_TIME); /* loop_latency.h needs it */
    make_workers(&app);
    app.control_path = xasprintf("%s/control.sock", config->state_dir);
    app.rows_dir = xasprintf("%s/parameters", config->state_dir);
    rc = app_start(&app, err);
    if (rc == 0) {
        log_info("ready: state in %s, jobs in %s", config->state_dir, config->run_dir);
        notify_ready(app.notify);
        uv_run(&app.loop, UV_RUN_DEFAULT);
    }
    app_finish(&app);
    return rc;
}
