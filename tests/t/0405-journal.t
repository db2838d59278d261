#!/bin/bash
# stretto-run --pilot alone: its journal has no room on the disk, in the middle of a line. What is in it once there is
# room is whole, and there once.
TEST_LIMIT=120
. "${srcdir:-.}/tests/t/lib.sh"

mkdir pilot
mount -t tmpfs -o size=64k tmpfs "$T/pilot" 2>/dev/null || skip_all "needs the right to mount a small tmpfs"
trap 'umount -l "$T/pilot" 2>/dev/null; cleanup' EXIT
mark=st-0405-$$ journal=pilot/node0/journal.jsonl
jq -n --arg job "$mark" '{version: 1, job: $job, ensemble: 7, nodes: 1, cpus: 100, memory: 1000, idle: 3600, least: 0, flush: false}' >pilot/pilot.json
unset STRETTO_DEADLINE
"$builddir/stretto-run" --pilot "$T/pilot" 2>pilot.log & pilot=$!
ok "a pilot begins" wait_for 60 '[ -d pilot/node0/inbox ] && grep -q ready $journal'

# More than one block of the file system: records of their ends, each with a long last line.
mkfifo go
exec 9<>go
for ((i = 0; i < 30; i++)); do
	mkdir "job$i"
	jq -n -c --arg job "$mark-$i" --arg dir "$T/job$i" --arg go "$T/go" '{job: $job, dir: $dir, cpus: 1, gpus: 0, memory: 0, least: 0, grace: 1,
		descriptor: {version: 1, job: $job, ensemble: 7, kind: "members", walltime: 0, grace: 1, tasks: [{id: "7.0", dir: ($dir + "/7.0"),
		argv: ["sh", "-c", "read x <\($go); printf %0250d 0 >&2; exit 3"]}]}}'
done >orders
mv orders pilot/node0/inbox/part && mv pilot/node0/inbox/part pilot/node0/inbox/1.jsonl
ok "jobs begin" wait_for 60 '[ "$(grep -c "\"start\"" $journal)" = 30 ]'
cat /dev/zero >pilot/fill 2>/dev/null
size=$(stat -c %s $journal)
for ((i = 0; i < 30; i++)); do echo; done >&9
ok "their ends find no room in the journal" wait_for 60 'grep -q "the journal cannot be written: No space left" pilot.log'
page=$(getconf PAGE_SIZE) # of which the file system gives whole ones
is "$(stat -c %s $journal)" $(((size + page - 1) / page * page)) "but for a part of them, which fills its last page"
rm pilot/fill
ok "once there is room, the end of each is told" wait_for 60 '[ "$(grep -c "\"what\":\"end\"" $journal)" -ge 30 ]'
is "$(jq -r .what $journal 2>&1 | sort | uniq -c | xargs)" "30 end 1 ready 30 start" "once, in lines that are whole"
is "$(jq -r 'select(.what == "end") | .job' $journal | sort -u | wc -l)" 30 "and each of another"

kill -TERM "$pilot"
wait "$pilot"; is $? 0 "the pilot ends"
done_testing
