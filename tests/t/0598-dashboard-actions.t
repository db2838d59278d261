#!/usr/bin/env bash
# Operators let members go again from the dashboard, in their ensemble and in a follow-up; readers see the lineage and
# the spec.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
echo '{"adapters": {"local": {"slots": 30}}}' >config.json
start_daemon --config config.json

use_dashboard dashboard_empty.py "not here: no message"

# Members 0 to 2 fail until they are mended, 3 and 4 are out of time and leave a checkpoint, the others succeed.
cat >member <<X
#!/bin/sh
case \$1 in
0 | 1 | 2) test -e $T/mended || exit 3 ;;
3 | 4) if [ "\${2:-}" != --restart ]; then
	trap 'exit 0' USR1
	echo x >"\$STRETTO_CHECKPOINT_DIR/1.ckpt"
	while :; do sleep 0.1; done
fi ;;
esac
touch result
X
chmod +x member
jq -n --arg member "$T/member" '{name: "again", width: 10, members: {command: [$member, "{i}"], parameters: {grid: {i: [range(10)]}}, retries: 0,
	resources: {walltime: "1m"}, success: {file: "result"},
	checkpoint: {before: "40s", signal: "USR1", grace: "1s", glob: "*.ckpt", resume: ["--restart", "{checkpoint}"]}}}' >spec.json
for _ in 1 2 3; do submit spec.json >/dev/null; done # all at once: their members are warned after 20 s
for id in 1 2 3; do wait_ensemble $id 60 || bail "it does not end"; done
is "$(jq -c '[.state, .members.succeeded, .members.failed, .members.unfinished]' ensemble.json)" '["complete",5,3,2]' "five succeed, three fail, two are unfinished"
use_dashboard dashboard_actions.py "reader: no message"
done_testing
