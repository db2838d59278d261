#!/bin/sh
# epochs.sh TOTAL SECONDS [--restart FILE]: a training of TOTAL epochs that take SECONDS each, which may be a file that
# has them. Its history, a line for each epoch, is its checkpoint, which it leaves after each; warned by SIGUSR1 it
# stops after the next, with exit status 0. It knows nothing of stretto but the directory for them. EPOCHS_IGNORE: it
# does not stop then. EPOCHS_LOUD: it tells each epoch. EPOCHS_WAIT: after so many of its own it waits until it is
# warned, however fast it was.
total=$1 seconds=$2 at=0 warned=
trap 'warned=yes' USR1
: >history
if [ "${3:-}" = --restart ]; then
	cat "$4" >history || exit 3
	at=$(tail -n 1 history)
	[ "$at" -gt 0 ] || exit 4
fi
last=$((at + ${EPOCHS_WAIT:-$total}))
while [ "$at" -lt "$total" ]; do
	while [ "$at" -ge "$last" ] && [ -z "$warned" ]; do sleep 0.2; done
	if [ -f "$seconds" ]; then read -r pace <"$seconds"; else pace=$seconds; fi
	sleep "$pace"
	at=$((at + 1))
	echo "$at" >>history
	cp history "$STRETTO_CHECKPOINT_DIR/.part" && mv "$STRETTO_CHECKPOINT_DIR/.part" "$STRETTO_CHECKPOINT_DIR/epoch-$at.ckpt"
	[ -z "${EPOCHS_LOUD:-}" ] || echo "$at"
	[ -z "$warned" ] || [ -n "${EPOCHS_IGNORE:-}" ] || exit 0
done
cp history result
