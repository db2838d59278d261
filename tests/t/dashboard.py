# dashboard.py SOCKET CHROMIUM DIR HOSTILE-NAME: what people do with the dashboard, in a real browser and against a real
# daemon, and what they see, held against what the API says.
#
# The daemon has ensembles 1 ("steady", of which members run until DIR/go is there), 2 (failed, of the hostile name) and
# 3 (a million members).
import json, os, subprocess, sys
import chromium
from dashboard_tools import COUNTS, api, arrives, browser, click, comes_to, equal, fits, folder, get, heading, js, link, path, quiet, run, settled, tell, until, visible

hostile = sys.argv[4]


def log_in(port):
    browser.open(f"http://localhost:{port}/")
    heading("Log in")
    fits("login")
    browser.key("Tab")
    equal(js("document.activeElement.className"), "skip", "the first Tab leads to the content")
    url = link(port, "--operator")
    browser.open(url)
    heading("Ensembles")
    equal(js("[location.hash, history.length > 0 && document.cookie]"), ["#/", ""], "the one-time token is out of the address, and the cookie out of reach")
    equal(js("document.body.innerHTML.includes('login=')"), False, "and nowhere in the page")
    return url


def overview():
    shown = until("""(() => { const cards = [...document.querySelectorAll('.card')];
        return cards.length === 3 && cards.map(c => [c.dataset.key, c.querySelector('bdi').innerText, c.querySelector('.pill').innerText.split(' ').at(-1)]); })()""")
    wanted = [[str(e["id"]), visible(e["name"]), e["state"]] for e in get("/v1/ensembles")["ensembles"]]
    equal(shown, wanted, "the overview has all ensembles, newest first")
    equal(js("[...document.querySelectorAll('.needs li')].map(e => e.dataset.key)"), ["2"], "and before them the one that needs a person")
    tell("<b>" in wanted[1][1] and "‹U+202E›" in wanted[1][1], "whose name is hostile")
    equal(js("document.querySelectorAll('main script, main img, main b').length"), 0, "and is shown as text")
    fits("overview")


def pause_and_resume():
    click(".card[data-key='1'] a")
    heading("steady #1")
    tell(settled(1), "an ensemble is as the API says")
    fits("ensemble")
    for verb, state in ("pause", "paused"), ("resume", "running"):
        click(f"[data-key={verb}]")
        until(f"document.querySelector('.head .pill').innerText.endsWith({state!r})")
        tell(get("/v1/ensembles/1")["state"] == state and settled(1), f"{verb}: it is {state}, here and there")
    api("POST", "/v1/ensembles/1/pause")
    until("document.querySelector('.head .pill').innerText.endsWith('paused')")
    js("document.getElementById('width').focus(), document.getElementById('width').select()")
    browser.type("3")
    api("POST", "/v1/ensembles/1/resume")
    until("document.querySelector('.head .pill').innerText.endsWith('running')")
    equal(js("[document.activeElement.id, document.activeElement.value]"), ["width", "3"], "what is typed stays where a button beside it becomes another one")
    browser.key("Enter")
    until("document.querySelector('[data-key=width] dd').innerText === '3'")
    tell(get("/v1/ensembles/1")["width"] == 3 and settled(1), "another width is set from the keyboard")
    js("document.getElementById('width').value = '0', document.querySelector('.width button').click()")
    equal([get("/v1/ensembles/1")["width"], js("document.getElementById('width').matches(':invalid')")], [3, True], "an impossible one is not sent")


def one_look_at_a_time():
    """An answer that was asked for earlier never comes after one that was asked for later: while a page is asked for, it is not asked for again."""
    js("""(() => { const real = fetch; globalThis.looks = []; globalThis.streams = globalThis.begun = globalThis.over = 0;
        globalThis.fetch = async (...request) => {
            const isFirst = request[0].endsWith('/v1/ensembles/1'); // of a look
            if (!isFirst) begun++;
            const gate = isFirst && new Promise(open => looks.push(open));
            try { return await real(...request); } finally { if (!isFirst) over++; await gate; } };
        globalThis.EventSource = class extends EventSource { constructor(url) { super(url); this.addEventListener('open', () => streams++); } }; })()""")
    js("document.dispatchEvent(new Event('visibilitychange'))")
    until("looks.length === 1")
    js("location.hash = '#/ensembles/1?state=failed'")
    until("looks.length === 2 && streams === 2")
    js("begun = over = 0, looks[0]()")
    until("begun > 0 && begun === over")
    js("document.dispatchEvent(new Event('visibilitychange'))")
    until("streams === 3")
    js("new Promise(done => setTimeout(done, 100))")
    equal(js("looks.length"), 2, "a page is not asked for again before it has its answer, nor when the one before it has")
    js("looks.push = open => open(), looks[1]()")
    arrives("document.querySelector('.counts [data-key=failed] a[aria-current]')")
    tell(settled(1), "and is as the API says when it has")
    js("location.hash = '#/ensembles/1'")
    heading("steady #1")


def late_answer():
    """An answer about an ensemble that comes when another one is looked at does not take away what is kept of that one."""
    states = lambda id: f"performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/v1/ensembles/{id}/states'))"
    js("""(() => { const real = fetch; globalThis.late = null;
        globalThis.fetch = async (...request) => {
            const answer = await real(...request);
            if (late === null && request[0].endsWith('/v1/ensembles/1')) await new Promise(open => (globalThis.late = open));
            return answer; }; })()""")
    js("document.dispatchEvent(new Event('visibilitychange'))")
    until("late !== null")
    js("location.hash = '#/ensembles/2'")
    arrives("document.querySelector('h1 .id')?.innerText === '#2' && document.querySelector('.map').grid.wish.states")
    before = js(f"{states(1)}.length")
    js("late()")
    until(f"{states(1)}.length > {before}")
    before = js(f"{states(2)}.length")
    js("document.dispatchEvent(new Event('visibilitychange'))")
    until(f"{states(2)}.length > {before}")
    equal(js(f"{states(2)}.filter(n => !n.includes('since=')).length"), 1, "the states of an ensemble are asked for once, whatever comes late of another one")
    js("location.hash = '#/ensembles/1'")
    heading("steady #1")


def live():
    before = get("/v1/ensembles/1")["members"]["succeeded"]
    open(os.path.join(folder, "go"), "w").close()
    until(f"{COUNTS}.succeeded > {before}")
    tell(settled(1), "members that end are seen without a reload")


def cancel():
    api("POST", "/v1/ensembles/3/pause")
    js("location.hash = '#/ensembles/3'")
    heading("a-million #3")
    tell(settled(3), "a million members are shown")
    fits("million")
    click("[data-key=cancel]")
    text = until("document.querySelector('dialog[open]')?.innerText")
    members = get("/v1/ensembles/3")["members"]
    tell(f"{members['pending']:,} that wait are never started" in text and "cannot be resumed" in text, "before it cancels, it says what will happen", text)
    equal(js("document.activeElement.innerText"), "Let it go on", "and the safe answer is the first")
    browser.key("Escape")
    until("!document.querySelector('dialog')")
    equal(get("/v1/ensembles/3")["state"], "paused", "Escape changes nothing")
    click("[data-key=cancel]")
    until("document.querySelector('dialog[open]') !== null")
    browser.key("Tab")
    browser.key("Enter")
    until("document.querySelector('.head .pill').innerText.endsWith('cancelled')")
    tell(settled(3), "confirmed, the ensemble is cancelled, here and there")
    comes_to(lambda: get("/v1/ensembles/3")["members"]["running"], 0, "its member that runs ends")
    equal(js("document.querySelectorAll('.controls').length"), 0, "and there is nothing left to change")


def members():
    js("location.hash = '#/ensembles/3?state=cancelled'")
    rows = "[...document.querySelectorAll('.members tbody tr')].map(r => [r.dataset.key, r.querySelector('.pill').innerText.split(' ').at(-1)])"
    until(f"document.querySelector('.counts [data-key=cancelled] a[aria-current]') && {rows}.length === 50 && {rows}.every(r => r[1] === 'cancelled')")
    first = [[str(m["index"]), m["state"]] for m in get("/v1/ensembles/3/members?state=cancelled&limit=50")["members"]]
    comes_to(lambda: js(rows), first, "members in a state are those of the API")
    click("[aria-label='Pages of members'] a[href*=cursor]")
    until(f"{rows}[0][0] !== {first[0][0]!r}")
    comes_to(lambda: js(rows)[0][0], str(int(first[-1][0]) + 1), "the next page goes on where the first ended")
    click("[aria-label='Pages of members'] a:not([href*=cursor])")
    until(f"{rows}[0]?.[0] === {first[0][0]!r}")
    click(".counts [data-key=cancelled] a")
    until("location.hash === '#/ensembles/3'")
    click(".counts [data-key=failed] a")
    until("document.querySelector('.panel .empty')?.innerText === 'No member is failed.'")
    tell(js("location.hash").endswith("?state=failed"), "a filter has an address of its own")


def hostile_output(port):
    js("location.hash = '#/ensembles/2/members/0'")
    heading("Member 2.0")
    until("document.querySelector('.output') !== null")
    for stream in "stdout", "stderr":
        wanted = visible(api("GET", f"/v1/ensembles/2/members/0/{stream}").decode())
        equal(js(f"document.getElementById('{stream}').closest('section').querySelector('.output').textContent"), wanted, f"{stream} is shown as text")
    equal(js("document.querySelectorAll('main script, main img').length"), 0, "and nothing in it is anything else")
    fits("member")
    browser.open("about:blank")
    browser.open(f"http://localhost:{port}/#/ensembles/2/members/0")
    heading("Member 2.0")
    tell(True, "an address leads there, in the session of before")
    href = until("document.querySelector('.panel-head a')?.href")
    browser.open(href)
    until("document.contentType === 'text/plain' && document.body.innerText.includes('onerror')")
    tell(True, "all of the output is a text of its own")


def reader(port, used):
    browser.open(f"http://localhost:{port}/#/ensembles/1")
    heading("steady #1")
    click("#who button")
    heading("Log in")
    equal(js("document.querySelector('[role=alert]').innerText"), "You are logged out.", "who logs out is told so")
    quiet("operator")
    browser.open("about:blank")
    browser.open(used)
    until("document.querySelector('[role=alert]')?.innerText.includes('was used before')")
    tell(True, "a link that was used is of no use, and says so")
    browser.complaints.clear()  # of that refusal
    browser.open("about:blank")
    browser.open(link(port))
    heading("Ensembles")
    for id, title in (1, "steady #1"), (2, visible(hostile) + " #2"):
        js(f"location.hash = '#/ensembles/{id}'")
        until(f"document.querySelector('h1 .id')?.innerText === '#{id}'")
        tell(settled(id), f"a reader sees ensemble {id} as the API says")
    js("location.hash = '#/ensembles/1'")
    heading("steady #1")
    equal([get("/v1/ensembles/1")["state"], js("document.querySelectorAll('main :is(button, input):not(.tools *)').length")], ["running", 0],
          "and no controls, although it is running")
    quiet("reader")


def behind_a_proxy():
    prefix = "/user/a@b/proxy/"
    port = chromium.proxy(path, prefix)
    browser.open(link(port, "--operator", prefix=prefix))
    heading("Ensembles")
    js("location.hash = '#/ensembles/1'")
    heading("steady #1")
    click("[data-key=pause]")
    until("document.querySelector('.head .pill').innerText.endsWith('paused')")
    tell(settled(1), "behind a proxy's path it works as well")
    api("POST", "/v1/ensembles/1/resume")
    until("document.querySelector('.head .pill').innerText.endsWith('running')")
    tell(settled(1), "event stream included")
    quiet("proxy")


def stale(port):
    browser.open(f"http://localhost:{port}/#/ensembles/1")
    heading("steady #1")
    until("document.getElementById('live').className === 'is-live'")
    print("hold", flush=True)
    sys.stdin.readline()
    until("document.getElementById('live').className === 'is-stale'")
    print("continue", flush=True)
    sys.stdin.readline()
    until("document.getElementById('live').className === 'is-live'")
    tell(True, "while the daemon is stopped, the page is stale, and it goes on with it")
    print("kill", flush=True)
    sys.stdin.readline()
    until("document.getElementById('live').className === 'is-stale' && document.getElementById('live').innerText.includes('Stale since')")
    tell(js("document.querySelector('h1').innerText") == "steady #1", "while nobody answers, it says since when, and shows what it knows")
    print("start", flush=True)
    sys.stdin.readline()
    until("document.getElementById('live').className === 'is-live'")
    tell(settled(1), "and goes on when the daemon is there again")
    browser.complaints.clear()  # of the connections that failed


def end_of_session():
    subprocess.run(["stretto", "dashboard", "--revoke", "all"], check=True, stdout=subprocess.DEVNULL)
    heading("Log in")
    equal(js("document.querySelector('[role=alert]').innerText"), "The session has ended.", "a session that was revoked ends at once")
    browser.complaints.clear()


def by_token(port, token):
    browser.open(f"http://localhost:{port}/")
    heading("Log in")
    browser.complaints.clear()  # of the session of before
    click("summary")
    js("document.getElementById('token').focus()")
    browser.type(token)
    click(".stack button")
    heading("Ensembles")
    equal(js("document.querySelector('.role').innerText"), "reader", "a pasted token begins a session, too")
    equal(js("JSON.stringify({...localStorage, ...sessionStorage})").count(token), 0, "and is not kept")
    quiet("token")


def all_of_it():
    port = chromium.forward(path)
    used = log_in(port)
    overview()
    pause_and_resume()
    one_look_at_a_time()
    late_answer()
    live()
    cancel()
    members()
    hostile_output(port)
    reader(port, used)
    stale(port)
    behind_a_proxy()
    end_of_session()
    by_token(port, json.loads(api("POST", "/v1/tokens", {"role": "operator"}))["token"])


run(all_of_it)
