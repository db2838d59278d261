/* The policies of a training's buffer, each a file of tasks/train/. The daemon checks a spec by this list, and a rank
 * finds them by it.
 *
 *   reservoir  draws a random one, with replacement; a draw marks as seen. A new sample takes a free place, or else
 *              that of a random seen one. Nothing is drawn below the threshold. Once reception is over, a draw removes.
 *   fifo       draws the oldest; a draw removes.
 *   firo       draws a random one; a draw removes; nothing is drawn at or below the threshold until reception is over.
 *
 * No policy ever evicts an unseen item: where there is no room, the caller waits. */
#ifndef TASKS_PROTO_BUFFER_POLICIES_H
#define TASKS_PROTO_BUFFER_POLICIES_H

#define BUFFER_POLICIES(X) X(reservoir) X(fifo) X(firo)
#define BUFFER_POLICY_DEFAULT "reservoir"

/* Their names for a message, each after a blank. */
#define BUFFER_POLICY_NAMES BUFFER_POLICIES(BUFFER_POLICY_AFTER_BLANK)
#define BUFFER_POLICY_AFTER_BLANK(name) " " #name
#endif
