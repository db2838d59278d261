/* Giving the places of adapters to ensembles. */
#ifndef DAEMON_ENGINE_ENSEMBLES_GIVE_PLACES_H
#define DAEMON_ENGINE_ENSEMBLES_GIVE_PLACES_H

struct engine;

void give_places(struct engine *engine); /* of adapters on which something has changed */

#endif
