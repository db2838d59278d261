#!/usr/bin/env bash
# A field whose first extent varies, from the spec to the batches: members in Python, two ranks, the daemon's own
# counters.
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
MEMBERS=4 STEPS=30
cat >member.py <<'PY'
import sys, numpy, stretto
index, steps = int(sys.argv[1]), int(sys.argv[2])
def lend_and_send(field, step, n):
    other, array = field.lend(50 - n), field.lend(n)
    assert array.shape == (n, 3) and field.lend(n) is array
    assert (other is array) == other.flags.writeable == (50 - n == n) # one with another extent was taken back
    array[:] = index + step / 64
    field.send_lent(step)
with stretto.open() as member:
    field = member.field("particles", (-1, 3), numpy.float32) if index % 2 else None
    for step in range(steps):
        n = (7 * index + step) % 51
        if field is not None:
            lend_and_send(field, step, n)
            member.send(step, count=[n])
        else:
            member.send(step, particles=numpy.full((n, 3), index + step / 64), count=[n])
PY
cat >train.py <<'PY'
import json, numpy, stretto.train
seen = set()
with stretto.train.open() as rx:
    for batch in rx.batches():
        entries = batch.fields["particles"]
        assert len(entries.offsets) == len(batch.step) + 1
        assert len(entries.data) == entries.offsets[-1] == batch.fields["count"].sum()
        for member, step, (count,), particles in zip(batch.member, batch.step, batch.fields["count"], batch.fields["particles"]):
            assert particles.shape == (count, 3) and count == (7 * member + step) % 51
            assert (particles == member + step / 64).all()
            seen.add((int(member), int(step)))
    with open("books.json", "w") as file:
        json.dump({"seen": len(seen), "bytes": rx.stats()["bytes"]}, file)
    rx.done()
PY
# shellcheck disable=SC2016 # for jq
jq -n --arg python "$STRETTO_PYTHON" --arg dir "$T" --arg steps $STEPS --argjson members $MEMBERS '{name: "particles", width: 4,
	members: {command: [$python, ($dir + "/member.py"), "{index}", $steps], retries: 0, parameters: {grid: {p: [range($members)]}}},
	training: {command: ["python3", ($dir + "/train.py")], ranks: 2, fields: {
		particles: {dtype: "float32", shape: [-1, 3], max: 50}, count: {dtype: "int64", shape: [1]}},
		buffer: {policy: "fifo", capacity: 60, threshold: 0, batch: 8}}}' >spec.json
jq 'del(.training.fields.particles.max)' spec.json >wrong.json

echo '{"adapters": {"local": {"slots": 6}}}' >config.json
start_daemon --config "$T/config.json"
is "$(api_status POST /v1/ensembles @wrong.json)" 422 "without the largest extent, there is no bound: refused"
is "$(jq -r .pointer "$T/api.body")" /training/fields/particles/max "with the place"
api POST /v1/ensembles @spec.json >"$T/accepted"
ID=$(jq -r .id "$T/accepted")
[ "$ID" != null ] || bail "refused: $(cat "$T/api.body")"
ok "the ensemble ends" wait_ensemble "$ID" 90
is "$(jq -r '"\(.state) \(.members.succeeded) \(.training.unique) \(.training.drawn)"' "$T/ensemble.json")" \
	"complete $MEMBERS $((MEMBERS * STEPS)) $((MEMBERS * STEPS))" "with every sample of every member"
books=$(cat "$STATE/run/e$ID/training/g1/rank"?/books.json)
is "$(jq -s 'map(.seen) | add' <<<"$books")" $((MEMBERS * STEPS)) "each with its own extent, on both ranks"
bytes=0
for ((m = 0; m < MEMBERS; m++)); do
	for ((s = 0; s < STEPS; s++)); do bytes=$((bytes + (7 * m + s) % 51 * 12 + 8)); done
done
is "$(jq -s 'map(.bytes) | add' <<<"$books")" $bytes "the ranks' count of bytes is that of what was sent"
done_testing
