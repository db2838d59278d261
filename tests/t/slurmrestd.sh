# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # lib.sh
# For tests on a real slurmrestd, over a real Slurm: source it after slurm.sh.
command -v slurmrestd >/dev/null || skip_all "no slurmrestd here"
RESTD_PID=

# restd_start PLACE [OPTION]...: as whoever runs the test, who is the private Slurm's own user, too, which slurmrestd
# would not like. Returns when it answers.
restd_start() {
	local place=$1 where=(--unix-socket "${1#unix:}" http://localhost)
	shift
	[ "${place#unix:}" != "$place" ] || where=("http://$place")
	rm -f "${place#unix:}"
	env -u STRETTO_TEST -u LD_PRELOAD SLURMRESTD_SECURITY=disable_user_check slurmrestd "$@" "$place" >>"$T/restd.out" 2>&1 </dev/null &
	RESTD_PID=$!
	wait_for 30 "curl -s -m 5 -o /dev/null ${where[*]}/openapi/v3 || ! kill -0 $RESTD_PID"
	kill -0 $RESTD_PID || return 1
}
# restd_stop [SIGNAL]
restd_stop() {
	[ -n "$RESTD_PID" ] || return 0
	kill -CONT "$RESTD_PID" 2>/dev/null
	kill "-${1:-KILL}" "$RESTD_PID" 2>/dev/null
	wait "$RESTD_PID" 2>/dev/null
	RESTD_PID=
}
# restd_start_tcp OPTION...: at a port that is free, which is then in RESTD_PORT
restd_start_tcp() {
	for _ in 1 2 3; do # it may be taken meanwhile
		RESTD_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		if SLURM_JWT=daemon restd_start "127.0.0.1:$RESTD_PORT" "$@"; then return; fi
	done
	bail "slurmrestd did not start: $(tail -n 5 "$T/restd.out")"
}
# proxy_start UPSTREAM [CERTIFICATE]: tests/slurm/rest-proxy at $T/proxy.sock, or at the port $PROXY_PORT
proxy_start() {
	batch_start "the proxy" 30 "$T/proxy.out" "$srcdir/tests/slurm/rest-proxy" "$T" "$@"
	PROXY_PID=$BATCH_PID
	PROXY_PORT=$(sed -n 's/^ready //p' "$T/proxy.out")
}
proxy_stop() { batch_down "$PROXY_PID"; PROXY_PID=; }
trap 'status=$?; restd_stop; batch_all_down; (exit $status); cleanup' EXIT

# restd_config URL [KEY JSON]...: the daemon's settings, in config.json
restd_config() {
	batch_config slurmrestd '{}' "{\"url\": \"$1\", \"poll\": \"1s\", \"timeout\": \"3s\", \"gather\": \"200ms\"}" "${@:2}"
}
# adapter_is FILTER: of what /v1/adapters tells of it
adapter_is() { api GET /v1/adapters | jq -e ".adapters[] | select(.name == \"slurmrestd\") | $1"; }
