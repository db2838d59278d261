# dashboard_actions.py SOCKET CHROMIUM DIR: operators resubmit and follow up, in a real browser, and what they see is
# what the API says.
#
# The daemon has ensembles 1 to 3, complete: of ten members 0 to 2 have failed (until DIR/mended is there), 3 and 4 are
# unfinished.
import datetime, json, os
import chromium
from dashboard_tools import api, browser, click, comes_to, equal, fits, folder, get, heading, js, link, path, quiet, run, settled, tell, until

DIALOG = "document.querySelector('dialog[open]')?.innerText"


def show(id, title):
    js(f"location.hash = '#/ensembles/{id}'")
    heading(f"{title} #{id}")


def look_before():
    equal(js("[...document.querySelectorAll('.controls > *')].map(e => e.dataset.key)"), ["resubmit", "follow-up"], "what has ended can go again, and not be paused")
    fits("actions")


def resubmit_by_keyboard():
    browser.tab_to("[data-key=resubmit]")
    browser.key("Enter")
    text = until(DIALOG)
    tell("5 members will be pending again" in text and "1.0, 1.1, 1.2" in text and "1.3, 1.4" in text, "before it resubmits, it says how many and which", text)
    equal(js("document.activeElement.innerText"), "Leave them", "the safe answer has the focus")
    fits("resubmit")
    browser.tab_to("dialog input[value=failed]")
    browser.key(" ")
    comes_to(lambda: "2 members will be pending again" in js(DIALOG), True, "and says so anew where another choice is made")
    browser.tab_to("dialog input[value=unfinished]")
    browser.key(" ")
    comes_to(lambda: js("document.querySelector('dialog .primary').disabled"), True, "nothing chosen is nothing to do")
    browser.key("Escape")
    until("!document.querySelector('dialog')")
    equal(get("/v1/ensembles/1")["state"], "complete", "Escape changes nothing")
    open(os.path.join(folder, "mended"), "w").close()
    browser.tab_to("[data-key=resubmit]")
    browser.key("Enter")
    until(DIALOG)
    browser.tab_to("dialog .primary")
    browser.key("Enter")
    until("document.querySelector('[data-key=told]')?.innerText === '5 members became pending again.'")
    until("document.querySelector('.counts [data-key=succeeded] b').innerText === '10'")
    tell(settled(1), "confirmed, they go again and succeed, here and there")
    attempts = [m["attempts"] for m in get("/v1/ensembles/1/members")["members"]]
    equal(attempts, [2, 2, 2, 2, 2, 1, 1, 1, 1, 1], "those that were named, and no others")
    equal(js("document.querySelectorAll('.controls').length"), 0, "and there is nothing left to do")


def seconds(time):
    return datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def member():
    js("location.hash = '#/ensembles/1/members/3'")
    heading("Member 1.3")
    told = get("/v1/ensembles/1/members/3")
    attempts = told["attempts"]
    lines = until("""[...document.querySelectorAll('.timeline li')].map(e => [Number(e.dataset.key), e.querySelector('.pill').innerText.split(' ').at(-1),
        [...e.querySelectorAll('rect')].map(r => [r.getAttribute('class'), parseFloat(r.getAttribute('x')), parseFloat(r.getAttribute('width'))])])""")
    equal([line[:2] for line in lines], [[a["number"], a["outcome"]] for a in attempts], "the attempts of a member are a timeline")
    begun, end = seconds(attempts[0]["submitted"]), seconds(attempts[-1]["ended"])
    for attempt, (_, outcome, parts) in zip(attempts, lines):
        (_, queued, _), (kind, ran, width) = parts
        at = lambda name: 100 * (seconds(attempt[name]) - begun) / (end - begun)
        good = kind == f"s-{outcome}" and abs(queued - at("submitted")) < 0.5 and abs(ran - at("started")) < 0.5 and abs(ran + width - at("ended")) < 0.9
        tell(good, f"attempt {attempt['number']} lies where it was queued and ran", (parts, at("submitted"), at("started"), at("ended")))
    rows = js("[...document.querySelectorAll('[aria-labelledby=attempts] tbody tr')].map(r => r.innerText)")
    good = all(a["job"] in row and a["host"] in row and (a["reason"] or "exit 0") in row and (a["resumed"] or "") in row for a, row in zip(reversed(attempts), rows))
    tell(len(rows) == 2 and good and attempts[1]["resumed"] is not None, "a table says the same, with job, host, why it ended, and the checkpoint that it went on from", rows)
    kept = js("[...document.querySelectorAll('[aria-labelledby=checkpoints] tbody tr')].map(r => [Number(r.dataset.key), r.querySelector('bdi').innerText])")
    equal(kept, [[c["number"], c["path"]] for c in reversed(told["checkpoints"])], "and its checkpoints are listed")
    fits("member")


def lineage(family, here):
    shown = "[...document.querySelectorAll('.lineage li')].map(e => [Number(e.dataset.key), e.querySelector('.pill').innerText.split(' ').at(-1), e.querySelector('a') === null])"
    wanted = [[id, get(f"/v1/ensembles/{id}")["state"], id == here] for id in family]
    until(f"JSON.stringify({shown}) === {json.dumps(json.dumps(wanted, separators=(',', ':')))}")
    tell(True, f"the lineage of {here} has all of the family, and links to the others")


def follow_up():
    show(2, "again")
    click("[data-key=follow-up]")
    text = until(DIALOG)
    tell("2 members will go on in a new ensemble" in text, "a follow-up is of those that are unfinished", text)
    click("dialog input[value=failed]")
    comes_to(lambda: "5 members will go on" in js(DIALOG), True, "and of those that failed where that is wanted")
    js("document.querySelector('dialog input[name=width]').select()")
    browser.type("4")
    comes_to(lambda: "4 members at a time" in js(DIALOG), True, "how many at a time is said as it is typed")
    fits("follow-up")
    click("dialog .primary")
    heading("again #4")
    made = get("/v1/ensembles/4")
    equal([made["follow_up_of"], made["count"], made["width"]], [2, 5, 4], "it is made as it was asked for, and shown")
    until("document.querySelector('.head .pill').innerText.endsWith('complete')")
    tell(settled(4), "and comes to its end, here and there")
    lineage([2, 4], 4)
    fits("lineage")
    click(".lineage a")
    heading("again #2")
    lineage([2, 4], 2)
    equal(js("document.querySelectorAll('.controls').length"), 0, "what was followed up goes on there")


def refused():
    show(3, "again")
    click("[data-key=resubmit]")
    until(DIALOG)
    api("POST", "/v1/ensembles/3/resubmit", {"states": ["unfinished"]})
    api("POST", "/v1/ensembles/3/cancel")
    click("dialog .primary")
    text = until("document.querySelector('[data-key=told]')?.innerText")
    tell("That was not done" in text and "cancelled" in text, "what the daemon refuses is told in its words", text)
    tell(settled(3), "and what is there now is shown")
    browser.complaints.clear()  # of that refusal


def spec(role):
    js("location.hash = '#/ensembles/4/spec'")
    heading("Spec of ensemble 4")
    equal(json.loads(js("document.getElementById('spec').textContent")), get("/v1/ensembles/4/spec"), f"{role}: the spec is shown as it is stored")
    click("[data-key=copy]")
    until("document.querySelector('[data-key=told]')?.innerText.startsWith('The spec is')")
    equal(json.loads(js("getSelection().toString()")), get("/v1/ensembles/4/spec"), f"{role}: and can be copied")
    fits("spec")


def reader(port):
    api("DELETE", "/v1/sessions")
    heading("Log in")
    browser.complaints.clear()
    browser.open("about:blank")
    browser.open(link(port))
    heading("Ensembles")
    for id in 2, 3, 4:
        show(id, "again")
        tell(settled(id), f"a reader sees ensemble {id} as the API says")
        equal(js("document.querySelectorAll('main :is(button, input):not(.tools *)').length"), 0, "and no controls")
    lineage([2, 4], 4)
    spec("reader")
    quiet("reader")


def all_of_it():
    port = chromium.forward(path)
    browser.open(link(port, "--operator"))
    heading("Ensembles")
    show(1, "again")
    look_before()
    resubmit_by_keyboard()
    member()
    follow_up()
    spec("operator")
    quiet("operator")
    refused()
    reader(port)


run(all_of_it)
