# shellcheck shell=bash
# shellcheck disable=SC2154 # srcdir, builddir: lib.sh
# For the tests that kill (kills.py): run it, and tell what it found.
# what LD_PRELOAD is to be (killer.c); a sanitizer comes first
killer=$builddir/tests/t/.libs/killer.so
case ${STRETTO_SANITIZE:-no} in *address*) killer=$(gcc -print-file-name=libasan.so):$killer ;; esac

report() { jq -c "$1" "$T/report.json"; }
# told KIND: violations of that kind, the first few
told() { jq -r --arg kind "$1" '(.violations[$kind] // [])[:5][]' "$T/report.json"; }

# kills OPTION...
kills() {
	: "${SEED:=$$}"
	diag "SEED=$SEED"
	mkdir -p "$T/ledger"
	LD_PRELOAD='' python3 "$srcdir/tests/t/kills.py" --state "$STATE" --ledger "$T/ledger" --seed "$SEED" \
		--member "$builddir/tests/t/kills-member" --killer "$killer" "$@" -- \
		"$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" >"$T/report.json" 2>"$DAEMON_LOG" ||
		bail "kills.py has failed: $(tail -n 20 "$DAEMON_LOG")"
	diag "$(jq -c 'del(.violations)' "$T/report.json")"
}
