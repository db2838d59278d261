/* The engine's links to the outside, so that a test can run it in virtual time on a simulated cluster. */
#ifndef DAEMON_ENGINE_PORTS_H
#define DAEMON_ENGINE_PORTS_H
#include "daemon/rundir/missing.h"
#include "daemon/rundir/whole.h"
#include "daemon/turn.h"
#include "tasks/proto/ckptdir.h"

#include <jansson.h>
#include <stdint.h>

/* A file of JSON to write whole; or the directory of a training's checkpoint, of which to make a copy
 * (daemon/rundir/adopt.h). */
struct rundir_file {
    char *path;
    char *json;       /* from malloc; NULL for a copy */
    char *checkpoint; /* what the copy is of; NULL for a file */
    unsigned mode;    /* as file_write_whole() takes it */
};

/* A file that is read on from a byte offset. */
struct rundir_tail {
    char *path;
    int64_t offset;
    /* The answer. */
    const char *text; /* whole lines; not NUL-terminated, and borrowed for the callback */
    size_t size;      /* 0 if there is nothing new, or no file */
    int failed;       /* why it could not be read, as errno; 0: it was, or there is no file */
    bool left;        /* it was not looked at, since those before it had so much */
};

#define RUNDIR_TAILS ((size_t)65536)

/* Access to the run directory, which may be a slow or hanging parallel file system: never on the loop thread. Every
 * callback comes later, once. */
struct rundir_ops {
    /* Make the directories, then write the files, in this order. Both arrays are taken over with all they hold. */
    void (*write)(void *rundir, char **dirs, size_t n_dirs, struct rundir_file *files, size_t n_files,
                  void (*cb)(void *arg, const struct error *err), void *arg);
    /* Make each of these files, and its directory, whole and exclusively, unless it is there already (`taken`: one
     * was). `paths` and `claim`, which is what they hold, are taken over. */
    void (*claim)(void *rundir, char **paths, size_t n, json_t *claim,
                  void (*cb)(void *arg, bool taken, const struct error *err), void *arg);
    /* Read JSON files: json[i] is NULL if paths[i] is not there (or broken); borrowed for the callback. `paths` is
     * taken over. err is not NULL if one could not be read for another reason than absence. */
    void (*read)(void *rundir, char **paths, size_t n, void (*cb)(void *arg, json_t **json, const struct error *err),
                 void *arg);
    /* Reads which checkpoints in each directory are whole, as ckptdir_json() reports them; lists are borrowed for the
     * callback. `dirs` and `chains` are taken over. err is not NULL if one could not be read. */
    void (*checkpoints)(void *rundir, char **dirs, struct ckpt_chain *chains, size_t n,
                        void (*cb)(void *arg, json_t **lists, const struct error *err), void *arg);
    /* Looks for missing steps by missing_count(), whose answer comes in json[0]. `paths`, one or more, and the lists of
     * the question are taken over. err is not NULL if a file could not be read. */
    void (*missing)(void *rundir, char **paths, size_t n, struct missing_question question,
                    void (*cb)(void *arg, json_t **json, const struct error *err), void *arg);
    /* Read which of `count` members are whole, by whole_read(). The result is borrowed for the callback, and NULL if
     * a file is not there. `paths` is taken over. err is not NULL if a file could not be read. */
    void (*whole)(void *rundir, char **paths, size_t n, int64_t count,
                  void (*cb)(void *arg, const struct whole *whole, const struct error *err), void *arg);
    /* Whole lines of a file from a byte offset on, about 1 MiB at most, or one longer line; `text` is NUL-terminated,
     * "" if there is nothing new, or no file. `path` is taken over. err is not NULL if it could not be read. */
    void (*tail)(void *rundir, char *path, int64_t offset,
                 void (*cb)(void *arg, const char *text, size_t size, const struct error *err), void *arg);
    /* Whole lines of several files, RUNDIR_TAILS bytes at most of each and of all together twice that; nothing of a
     * file with a longer line. `files` is taken over with all it holds, and given to the callback, which borrows it. */
    void (*tails)(void *rundir, struct rundir_tail *files, size_t n,
                  void (*cb)(void *arg, const struct rundir_tail *files, size_t n), void *arg);
};

struct engine_ports {
    int64_t (*wall_ms)(void *arg);   /* the time of day, which may be set while the engine runs */
    int64_t (*steady_ms)(void *arg); /* since whenever; never set, and stands still while the machine sleeps */
    /* Call engine_tick() after this time, or somewhat earlier; replaces the former; INT64_MAX: never. */
    void (*wake_in)(void *arg, int64_t ms);
    void (*random)(void *arg, void *out, size_t size);
    /* Returns whether a member's directory may be removed just now, so that no attempt may begin there; NULL: it never
     * is. */
    bool (*held)(void *arg, int64_t ensemble, int64_t index);
    void *arg;
    const struct rundir_ops *rundir_ops;
    void *rundir;

    /* Settings */
    const char *run_dir;          /* absolute */
    const char *rows_dir;         /* absolute; NULL: no spec names a file */
    const char *control_path;     /* of the socket for runners and ranks */
    const char *runner;           /* stretto-run, absolute */
    const char *python;           /* what "python3" means in a training's command; "" leave it to PATH */
    const char *python_path;      /* the stretto package, put before PYTHONPATH */
    const char *stream_interface; /* that members on other hosts stream to; NULL: any */
    const char *examples_dir;     /* put before PATH */
};
#endif
