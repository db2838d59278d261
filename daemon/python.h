/* Which Python trains: the first python3 on PATH is often one without PyTorch (pyenv, a conda base). */
#ifndef DAEMON_PYTHON_H
#define DAEMON_PYTHON_H
#include <uv.h>

/* The absolute path of the first of: `configured` (NULL: none), python3 on PATH, the one found when stretto was built,
 * the distribution's, that has torch and numpy; "" where none has. Runs the loop meanwhile, at most a few seconds: for
 * the start of the daemon only. A new string; what was found is logged. */
char *python_find(uv_loop_t *loop, const char *configured);
#endif
