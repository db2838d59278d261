#!/usr/bin/env bash
# Large fields of members on their rank's host are read in memory that they share: what is trained on is what they sent,
# and the rank tells how much came so; none where a member does not want it.
TEST_LIMIT=200
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

# 4 MB a step: 8 of them, and one in memory that was lent before, can go until the rank has told that it reads what is
# shared
MEMBERS=2 STEPS=16 FIELD=4000000 FIRST=9
cat >"$T/field.py" <<'END'
import numpy

def field(member, step):
    return numpy.arange(1000000, dtype=numpy.float64).reshape(1000, 1000) + 1000 * member + step / 8
END
cat >"$T/member.py" <<'END'
import sys, os, stretto
from field import field

steps, index = int(sys.argv[1]), int(os.environ["STRETTO_MEMBER"])
with stretto.open() as member:
    u = member.field("u", (1000, 1000), "float32" if index else "float64")
    for step in range(steps):
        if index:  # written into lent memory; the other one's is narrowed
            u.lend()[:] = field(index, step)
            u.send_lent(step)
        else:
            u.send(step, field(index, step))
END
cat >"$T/rank.py" <<'END'
import numpy, stretto.train
from field import field

with stretto.train.open() as rx:
    for batch in rx.batches():
        for member, step, u in zip(batch.member, batch.step, batch.fields["u"]):
            assert numpy.array_equal(u, field(member, step).astype(numpy.float32)), (member, step)
    rx.done()
END
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

stream() { # NAME=VALUE: in the members' environment; then RANK is what their rank tells
	jq -n --arg dir "$T" --arg program "$T/member.py" --arg env "$1" --arg python "$STRETTO_PYTHON" --arg steps $STEPS --argjson count $MEMBERS '
		{name: "shared", adapter: "local", width: 2, members: {command: ["env", $env, $python, $program, $steps], env: {PYTHONPATH: $dir},
			parameters: {method: "halton", count: $count, seed: 1, space: {a: [0, 1]}}, retries: 0},
		 training: {command: ["python3", ($dir + "/rank.py")], env: {PYTHONPATH: $dir}, ranks: 1,
			fields: {u: {dtype: "float32", shape: [1000, 1000]}}, buffer: {policy: "fifo", capacity: 4, batch: 2}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	[ "$ID" != null ] || bail "the spec was refused: $(api POST /v1/ensembles "@$T/spec.json")"
	ok "$1: the ensemble ends" wait_ensemble "$ID" 90
	is "$(jq -r '"\(.state) \(.training.state) \(.training.unique)"' "$T/ensemble.json")" "complete done $((MEMBERS * STEPS))" \
		"$1: every sample was drawn, and is what its member sent"
	RANK=$(api GET "/v1/trainings/$(jq .training.id "$T/ensemble.json")/ranks" | jq -c '.ranks[0]')
	is "$(jq -c '[.bytes, .rejected]' <<<"$RANK")" "[$((MEMBERS * STEPS * FIELD)),0]" "$1: of these bytes, and none was refused"
}
stream STRETTO_STREAM_CHECKSUM=1
# shellcheck disable=SC2016 # for jq
ok "most of it was read in the members' memory: $(jq .memory_bytes <<<"$RANK") bytes" jq -e \
	--argjson all $((MEMBERS * STEPS * FIELD)) --argjson least $((MEMBERS * (STEPS - FIRST) * FIELD)) \
	'.memory_bytes >= $least and .memory_bytes <= $all' <<<"$RANK"
stream STRETTO_STREAM_MEMORY=0
is "$(jq .memory_bytes <<<"$RANK")" 0 "none where the members do not want it"
stop_daemon
done_testing
