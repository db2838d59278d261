/* Chooses the Python that trains: the first python3 on PATH (from pyenv or a conda base, say) often lacks PyTorch. */
#ifndef DAEMON_PYTHON_H
#define DAEMON_PYTHON_H
#include <uv.h>

/* Tries `configured` (may be NULL), python3 on PATH, the Python found when stretto was built, and the distribution's.
 * Returns the absolute path of the first that has torch and numpy, "" if none has; a new string. The choice is
 * logged. Runs the loop for up to a few seconds: only for the start of the daemon. */
char *python_find(uv_loop_t *loop, const char *configured);
#endif
