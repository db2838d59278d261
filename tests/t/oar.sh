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
# shellcheck source=tests/t/batch.sh
. "$srcdir/tests/t/batch.sh"

# oar_start [KEY=VALUE]...: its commands are then on PATH, and `oar` for its faults; the daemon finds the plugin.
oar_start() {
	batch_start OAR 60 "$T/oar.out" "$srcdir/tests/oar/private-oar" "$T/oar" serve "$@"
	OAR_PID=$BATCH_PID
	PATH=$T/oar/bin:$PATH
	mkdir -p "$T/adapters"
	install -m 755 "$builddir/.libs/oar.so" "$T/adapters/"
	export LD_LIBRARY_PATH=$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
oar() { python3 "$srcdir/tests/oar/private-oar" "$T/oar" "$@"; }
oar_down() { batch_down "$OAR_PID"; OAR_PID=; }
# oar_stop: no process of a job may be left.
oar_stop() {
	is "$(oar work)" "" "no process of a job is left in OAR"
	oar_down
	PATH=${PATH#"$T/oar/bin:"}
}

# oar_config [KEY JSON]...: the daemon's settings, in config.json
oar_config() { batch_config oar "{\"plugin_dir\": \"$T/adapters\"}" '{"poll": "5s", "timeout": "30s", "gather": "200ms"}' "$@"; }
# oar_jobs: NAME ID STATE of each job that OAR has ever had
oar_jobs() { oarstat -J --sql 'job_id > 0' | jq -r '.[] | "\(.name) \(.Job_Id) \(.state)"' | sort; }
