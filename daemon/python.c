#include "daemon/python.h"

#include "common/log.h"
#include "common/xalloc.h"
#include <config.h>

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 10000

struct asking {
    uv_process_t process;
    uv_timer_t timer;
    int64_t status;
    bool answered;
};

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
    struct asking *asking = process->data;

    asking->status = signal ? -1 : status;
    asking->answered = true;
    uv_close((uv_handle_t *)&asking->process, NULL);
    uv_close((uv_handle_t *)&asking->timer, NULL);
}

static void on_timeout(uv_timer_t *timer)
{
    struct asking *asking = timer->data;

    uv_process_kill(&asking->process, SIGKILL);
}

/* Returns whether a Python has torch and numpy. Modules are looked up, not imported, since importing PyTorch takes
 * seconds. */
static bool has_packages(uv_loop_t *loop, const char *python)
{
    static const char code[] = "import importlib.util as u, sys\n"
                               "sys.exit(0 if all(u.find_spec(m) for m in ('torch', 'numpy')) else 3)\n";
    char *args[] = {(char *)python, "-c", (char *)code, NULL};
    uv_process_options_t options = {.exit_cb = on_exit_status, .file = python, .args = args};
    struct asking asking = {.status = -1};

    uv_timer_init(loop, &asking.timer);
    asking.timer.data = asking.process.data = &asking;
    if (uv_spawn(loop, &asking.process, &options) != 0) {
        uv_close((uv_handle_t *)&asking.process, NULL);
        uv_close((uv_handle_t *)&asking.timer, NULL);
    } else {
        uv_timer_start(&asking.timer, on_timeout, ASK_MS, 0);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return asking.answered && asking.status == 0;
}

/* Returns the path of a program that is found by PATH, to be freed, or NULL. */
static char *on_path(const char *program)
{
    char *path = xstrdup(getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin"), *rest = path, *dir, *found = NULL;

    if (strchr(program, '/') != NULL) {
        free(path);
        return xstrdup(program);
    }
    while (found == NULL && (dir = strsep(&rest, ":")) != NULL) {
        found = xasprintf("%s/%s", dir[0] ? dir : ".", program);
        if (access(found, X_OK) != 0) {
            free(found);
            found = NULL;
        }
    }
    free(path);
    return found;
}

char *python_find(uv_loop_t *loop, const char *configured)
{
    const char *const candidates[] = {configured, "python3", STRETTO_PYTHON, "/usr/bin/python3"};

    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        char *python;

        if (candidates[i] == NULL || candidates[i][0] == '\0')
            continue;
        python = on_path(candidates[i]);
        if (python != NULL && has_packages(loop, python)) {
            log_info("python for trainings: %s (has torch and numpy)", python);
            return python;
        }
        if (python != NULL && i == 0)
            log_warn("the configured python %s lacks torch or numpy", python);
        else if (python != NULL)
            log_debug("python %s lacks torch or numpy", python);
        free(python);
    }
    log_warn("no python3 here has torch and numpy: a training's \"python3\" is whatever PATH gives");
    return xstrdup("");
}
