#!/usr/bin/env bash
# Members whose parameters are rows of a file: read once, copied, and never changed afterwards.
TEST_LIMIT=200 STRETTO_TEST_JQ=jq # which keeps the order of columns
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
echo '{"adapters": {"local": {"slots": 4}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

# spec FILE SCRIPT [JQ]: a spec whose members run a shell script on the rows of FILE
spec() {
	jq -n --arg file "$1" --arg script "$2" '{name: "t", members: {command: ["sh", "-c", $script],
		parameters: {file: $file}, retries: 0}} | '"${3:-.}" >"$T/spec.json"
}
copies() { find "$STATE/parameters" -type f | wc -l; }
member() { api GET "/v1/ensembles/$ID/members/$1" | jq -c "$2"; }
# refused PATTERN WHAT: the spec at hand is refused, at the file, and leaves nothing
refused() {
	local status
	status=$(api_status POST /v1/ensembles "@$T/spec.json")
	like "$status $(jq -r '"\(.code) \(.pointer) \(.detail)"' "$T/api.body")" "$1" "$2"
}

printf 'x,name\r\n1,a\r\n2.5,"b, ""c"""\r\n-3,d\r\n' >"$T/args.csv"
spec "$T/args.csv" 'test "$(printf %s "$STRETTO_PARAMS" | jq -c .x)" = "{x}" && printf %s "$STRETTO_PARAMS" | jq -r "\"{x} of \(.name)\""'
ID=$(submit "$T/spec.json")
ok "an ensemble of a CSV file ends" wait_ensemble "$ID" 60
is "$(jq -r '"\(.state) \(.count) \(.members.succeeded)"' "$T/ensemble.json")" "complete 3 3" "with one member a row"
is "$(api GET "/v1/ensembles/$ID/members/1/stdout")" '2.5 of b, "c"' "by index"
is "$(member 2 .parameters)" '{"x":-3,"name":"d"}' "and the API shows them"

# the CLI reads a relative path as the spec's neighbour
mkdir "$T/there"
printf '{"x": 1}\n{"x": 2}\n' >"$T/there/args.jsonl"
spec args.jsonl 'echo {x}'
mv "$T/spec.json" "$T/there/spec.json"
is "$(cd / && stretto --json submit "$T/there/spec.json" | jq .count)" 2 "a relative path starts at the spec's folder"
is "$(cd "$T/there" && stretto --json submit - <spec.json | jq .count)" 2 "and at the working directory with standard input"
before=$(copies)

# what is refused
spec args.csv true
refused '^422 spec_impossible_value /members/parameters/file .*absolute' "the API wants an absolute path"
spec "$T/args.txt" true
refused '^422 spec_impossible_value /members/parameters/file .*\.jsonl' "and a known suffix"
spec "$T/none.csv" true
refused '^422 spec_parameter_file /members/parameters/file .*No such file' "a missing file is refused"
mkdir "$T/dir.csv"
spec "$T/dir.csv" true
refused '^422 spec_parameter_file .*a directory' "a directory is refused"
mkfifo "$T/fifo.csv"
spec "$T/fifo.csv" true
refused '^422 spec_parameter_file .*no regular file' "a FIFO is refused, and holds nobody up"
printf 'x,y\n1,2\n3\n' >"$T/ragged.csv"
spec "$T/ragged.csv" true
refused '^422 spec_parameter_file .*line 3: 1 field' "a ragged row is refused with its line"
printf '{"x": 1}\n{"x": 1, "y": 2}\n' >"$T/keys.jsonl"
spec "$T/keys.jsonl" true
refused '^422 spec_parameter_file .*line 2: 2 keys' "other keys than the first line's likewise"
truncate -s 1025M "$T/huge.csv"
spec "$T/huge.csv" true
refused '^422 spec_parameter_file .*more than 1073741824 bytes' "a file beyond 1 GiB is refused"
rm "$T/huge.csv"
spec "$T/args.csv" 'echo {z}'
refused '^422 spec_unfilled_placeholder /members/command/2' "placeholders are checked against the columns"
spec "$T/args.csv" true '.members.parameters.count = 3'
refused '^422 spec_unknown_key /members/parameters/count' "a file has as many members as rows"
spec "$T/args.csv" true '.members.resources = {tasks: 1000}'
refused '^422 resources_impossible' "a spec that is refused for another reason"
ok "leaves no copy behind" wait_for 10 '[ "$(copies)" = "$before" ]'
is "$(api GET /v1/ensembles | jq '.ensembles | length')" 3 "and no ensemble"

# a hundred thousand rows, the file changed and deleted, the daemon killed
awk 'BEGIN { print "i,sq,label"; for (i = 0; i < 100000; i++) printf "%d,%.1f,\"row %d\"\n", i, i * i, i }' >"$T/many.csv"
spec "$T/many.csv" 'while [ ! -e '"$T"'/go ]; do sleep 0.1; done; echo {i} {sq} {label}' '.width = 2'
cp "$T/spec.json" "$T/many.json"
keyed() {
	curl -s -m 300 --unix-socket "$SOCKET" -H 'Content-Type: application/json' -H 'Idempotency-Key: many' \
		--data-binary @"$T/many.json" http://stretto/v1/ensembles
}
(keyed >"$T/one.json") &
one=$!
keyed >"$T/two.json"
wait $one
ID=$(jq .id "$T/two.json")
is "$(jq .count "$T/two.json")" 100000 "a hundred thousand rows are accepted"
is "$(jq .id "$T/one.json")" "$ID" "once, where the same key comes again while they are read"
ok "and copied once" wait_for 10 '[ "$(copies)" = $((before + 2)) ]'
printf 'i,sq,label\n7,7,other\n' >"$T/many.csv"
is "$(member 99999 .parameters)" '{"i":99999,"sq":9999800001,"label":"row 99999"}' "the file changes, the members do not"
rm "$T/many.csv"
is "$(api GET "/v1/ensembles/$ID/members?cursor=50000&limit=2" | jq -c '[.members[].parameters.i]')" '[50000,50001]' \
	"the file is deleted, the members stay"
kill_daemon
for suffix in jsonl index; do : >"$STATE/parameters/0123456789abcdef0123456789abcdef.$suffix"; done
: >"$STATE/parameters/notes.txt"
start_daemon --config "$T/config.json"
ok "a copy that nobody accepted is removed at start" test ! -e "$STATE/parameters/0123456789abcdef0123456789abcdef.jsonl"
ok "what is not a copy is left alone" test -e "$STATE/parameters/notes.txt"
is "$(member 12345 .parameters.label)" '"row 12345"' "after a crash the members are what they were"
is "$(keyed | jq .id)" "$ID" "and the key still gives the first answer, without the file"
: >"$T/go"
wait_for 60 '[ "$(member 3 .state)" = "\"succeeded\"" ]'
is "$(api GET "/v1/ensembles/$ID/members/3/stdout")" "3 9 row 3" "they run from the copy"
api POST "/v1/ensembles/$ID/cancel" >/dev/null
ok "they are cancelled" wait_for 60 'wait_ensemble $ID 1 && [ "$(jq .members.running "$T/ensemble.json")" = 0 ]'
is "$(find "$STATE/parameters" -type f -perm /077 ! -name notes.txt | wc -l)" 0 "copies are nobody else's to read"

# NumPy's own archives, plain and compressed
if [ -n "${STRETTO_PYTHON:-}" ]; then
	"$STRETTO_PYTHON" -B - "$T" <<-'X'
		import sys
		import numpy as np
		arrays = dict(lr=np.array([0.1, 1e-3, 0.7], np.float32), half=np.array([0.1, 2, 3.3], ">f2"), n=np.arange(-1, 2, dtype=">i4"),
		              big=np.array([0, 7, 2**40], np.uint64), on=np.array([True, False, True]), name=np.array(["a", "ä b", "{x}"]),
		              raw=np.array([b"x", b"", b"yz"]), net=np.asfortranarray((np.arange(12) + 0.5).reshape(3, 2, 2)), back=np.arange(6)[::-2])
		np.savez(sys.argv[1] + "/rows.npz", **arrays)
		np.savez_compressed(sys.argv[1] + "/packed.npz", **arrays)
		np.savez(sys.argv[1] + "/objects.npz", lr=arrays["lr"], x=np.array([1, "a", None], object))
		np.savez(sys.argv[1] + "/scalar.npz", lr=arrays["lr"], note=np.float64(1))
		np.savez_compressed(sys.argv[1] + "/zeros.npz", x=np.zeros((10001, 4, 4), "S500"))
	X
	for file in rows packed; do
		spec "$T/$file.npz" 'echo {lr} {half} {n} {name} {net.1.0} {net}'
		ID=$(submit "$T/spec.json")
		ok "an archive of NumPy ends ($file)" wait_ensemble "$ID" 60
		is "$(api GET "/v1/ensembles/$ID/members/1/stdout")" '0.001 2 0 ä b 6.5 [[4.5,5.5],[6.5,7.5]]' "its rows are parameters"
		is "$(member 2 .parameters)" \
			'{"lr":0.7,"half":3.3,"n":1,"big":1099511627776,"on":true,"name":"{x}","raw":"yz","net":[[8.5,9.5],[10.5,11.5]],"back":1}' \
			"with all types"
	done
	spec "$T/objects.npz" true
	refused '^422 spec_parameter_file /members/parameters/file .*objects.npz: array "x" has pickled objects' "an array of objects is refused"
	spec "$T/scalar.npz" true
	refused '^422 spec_parameter_file /members/parameters/file .*array "note": it is a single value' "and a single value"
	spec "$T/zeros.npz" true
	ID=$(submit "$T/spec.json")
	is "$(api GET "/v1/ensembles/$ID" | jq .count)" 10001 "many zeros in a small archive are taken as they are"
	api POST "/v1/ensembles/$ID/cancel" >/dev/null
	# arguments as studies publish them: the line in the refusal makes columns of them
	"$STRETTO_PYTHON" -B - "$T" <<-'X'
		import pickle, sys
		import numpy as np
		columns = {"lr": [0.1, 0.01], "net": ["a", "b"]}
		rows = [{"lr": 0.1, "net": "a"}, {"lr": 0.01, "net": "b"}]
		np.savez(sys.argv[1] + "/dict.npz", columns)
		np.savez(sys.argv[1] + "/dicts.npz", args=rows)
		open(sys.argv[1] + "/pickle.npz", "wb").write(pickle.dumps(columns))
		np.save(open(sys.argv[1] + "/one.npz", "wb"), columns)
	X
	for file in dict dicts pickle one; do
		spec "$T/$file.npz" true
		refused '^422 spec_parameter_file .*this line of Python makes columns' "pickled arguments are refused ($file)"
		(cd "$T" && "$STRETTO_PYTHON" -c "$(jq -r .detail "$T/api.body" | sed 's/.*columns of [a-z]*: //')")
		spec "$T/columns.npz" 'echo {lr} {net}'
		ID=$(submit "$T/spec.json")
		ok "and their columns are taken" wait_ensemble "$ID" 60
		is "$(api GET "/v1/ensembles/$ID/members/1/stdout")" "0.01 b" "as they were"
		rm "$T/columns.npz"
	done
	head -c 1000 "$T/packed.npz" >"$T/cut.npz"
	spec "$T/cut.npz" true
	refused '^422 spec_parameter_file /members/parameters/file .*cut.npz: it is no archive' "and one that is cut"
fi

# The copies of two ensembles change places while the daemon is down. They have the same size and the same first row.
printf 'i\n0\n11\n12\n' >"$T/left.csv"
printf 'i\n0\n21\n22\n' >"$T/right.csv"
for side in left right; do
	spec "$T/$side.csv" "while [ ! -e $T/back ]; do sleep 0.1; done; echo {i} >>$T/$side.ran" '.width = 1'
	ID=$(submit "$T/spec.json")
	eval "$side=$ID ${side}_copy=$(ls -t "$STATE/parameters"/*.jsonl | head -1)"
	ok "the first member runs ($side)" wait_for 60 '[ "$(api GET /v1/ensembles/$ID | jq .members.running)" = 1 ]'
done
swap() { mv "$left_copy" "$T/swapped" && mv "$right_copy" "$left_copy" && mv "$T/swapped" "$right_copy"; }
stop_daemon
swap
start_daemon --config "$T/config.json"
: >"$T/back"
notice() { api GET "/v1/ensembles/$1" | jq -r '"\(.notice.code): \(.notice.text)"'; }
for side in left right; do
	eval "ID=\$$side copy=\$${side}_copy"
	ok "nothing runs from the other's copy, and the notice names it ($side)" \
		wait_for 60 'notice $ID | grep -q -F "ensemble $ID cannot be read: its copy of the parameter file, $copy, is not what it was"'
	is "$(grep -c "waits: parameters of ensemble $ID cannot be read" "$DAEMON_LOG")" 1 "the log says it once"
done
stop_daemon
swap
mv "$right_copy" "$T/away"
start_daemon --config "$T/config.json"
like "$(notice $right)" "^not_readable: ensemble $right is left alone .*$right_copy" "the notice tells of a copy that is missing"
stop_daemon
mv "$T/away" "$right_copy"
start_daemon --config "$T/config.json"
for side in left right; do
	eval "ID=\$$side"
	ok "with the copies in their places it ends ($side)" wait_ensemble "$ID" 60
	is "$(jq -c '[.state, .notice]' "$T/ensemble.json")" '["complete",null]' "well"
done
is "$(cat "$T/left.ran" "$T/right.ran" | tr '\n' ' ')" "0 11 12 0 21 22 " "each member ran once, with its own row"

# only numbers reach a training
spec "$T/args.csv" true '. + {training: {command: ["true"], fields: {f: {dtype: "float32", shape: [1]}},
	buffer: {policy: "fifo", capacity: 10, batch: 1}}}'
ID=$(submit "$T/spec.json")
ok "a training's job is written" wait_for 30 'ls $STATE/run/e$ID/training/g1/training.json'
is "$(jq -c .parameters "$STATE/run/e$ID/training/g1/training.json")" '["x"]' "numeric columns are a training's parameters"
api POST "/v1/ensembles/$ID/cancel" >/dev/null
wait_for 30 '[ "$(api GET /v1/ensembles/$ID | jq "[.members.running, .members.submitted] | add")" = 0 ]'
done_testing
