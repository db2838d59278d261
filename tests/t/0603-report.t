#!/usr/bin/env bash
# `stretto report`: figures and ranks as NumPy computes them, from written answers; tables, Markdown, CSV and a page.
. "${srcdir:-.}/tests/t/lib.sh"
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"

start_canned
check=("${STRETTO_PYTHON:-python3}" "$srcdir/tests/t/report_check.py")
for seed in 1 2; do
	"${check[@]}" make $seed made
	answers <made
	status_is 0 "seed $seed: a report as CSV" stretto report 7 --csv --target 0.4 --repeat seed --group workers
	cp out report.csv
	ok "seed $seed: its figures, ranks and hours are NumPy's" "${check[@]}" check $seed report.csv seed
	status_is 0 "seed $seed: without repetitions" stretto report 7 --csv --target 0.4
	cp out report.csv
	ok "seed $seed: each run is ranked by itself" "${check[@]}" check $seed report.csv -
done

# --- for people
status_is 0 "tables" stretto report 7 --repeat seed --group workers --top 3
like "$(cat out)" "Ranked by area of \"loss\"; lower is better" "say what they are ranked by"
like "$(cat out)" "over the first [0-9.ms]+ from its first point on" "up to which time"
like "$(cat out)" "Speed-up and efficiency are by the time, against workers = 1" "and what the speed-up is against"
like "$(cat out)" "7.2 +diverged +lr=0.1 workers=1 seed=3 +not finite" "a run that ended in NaN is told apart"
like "$(cat out)" "The best 3 of 6 configurations" "tables are cut"
like "$(cat out)" "7 +ours \\(3\\) +\\[\"lr\"\\] +train.py +f{64}" "rules are told"
is "$(grep -c -E 'model.pt +8 +[0-9a-f]{64}$' out)" 3 "and what the best of each group left"
stretto report 7 --repeat seed --group workers --markdown >out.md
is "$(grep -c '^## ' out.md) $(grep -c '^| ---: | --- |' out.md)" "7 1" "Markdown has the tables"
stretto --json report 7 --repeat seed --target 0.4 >out.json
is "$(jq -r '[.metric, .ranked_by, (.runs | length), .runs[0].rank] | join(" ")' out.json)" "loss area 18 1" "JSON has the runs"
is "$(jq -r '[.runs[] | select(.rank != null) | .index] | join(" ")' out.json)" \
	"$(stretto report 7 --repeat seed --csv | awk -F, 'NR > 1 && $1 != "" {print $3}' | xargs)" "in the order of the CSV"

# --- a page of its own
status_is 0 "a page" stretto report 7 --html page.html
is "$(grep -c '<polyline' page.html)" 12 "with a curve for each of the best"
stretto report 7 --repeat seed --group workers --html groups.html >groups
is "$(grep -o '<h2>Curves[^<]*' groups.html | cut -d= -f2 | xargs) $(grep -c 'stroke-dasharray' groups.html)" "1 2 4 3" "one of groups has a plot for each, with the horizon"
is "$(grep -o '</i>[0-9.]*' groups.html | cut -d'>' -f2 | sort -g | xargs)" "$(grep -o '</i>[0-9.]*' groups.html | cut -d'>' -f2 | xargs)" "areas are bars, the best first"
is "$(grep -c -i -E '(src|href)=|@import|url\(|<script' page.html)" 0 "and nothing from elsewhere"
ok "it is well-formed" "${STRETTO_PYTHON:-python3}" -c '
import html.parser
class Check(html.parser.HTMLParser):
    open = []
    def handle_starttag(self, tag, attributes):
        if tag != "meta":
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
check = Check()
check.feed(open("page.html").read().replace("<!DOCTYPE html>", ""))
assert check.open == [], check.open'
# the first run of the first configuration has failed: what it reported is in no curve
sed '2s/"index": 0, "state": "succeeded"/"index": 0, "state": "failed"/' made >failed
sed '/members\/0\/points/s/"value": /"value": 9/g' failed >other
for what in failed other; do
	answers <$what
	stretto report 7 --repeat seed --html - | grep '<polyline' >$what.curves
done
is "$(wc -l <failed.curves) $(cmp failed.curves other.curves && echo same)" "6 same" \
	"the curves of configurations are of runs that are ranked"
sed 's/"lr": 0.1/"lr": "<b>\\"\&"/g' made >evil
answers <evil
stretto report 7 --html - >evil.html
is "$(grep -c '<b>' evil.html)" 0 "parameters are text in it"

# --- parameters that are objects: grouped by what is inside
sed -E 's/"lr": ([0-9.]+)/"lr": {"v": \1, "w": [1, 0.1]}/g' made >deep
answers <deep
status_is 0 "parameters that are objects" stretto report 7 --repeat seed --group lr.v --csv
is "$(awk -F, 'NR > 1 { print $5 }' out | sort -u | xargs)" "$(grep -o '"v": [0-9.]*' deep | cut -d' ' -f2 | sort -u | xargs)" "are grouped by what is inside"
stretto report 7 --repeat seed >out
like "$(cat out)" 'lr=\{"v":0\.[0-9]+,"w":\[1,0\.1\]\}' "and shown as JSON"

# --- judged by a final value within a range first, by the time to the target second
"${check[@]}" make 1 made
sed 's/metrics=loss/metrics=loss,accuracy/; s/"metrics": {/"metrics": {"accuracy": {"last": 0.8}, /; s/"metrics": {"loss"/"metrics": {"accuracy": {"last": 0.5}, "loss"/g' made >judged
answers <judged
stretto --json report 7 --accept 'accuracy>=0.74' >out.json
is "$(jq -c '[.ranked_by, [.runs[] | select(.fate == "ranked") | .rank]]' out.json)" '["time",[1]]' "a range decides who is ranked"
is "$(jq -r '[.runs[] | select(.fate == "outside the range")] | length' out.json)" 12 "the others are outside"

# --- mistakes
"${check[@]}" make 1 made
answers <made
status_is 3 "a parameter that no member has" stretto report 7 --group nope
like "$(cat err)" "nope" "is named"
for line in "report" "report 7.1" "report 7 --by area2" "report 7 --by target" "report 7 --accept loss" "report 7 --horizon 9" \
	"report 7 --mllog" "report 7.1 7 --mllog" "report 7.1 7.2 --mllog" "report 7 --set a=1" "report 7.1 --mllog --set a" "report 7 --target x" "report 7 --group a --repeat a" "report 7 --csv --markdown" "report 7 --top -1"; do
	# shellcheck disable=SC2086 # words
	status_is 2 "wrong usage: $line" stretto $line
done
status_is 2 "a file that cannot be written" stretto report 7 --html /nonexistent/page.html
stop_canned
done_testing
