/* The journals in which pilots report what became of their jobs. */
#ifndef DAEMON_ENGINE_JOBS_PILOT_JOURNAL_H
#define DAEMON_ENGINE_JOBS_PILOT_JOURNAL_H

struct engine;
struct pilot;

void pilot_look(struct engine *engine, struct pilot *pilot); /* its journals may report something new */

#endif
