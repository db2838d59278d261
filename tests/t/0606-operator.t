#!/bin/bash
# What an operator asks: adapters, jobs, output that is followed over a restart.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# shellcheck disable=SC2119 # no options
start_daemon
jq -n '{name: "quick", members: {command: ["sh", "-c", "echo {x}"], parameters: {grid: {x: [range(4)]}}}, width: 4, pack: 2}' >quick.json
jq -n '{name: "slow", members: {parameters: {grid: {x: [0]}}, retries: 1,
	command: ["sh", "-c", "for word in one two; do echo $word; go=$HOME/go.$STRETTO_ATTEMPT.$word; while ! test -e $go; do sleep 0.05; done; done
		echo three; exit 1"]}}' >slow.json
ok "an ensemble" stretto submit --wait quick.json
ok "and one that waits" stretto submit slow.json
wait_for 20 'stretto members 2 --state running --json | jq -e ".members | length == 1"'
ok "jobs end, too" wait_for 60 'stretto jobs 1 --json | jq -e "[.jobs[].state] | unique == [\"ended\"]"'

# --- adapters
status_is 0 "adapters" stretto adapters
like "$(cat out)" 'local +answers +[0-9]+ +0 +1 ' "the table: state, slots, jobs"
is "$(stretto adapters --json | jq -c '.adapters[0] | [.name, .plugin, .state, .sentence, .failing_since, .reason, .ensembles, .jobs.running]')" \
	'["local",null,"answers","local answers",null,null,1,1]' "--json"
ok "when it answered last" jq -n -e --argjson now "$(date +%s)" \
	--arg at "$(stretto adapters --json | jq -r '.adapters[0].answered')" \
	'($at | sub("\\.[0-9]+Z"; "Z") | fromdate) as $t | $now - $t < 100'

# --- jobs
is "$(stretto jobs --json | jq -c '[.jobs[] | [.ensemble, .size]]')" '[[2,1],[1,2],[1,2]]' "jobs, newest first"
is "$(stretto jobs 1 --json | jq -c '[.jobs[].state] | unique')" '["ended"]' "of an ensemble"
is "$(stretto jobs --state running --json | jq -c '[.jobs[] | [.ensemble, .adapter, .state, .submissions, .ended]]')" \
	'[[2,"local","running",1,null]]' "in a state"
is "$(stretto jobs --state ended --json | jq -c '[.jobs[].ensemble] | unique')" '[1]' "that ended"
is "$(stretto jobs --adapter local --json | jq '.jobs | length')" 3 "of an adapter"
is "$(stretto jobs 1 --adapter pbs --json | jq -c .jobs) $(stretto jobs --adapter pbs --json | jq -c .jobs)" "[] []" "of one that has none"
is "$(stretto jobs | awk 'NR > 1 { print $2, $3, $4, $5, $6 }' | head -n 1)" "2 members 1 local running" "the table"
status_is 3 "an unknown state" stretto jobs --state lost
status_is 2 "no id" stretto jobs seven
cursor='' all=
for _ in 1 2 3 4; do
	api GET "/v1/jobs?limit=2$cursor" >page
	all="$all $(jq -r '.jobs[].id' page | xargs)"
	cursor="&cursor=$(jq -r .next page)"
	[ "$cursor" != '&cursor=null' ] || break
done
is "$all $cursor" " 3 2 1 &cursor=null" "page by page"
is "$(api GET /v1/jobs/1 | jq -c '[.id, .kind, [.attempts[] | [.index, .number, .outcome]]]')" \
	'[1,"members",[[0,1,"succeeded"],[1,1,"succeeded"]]]' "one job has its attempts"
is "$(api GET "/v1/jobs/$(jq '.jobs[0].id' <(stretto jobs --json))" | jq -c '.attempts')" '[{"index":0,"number":1,"outcome":null}]' "open ones too"
is "$(api_status GET /v1/jobs/99) $(jq -r .code api.body)" "404 job_not_found" "one that is not there"
is "$(api_status GET '/v1/jobs?state=open')" 400 "a wrong state"
is "$(api_status GET '/v1/jobs?ensemble=0')" 400 "a wrong ensemble"
for list in jobs checkpoints; do
	is "$(api_status GET "/v1/$list?ensemble=99") $(jq -r .code api.body)" "404 ensemble_not_found" "$list of one that is not there"
	status_is 3 "and by the command" stretto $list 99
done
name=$(api GET /v1/jobs/1 | jq -r .name)
is "$(api GET /v1/ensembles/1/members/0 | jq -r '.attempts[0].job')" "$name" "its name is what attempts call it"

# --- output, followed over two restarts, and another attempt
stretto logs -f 2.0 >followed 2>notes &
follower=$!
times=0
for word in one two; do
	times=$((times + 1))
	wait_for 20 'grep -q $word followed'
	kill_daemon
	# shellcheck disable=SC2016 # for wait_for
	ok "logs -f says that the daemon is gone, once each time" wait_for 20 '[ "$(grep -c "does not answer" notes)" = $times ]'
	# shellcheck disable=SC2119 # no options
	start_daemon
	# shellcheck disable=SC2016 # for wait_for
	ok "and that it is back" wait_for 20 '[ "$(grep -c "the daemon is back" notes)" = $times ]'
	touch "$HOME/go.1.$word" # at last the attempt fails, and the next one begins
done
wait "$follower"
is $? 0 "it ends with the attempt that it began with"
is "$(xargs <followed)" "one two three" "without gap or repeat"
is "$(grep -c 'does not answer' notes)" 2 "having said once each time that it waits"
is "$(api_status GET '/v1/ensembles/2/members/0/stdout?from=3')" 400 "from without follow is refused"
is "$(api GET '/v1/ensembles/2/members/0/stdout?attempt=1&follow=1&from=4' | xargs)" "two three" "from: what comes after"
is "$(api GET '/v1/ensembles/2/members/0/stdout?attempt=1&follow=1&from=400')" "" "from: beyond the end"
timeout $((20 * PATIENCE)) stretto --url "unix:$T/none.sock" logs -f 2.0 >out 2>err
is $? 4 "no daemon at all: exit status 4, at once"

wait_for 20 'stretto members 2 --state running --json | jq -e ".members | length == 1"'
: >out
env --default-signal=INT stretto logs -f 2.0 >out 2>err & # the shell has it ignored in the background
follower=$!
wait_for 10 'grep -q one out'
kill -INT $follower
wait $follower
is $? 130 "Ctrl-C: exit status 130"
stretto cancel 2 >/dev/null 2>&1
wait_ensemble 2 30
wait_for 30 '[ "$(stretto jobs --state running --json | jq ".jobs | length")" = 0 ]'

done_testing
