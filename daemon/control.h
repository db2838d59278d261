/* The control socket: runners and ranks say where to look (docs/run-directory.md). */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H
#include "daemon/engine/engine.h"

struct control;

/* Bind ipc://PATH. The directory of the socket (mode 0700) keeps others out. */
int control_open(struct control **out, uv_loop_t *loop, const char *path, struct engine *engine, struct error *err);
void control_close(struct control *control); /* its handle is freed by the loop */
#endif
