#!/bin/bash
# GPUs and memory of the local adapter: no GPU is given twice, over kill -9 of the daemon; what can never fit is
# refused.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
unset CUDA_VISIBLE_DEVICES
jq -n '{adapters: {local: {slots: 32, gpus: 4, memory: "2GiB"}}}' >config.json
start_daemon --config config.json

# Takes each of its GPUs by making a directory, which only one process can; a second one fails, for good.
cat >use-gpus <<'E2'
#!/bin/sh
taken=
for g in $(echo "$STRETTO_GPUS" | tr , ' '); do
	mkdir "$GPUS/$g" || exit 9
	echo "$g" >>"$GPUS.used"
	taken="$taken $GPUS/$g"
done
sleep 0.1
rmdir $taken
[ "$CUDA_VISIBLE_DEVICES" = "$STRETTO_GPUS" ]
E2
chmod +x use-gpus
mkdir gpus
members() { # COUNT GPUS PACK
	jq -n --arg run "$T/use-gpus" --arg gpus "$T/gpus" --argjson count "$1" --argjson wants "$2" --argjson pack "$3" '
		{name: "gpus", adapter: "local", width: 20, pack: $pack, members: {command: [$run], env: {GPUS: $gpus}, retries: 0,
			parameters: {grid: {x: [range($count)]}}, resources: {gpus: $wants, memory: "100MiB"}}}'
}
members 30 1 1 >one.json
members 14 1 2 >packed.json
members 8 2 1 >two.json
one=$(submit one.json) packed=$(submit packed.json) two=$(submit two.json)
for used in 8 16 24; do # of 60
	# shellcheck disable=SC2016 # for wait_for
	wait_for 60 '[ "$(wc -l <gpus.used)" -ge "$used" ]'
	kill_daemon
	start_daemon --config config.json
done
for id in "$one" "$packed" "$two"; do
	wait_ensemble "$id" 120
	is "$(jq -c '[.state, .members.succeeded == .count]' ensemble.json)" '["complete",true]' "every member of ensemble $id had its GPUs alone"
done
is "$(sort -u gpus.used | tr '\n' ' ')" "0 1 2 3 " "all GPUs were used"

refused() { # EXPRESSION POINTER NAME
	jq "$1" one.json >bad.json
	is "$(api_status POST /v1/ensembles @bad.json) $(jq -r '.code + " " + .pointer' api.body)" "422 resources_impossible $2" "$3"
}
refused '.members.resources.gpus = 5' /members/resources/gpus "more GPUs than there are"
refused '.members.resources.memory = "3GiB"' /members/resources/memory "more memory than there is"
refused '.pack = 4 | .members.resources.memory = "1GiB"' /pack "more members in a job than the memory is for"
like "$(jq -r .detail api.body)" '^"pack" is 4: 4 × 1073741824 bytes of memory are wanted' "which is named, with what they want"
refused '.pack = 33' /pack "more members in a job than there are slots"
refused '.pack = 33 | .members.resources.tasks = 33' /members/resources/tasks "not where one of them alone has none"
refused '.pack = 5' /pack "nor GPUs"
refused '.pack = 33 | .refill = true' /pack "the same of those that are followed by others"
refused '.pack = 4 | .allocation = {cpus: 2}' /pack "and of those in an allocation"
training='.training = {command: ["true"], ranks: 1, fields: {f: {dtype: "float32", shape: [1]}},
	buffer: {policy: "fifo", capacity: 10, batch: 1}, resources: {gpus: 2, memory: "1GiB"}}'
refused "$training | .training.ranks = 3 | .training.buffer.capacity = 100" /training/ranks "more ranks than there are GPUs for"
refused "$training | .members.resources.gpus = 0 | .pack = 32" /pack "more members in a job than slots are left by the training"
refused "$training | .members.resources.gpus = 3" /members/resources/gpus "more GPUs than a training leaves"
refused "$training | .members.resources.memory = \"1500MiB\"" /members/resources/memory "more memory than a training leaves"

# --- whole machines: each kind of job makes a mark, and looks for marks of those that may not run beside it
mkdir running
cat >mark <<'E2'
#!/bin/sh
cd "$RUNNING" && mkdir "$KIND-$$" || exit 9
sleep 0.05
for other in *; do
	case $KIND,$other in
	whole,whole-$$ | part,part-*) ;;
	*) exit 8 ;;
	esac
done
rmdir "$KIND-$$"
E2
chmod +x mark
marks() { # KIND COUNT EXCLUSIVE
	jq --arg run "$T/mark" --arg running "$T/running" --arg kind "$1" --argjson count "$2" --argjson exclusive "$3" '.name = $kind |
		.members.command = [$run] | .members.env = {RUNNING: $running, KIND: $kind} | .members.parameters.grid.x = [range($count)] |
		.members.resources = {exclusive: $exclusive}' one.json
}
marks whole 12 true >whole.json
marks part 60 false >part.json
whole=$(submit whole.json) part=$(submit part.json) more=$(submit whole.json)
for id in "$whole" "$part" "$more"; do
	wait_ensemble "$id" 120
	is "$(jq -c '[.state, .members.succeeded == .count]' ensemble.json)" '["complete",true]' "no member of ensemble $id ran beside one that wants the machine for itself"
done
jq '.members.resources.exclusive = "all"' whole.json >bad.json
is "$(api_status POST /v1/ensembles @bad.json) $(jq -r '.code + " " + .pointer' api.body)" "422 spec_wrong_type /members/resources/exclusive" "it is true or false"
refused "$training | .training.resources = {} | .members.resources = {exclusive: true}" /members/resources/exclusive "members that need the machine beside a training"
refused "$training | .training.resources = {exclusive: true} | .members.resources = {}" /training/resources/exclusive "a training that needs it beside its members"

# members without GPUs see none
# shellcheck disable=SC2016 # for the member's shell
printf '#!/bin/sh\necho "${CUDA_VISIBLE_DEVICES-unset}:$STRETTO_GPUS"\n' >show
chmod +x show
jq --arg show "$T/show" '.members.command = [$show] | .members.resources = {} | .members.parameters = {grid: {x: [1]}}' \
	one.json >none.json
id=$(submit none.json)
wait_ensemble "$id" 60
is "$(api GET "/v1/ensembles/$id/members/0/stdout")" ":" "a member that asks for no GPU sees none"
done_testing
