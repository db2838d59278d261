/* An engine for handlers that only ask it: all ensembles have the same spec. A program that is linked with
 * fake_engine.c has these functions instead of those of daemon/engine/ and daemon/adapters.c. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H
#include "tests/unit/fake_request.h"

/* Sets the spec of all ensembles, as JSON; NULL: none, as at the end of each test. The engine has another one in each
 * turn, and the one of the last turn is gone. */
void fake_engine_spec(const char *text);
#endif
