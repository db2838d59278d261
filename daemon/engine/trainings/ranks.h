/* Reading what the ranks of a training wrote. */
#ifndef DAEMON_ENGINE_TRAININGS_RANKS_H
#define DAEMON_ENGINE_TRAININGS_RANKS_H

struct engine;
struct live_ensemble;

void training_look(struct engine *engine, struct live_ensemble *ens);
void training_read_metrics(struct engine *engine, struct live_ensemble *ens); /* the last step of that */
/* Notes that everything is read that the ranks wrote. If the spec says how many steps there are, those that are missing
 * are counted first. */
void training_all_read(struct engine *engine, struct live_ensemble *ens);
/* The training's job is over: reads the rest of what the ranks wrote, if they ran at all. The job is held until then:
 * it stays open until the turn that concludes its training. A daemon that dies before finds it, and how its ranks
 * ended, once more. */
void training_read_rest(struct engine *engine, struct live_ensemble *ens);

#endif
