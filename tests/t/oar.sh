# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests on a real OAR of their own (tests/oar/private-oar): source it after lib.sh.
OAR_ROOT=${STRETTO_OAR_ROOT:-$srcdir/build/unpacked}
[ -e "$OAR_ROOT/usr/lib/oar/Almighty" ] || skip_all "no OAR here: build-aux/install-packages unpack fetches it"
for program in mariadbd mariadb ps; do
	command -v $program >/dev/null || [ -x /usr/sbin/$program ] || skip_all "no OAR here ($program is missing)"
done
perl -MDBI -MDBD::mysql -MJSON -e 1 2>/dev/null || skip_all "no OAR here: libdbd-mysql-perl or libjson-perl is missing"
[ -e "$builddir/.libs/oar.so" ] || skip_all "the plugin is not built"
OAR_PID=

# oar_start [KEY=VALUE]...: its commands are then on PATH, and `oar` for its faults; the daemon finds the plugin. It does not bear the
# test's mark, since it ends by itself, after all that it started; what bears the mark is what jobs are.
oar_start() {
	rm -f "$T/oar.out" # of one before: its "ready" would be taken for this one's
	env -u STRETTO_TEST -u LD_PRELOAD python3 "$srcdir/tests/oar/private-oar" "$T/oar" serve "$@" >"$T/oar.out" 2>&1 &
	OAR_PID=$!
	wait_for 60 "grep -q ready '$T/oar.out' || ! kill -0 $OAR_PID"
	grep -q ready "$T/oar.out" || bail "OAR did not start: $(tail -n 5 "$T/oar.out")"
	PATH=$T/oar/bin:$PATH
	mkdir -p "$T/adapters"
	install -m 755 "$builddir/.libs/oar.so" "$T/adapters/"
	export LD_LIBRARY_PATH=$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
oar() { python3 "$srcdir/tests/oar/private-oar" "$T/oar" "$@"; }
oar_down() {
	[ -n "$OAR_PID" ] || return 0
	kill "$OAR_PID" 2>/dev/null
	wait "$OAR_PID" 2>/dev/null
	OAR_PID=
}
# oar_stop: no process of a job may be left.
oar_stop() {
	is "$(oar work)" "" "no process of a job is left in OAR"
	oar_down
	PATH=${PATH#"$T/oar/bin:"}
}
trap 'status=$?; oar_down; (exit $status); cleanup' EXIT

# oar_config [KEY JSON]...: the daemon's settings, in config.json
oar_config() {
	jq -n --arg dir "$T/adapters" '{plugin_dir: $dir, adapters: {oar: {poll: "5s", timeout: "30s", gather: "200ms",
		environment: ["STRETTO_TEST", "ASAN_OPTIONS", "UBSAN_OPTIONS", "XDG_STATE_HOME"]}}}' >config.json
	while [ $# -gt 0 ]; do
		jq --arg key "$1" --argjson value "$2" '.adapters.oar[$key] = $value' config.json >config.new && mv config.new config.json
		shift 2
	done
}
# oar_jobs: NAME ID STATE of each job that OAR has ever had
oar_jobs() { oarstat -J --sql 'job_id > 0' | jq -r '.[] | "\(.name) \(.Job_Id) \(.state)"' | sort; }
