# shellcheck shell=bash
# shellcheck disable=SC2154 # srcdir, builddir: lib.sh
# For the tests that kill (kills.py): run it, and tell what it found.
: "${SEED:=$$}"
diag "SEED=$SEED"
mkdir -p "$T/ledger"
sanitizer=
case ${STRETTO_SANITIZE:-no} in *address*) sanitizer=$(gcc -print-file-name=libasan.so) ;; esac

report() { jq -c "$1" "$T/report.json"; }
# told KIND: violations of that kind, the first few
told() { jq -r --arg kind "$1" '(.violations[$kind] // [])[:5][]' "$T/report.json"; }

# kills OPTION...
kills() {
	local killer=$builddir/tests/t/.libs/killer.so

	LD_PRELOAD='' python3 "$srcdir/tests/t/kills.py" --state "$STATE" --ledger "$T/ledger" --seed "$SEED" \
		--member "$builddir/tests/t/kills-member" --killer "$sanitizer${sanitizer:+:}$killer" "$@" -- \
		"$builddir/strettod" --state-dir "$STATE" --config "$T/config.json" >"$T/report.json" 2>"$DAEMON_LOG" ||
		bail "kills.py has failed: $(tail -n 20 "$DAEMON_LOG")"
	diag "$(jq -c 'del(.violations)' "$T/report.json")"
}
