# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests on an emulated ALPS of their own (tests/alps/alps): source it after lib.sh.
# shellcheck source=tests/t/batch.sh
. "$srcdir/tests/t/batch.sh"

# alps_start NIDS CPUS: a reservation of these nodes, inside of Cobalt's allocation of the same; aprun and others are on
# PATH.
alps_start() {
	mkdir -p "$T/alps/bin"
	for name in aprun apstat apkill; do ln -s "$srcdir/tests/alps/alps" "$T/alps/bin/$name"; done
	echo "$1 $2" >"$T/alps/nodes"
	touch "$T/alps/counts"
	PATH=$T/alps/bin:$PATH
	export COBALT_PARTNAME=$1 COBALT_JOBID=77
}
placed() { apstat -u me | awk 'NR > 2 { print $1 }'; }

# alps_config [KEY JSON]...: the daemon's settings, in config.json
alps_config() { batch_config alps '{"python": "/bin/true"}' '{"pause": "50ms", "poll": "1s"}' "$@"; }
