#!/usr/bin/env bash
# Artefacts: what a member leaves is recorded with size and SHA-256, and linked under names made from parameters.
# shellcheck disable=SC2016 # for the members' shells and wait_for
. "${srcdir:-.}/tests/t/lib.sh"

echo '{"archive_after": "0s"}' >now.json
start_daemon --config now.json
cat >member.sh <<'END'
echo "batch $1, attempt $STRETTO_ATTEMPT"
echo "weights of $1" >model.pt
mkdir sub && head -c 3000000 /dev/zero | tr '\0' "$1" >sub/large.npz && ln -s /etc/passwd sub/link.npz
[ "$1" != 3 ] || rm model.pt
[ "$1" != 2 ] || [ "$STRETTO_ATTEMPT" = 2 ] || { rm model.pt; echo old >sub/old.npz; }
END
jq -n --arg script "$T/member.sh" '{name: "a", members: {command: ["sh", $script, "{batch}"], retries: 1, output: "merged",
	parameters: {grid: {workers: [4], batch: [1, 2, 3]}}, artefacts: ["sub/*.npz", "stdout", "model.pt"],
	results: "results/{workers}/b{batch}"}}' >spec.json
id=$(submit spec.json)
wait_ensemble "$id" 90
member() { api GET "/v1/ensembles/$id/members/$1"; }
run=$STATE/run/e$id
is "$(member 0 | jq -r '[.artefacts[].path] | join(" ")')" "model.pt stdout sub/large.npz" "regular files that match are its artefacts"
want=$(echo "weights of 1" | sha256sum | cut -d ' ' -f 1)
is "$(member 0 | jq -c '.artefacts[0] | [.size, .sha256, .attempt]')" "[13,\"$want\",1]" "with size, SHA-256 and attempt"
is "$(member 0 | jq -r '.artefacts[2] | "\(.size) \(.sha256)"')" \
	"3000000 $(head -c 3000000 /dev/zero | tr '\0' 1 | sha256sum | cut -d ' ' -f 1)" "a file of several pieces, too"
like "$(stretto members "$id.0")" "sub/large.npz +2.9 MiB +[0-9a-f]{64}" "stretto members shows them"
is "$(member 0 | jq -r .results)" "$run/results/4/b1" "the directory of results is told"
is "$(cat "$run/results/4/b1/model.pt")" "weights of 1" "and has links to them"
is "$(cd "$run/results" && find . -type f | sort | xargs)" \
	"./4/b1/.stretto.json ./4/b1/model.pt ./4/b1/stdout ./4/b1/sub/large.npz ./4/b2/.stretto.json ./4/b2/model.pt ./4/b2/stdout ./4/b2/sub/large.npz" \
	"of members that succeeded, and no others"
is "$(stat -c %h "$run/results/4/b1/model.pt")" 2 "they cost no copy"

# --- a missing one
is "$(member 2 | jq -r '.state, .reason')" 'failed
exit status 0, but no file matches the artefact "model.pt"' "a member without one has failed, with the pattern"
is "$(member 2 | jq -c '[(.attempts | length), .artefacts]')" "[2,[]]" "after its retries"
is "$(member 1 | jq -c '[.state, .artefacts[0].attempt]')" '["succeeded",2]' "a later attempt has its own"

# --- what is there survives the archive, and belongs to its member
ok "captured output goes into the archive" wait_for 60 '[ ! -e "$run/members/0/0/a1/stdout" ]'
is "$(cat "$run/results/4/b1/stdout")" "batch 1, attempt 1" "and stays in the results"
jq --arg dir "$T/kept" '.members.results = "\($dir)/{batch}" | .members.retries = 0 | .members.parameters.grid.batch = [1, 5]' spec.json >other.json
mkdir -p kept/5 && echo mine >kept/5/model.pt
id=$(submit other.json)
wait_ensemble "$id" 60
is "$(cat kept/1/model.pt)" "weights of 1" "an absolute directory will do"
like "$(member 1 | jq -r .reason)" "kept/5/model.pt is there, and not by this member" "a file of somebody else is not replaced"
is "$(cat kept/5/model.pt) $(ls kept/5)" "mine model.pt" "and nothing is put beside it"
id=$(submit other.json)
wait_ensemble "$id" 60
like "$(member 0 | jq -r .reason)" "kept/1 has those of member $((id - 1)).0" "nor are the results of another ensemble"

# --- an attempt that is made again replaces those of the one before
job() { # ATTEMPT COMMAND: the runner alone
	mkdir -p "job$1"
	jq -n --arg dir "$T" --arg n "$1" --arg command "$2" '{version: 1, job: "st-0532-\($n)", ensemble: 1, kind: "members", walltime: 60, grace: 1,
		artefacts: ["*.npz"], tasks: [{id: "1.0", dir: "\($dir)/job\($n)/task", argv: ["sh", "-c", $command],
		results: "\($dir)/own", owner: "1.0"}]}' >"job$1/job.json"
	"$builddir/stretto-run" "$T/job$1" >"job$1.log" 2>&1
	jq -r .outcome "job$1/task/exit.json"
}
is "$(job 1 'echo a >a.npz; echo b >b.npz') $(cat own/*.npz | xargs)" "succeeded a b" "an attempt"
echo mine >own/notes
is "$(job 2 'echo later >b.npz; echo c >c.npz') $(cd own && echo *) $(cat own/b.npz)" "succeeded b.npz c.npz notes later" \
	"the next one replaces what was its own, and nothing else"

# --- a place that cannot be one: told before anything is computed, or at least not computed again
echo x >file
impossible() { # RESULTS COMMAND
	jq --arg results "$1" --arg command "echo ran >>$T/ran; $2; echo model >model.pt" '.members |= (.command = ["sh", "-c", $command] | .results = $results |
		.artefacts = ["model.pt"] | .parameters.grid = {batch: [1]} | .retries = 2)' spec.json >impossible.json
	rm -f ran
	id=$(submit impossible.json)
	wait_ensemble "$id" 60
	member 0 | jq -r .reason >why
}
impossible "$T/file/{batch}" true
like "$(cat why) $(cat ran 2>&1)" "file/1: Not a directory.*No such file" "a file where a directory is needed is told before the member runs"
impossible "$T/kept/{batch}" true
like "$(cat why) $(cat ran 2>&1)" "kept/1 has those of member .*No such file" "so is a directory with the results of another one"
impossible "$T/late/{batch}" "echo x >$T/late"
like "$(cat why) $(cat ran)" 'exit status 0, but .*late.* ran$' "where it shows only at the end, the member is not computed again"

# --- the time for reading is part of the walltime, and a cancel ends it, too
large='truncate -s 1T large.npz; echo $$ >../pid'
reads() { # ATTEMPT WALLTIME: in the background
	mkdir -p "job$1"
	jq -n --arg dir "$T" --arg n "$1" --arg command "$large" --argjson walltime "$2" '{version: 1, job: "st-0532-\($n)", ensemble: 1, kind: "members",
		walltime: $walltime, grace: 1, artefacts: ["*.npz"], tasks: [{id: "1.0", dir: "\($dir)/job\($n)/task", argv: ["sh", "-c", $command],
		results: "\($dir)/never", owner: "1.0"}]}' >"job$1/job.json"
	"$builddir/stretto-run" "$T/job$1" >"job$1.log" 2>&1 &
}
reads 3 5
ok "a runner that reads a file of 1 TiB ends with its walltime" wait_for 60 "! kill -0 $! 2>/dev/null"
is "$(jq -r .outcome job3/task/exit.json)" timeout "and says that the time was over"
like "$(jq -r .reason job3/task/exit.json)" '[0-9]+ bytes of "large.npz" had been read|ended at the walltime' "while it read"
reads 4 600
reader=$!
wait_for 60 '[ -s job4/pid ] && ! kill -0 "$(cat job4/pid)" 2>/dev/null' || bail "the task does not end"
kill -TERM $reader
ok "one that is told to end ends" wait_for 60 "! kill -0 $reader 2>/dev/null"
is "$(jq -r .outcome job4/task/exit.json) $(ls -d never 2>&1 | grep -c 'No such')" "cancelled 1" "cancelled, and without results"

# --- so is the time for reading the checkpoint that a member goes on from
resumes() { # ATTEMPT WALLTIME: in the background
	mkdir -p "job$1/checkpoint/.stretto"
	truncate -s 1T "job$1/checkpoint/large.ckpt"
	echo '{"number": 1, "path": "large.ckpt", "step": 1, "reported": true, "size": 1099511627776, "digest": "0123456789abcdef", "time": 1,
		"ensemble": 1, "attempt": 1, "mtime_ns": 1, "inode": 1}' >"job$1/checkpoint/.stretto/00000001.json"
	jq -n --arg dir "$T/job$1" --argjson walltime "$2" '{version: 1, job: "st-0532-r", ensemble: 1, kind: "members", walltime: $walltime, grace: 1,
		checkpoint: {before: 0, glob: "*.ckpt", keep: 2}, tasks: [{id: "1.0", dir: "\($dir)/task", argv: ["touch", "\($dir)/ran"],
		env: {STRETTO_CHECKPOINT_DIR: "\($dir)/checkpoint", STRETTO_ATTEMPT: "2"}}]}' >"job$1/job.json"
	"$builddir/stretto-run" "$T/job$1" >"job$1.log" 2>&1 &
	reader=$!
}
resumes 5 5
ok "a runner that reads a checkpoint of 1 TiB ends with its walltime" wait_for 60 "! kill -0 $reader 2>/dev/null"
is "$(jq -r .outcome job5/task/exit.json) $(ls job5/ran 2>&1 | grep -c 'No such')" "timeout 1" "and starts no task after it"
resumes 6 600
reads_it() { local fd; for fd in "/proc/$reader/fd/"*; do [ "$(readlink "$fd")" != "$T/job6/checkpoint/large.ckpt" ] || return 0; done; return 1; }
wait_for 60 reads_it || bail "the checkpoint is not read"
kill -TERM $reader
ok "one that is told to end ends" wait_for 60 "! kill -0 $reader 2>/dev/null"
is "$(jq -r .outcome job6/task/exit.json) $(ls job6/ran 2>&1 | grep -c 'No such')" "cancelled 1" "and starts no task either"

# --- refused
api POST /v1/ensembles "$(jq '.members.results = "results/{workers}"' spec.json)" >refusal.json
is "$(cat api.status) $(jq -r '.code, .pointer' refusal.json | xargs)" "422 spec_impossible_value /members/results" \
	"a spec in which members would share a directory is refused"
done_testing
