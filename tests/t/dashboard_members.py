# dashboard_members.py SOCKET CHROMIUM DIR: the grid of members, what is chosen in it, and plots of their parameters, in
# a real browser, held against what the API and the command say.
#
# The daemon has ensembles 1 ("ten", of which members run until DIR/go is there), 2 ("many", over, of hostile
# parameters), 3 ("million", nearly all of them pending), 4 ("open", without a member) and 5 ("halving", over, stopped
# early at rungs).
import json, os, subprocess, urllib.parse
import chromium
from dashboard_tools import COUNTS, api, browser, click, comes_to, equal, fits, folder, get, heading, js, link, path, point, quiet, run, settled, tell, until

NAMES = get("/openapi.json")["components"]["schemas"]["MemberState"]["enum"]
ROWS = "[...document.querySelectorAll('.members tbody tr')].map(r => Number(r.dataset.key))"
GRID = "document.querySelector('.map')?.grid"
READY = f"{GRID}?.wish?.states && !{GRID}.frame && document.querySelector('.grid').dataset.level !== undefined"

# For each member of an ensemble that is drawn as single cells in rows, the state whose colour its cell has, "faint", or
# "?".
CELLS = f"""(() => {{ const grid = {GRID}, {{layout, ratio}} = grid, style = getComputedStyle(grid.canvas);
    const names = [...{json.dumps(NAMES)}, 'faint'], colours = Object.fromEntries(names.map(n => [style.getPropertyValue('--' + n).trim(), n])), cells = [];
    const context = new OffscreenCanvas(grid.canvas.width, grid.canvas.height).getContext('2d', {{willReadFrequently: true}});
    context.drawImage(grid.canvas, 0, 0);
    for (let i = 0; i < layout.n; i++) {{
        const x = (i % layout.cols) * layout.cell + 2, y = Math.floor(i / layout.cols) * layout.cell + 2;
        const d = context.getImageData(x * ratio, y * ratio, 1, 1).data;
        cells.push(colours['#' + [d[0], d[1], d[2]].map(c => c.toString(16).padStart(2, '0')).join('')] ?? '?');
    }}
    return cells; }})()"""


def states(id):
    return [NAMES[int(c)] for c in api("GET", f"/v1/ensembles/{id}/states").decode()]


def open_ensemble(id, title, query=""):
    js(f"location.hash = '#/ensembles/{id}{query}'")
    heading(f"{title} #{id}")
    until(READY)


def agree(id, chosen, name):
    """Each cell has the colour of what the API says, or is faint where the member is not chosen."""
    wanted, end = None, chromium.time.monotonic() + chromium.LIMIT
    while chromium.time.monotonic() < end:
        wanted, shown = [state if chosen(i, state) else "faint" for i, state in enumerate(states(id))], js(CELLS)
        if shown == wanted:
            break
        chromium.time.sleep(0.05)
    equal(shown, wanted, name)


def listed(query, id=2):
    return [m["index"] for m in get(f"/v1/ensembles/{id}/members?limit=50&{query}")["members"]]


def at(x, y):
    box = js("(() => { const c = document.querySelector('.grid'); c.scrollIntoView({block: 'center'}); const r = c.getBoundingClientRect(); return {x: r.x, y: r.y}; })()")
    return {"x": box["x"] + x, "y": box["y"] + y}


def mouse(kind, place, **more):
    browser.call("Input.dispatchMouseEvent", type=kind, **place, **more)


def cell(i):
    """The middle of a member's cell."""
    return at(*js(f"(() => {{ const {{cols, cell}} = {GRID}.layout; return [({i} % cols + 0.5) * cell, (Math.floor({i} / cols) + 0.5) * cell]; }})()"))


def drag(start, end, modifiers=0):
    mouse("mousePressed", start, button="left", buttons=1, clickCount=1, modifiers=modifiers)
    for part in 0.3, 0.7, 1:
        mouse("mouseMoved", {axis: start[axis] + part * (end[axis] - start[axis]) for axis in ("x", "y")}, button="left", buttons=1, modifiers=modifiers)
    mouse("mouseReleased", end, button="left", buttons=0, clickCount=1, modifiers=modifiers)


def log_in():
    browser.open(link(port, "--operator"))
    heading("Ensembles")


def ten():
    open_ensemble(1, "ten")
    agree(1, lambda i, state: True, "each of ten members is a cell in the colour of its state")
    point(lambda: cell(3), "document.querySelector('.grid-status').innerText === '1.3: failed'")
    tell(True, "what is under the pointer is said")
    fits("grid-ten")
    js("location.hash = '#/ensembles/1/members/0'")
    heading("Member 1.0")
    until("document.querySelector('[data-key=stdout] pre') !== null")
    equal(js("[...document.querySelectorAll('[data-key=stdout], [data-key=stderr]')].map(p => [p.querySelector('h2').innerText, p.querySelector('pre').innerText.trim()])"),
          [["Output and errors", "hello\noops"]], "what a member printed is shown as one where the spec says so")
    member = get("/v1/ensembles/1/members/0")
    equal(js("[...document.querySelectorAll('[data-key=artefacts] tbody tr')].map(r => [r.dataset.key, r.querySelector('code').innerText])"),
          [[a["path"], a["sha256"]] for a in member["artefacts"]], "what it left has its digest")
    equal(js("document.querySelector('.about').innerText.includes(%s)" % json.dumps(member["results"])), True, "and where the links to that are")
    fits("member-artefacts")
    open_ensemble(1, "ten")
    click(".counts [data-key=running] a")
    until("location.hash.endsWith('?state=running')")
    agree(1, lambda i, state: state == "running", "the legend chooses: the others are faint")
    open(os.path.join(folder, "go"), "w").close()
    until("document.querySelector('.pill').innerText.endsWith('complete')")
    agree(1, lambda i, state: state == "running", "and what has changed is seen without a reload")
    click(".counts [data-key=running] a")
    until("location.hash === '#/ensembles/1'")
    agree(1, lambda i, state: True, "let go, all are there again")
    click(".map .grid")
    tell(until("/^Member 1[.]\\d$/.test(document.querySelector('h1').innerText) && document.querySelector('h1').innerText"), "a click opens the member")
    js("history.back()")
    heading("ten #1")


def grows():
    js("location.hash = '#/ensembles/4'")
    heading("open #4")
    until("document.querySelector('.grid-status')?.innerText === 'No member yet.'")
    tell(js("document.querySelector('.notice').innerText").startswith("it waits for suggestions"), "an open ensemble says what it waits for")
    fits("grid-open")
    for first in 0, 3:
        api("POST", "/v1/ensembles/4/suggestions", {"suggestions": [{"parameters": {"x": first + i}} for i in range(3)]})
        until(f"{GRID}.layout?.n === {first + 3}")
        agree(4, lambda i, state: True, f"members are in the grid as they are suggested: {first + 3}")
    click("[data-key=close]")
    until("document.querySelector('.pill').innerText.endsWith('complete')")
    tell(settled(4), "and it is closed by a button")


def command_says(indices, name):
    """The command and the request that the page shows answer what it lists."""
    command, request = js("document.querySelector('.command').textContent").split("\n")
    said = subprocess.run(["bash", "-c", command], check=True, stdout=subprocess.PIPE).stdout.decode().split("\n")[1:]
    equal([int(line.split()[0]) for line in said if line][:50], indices, f"{name}: so does the command, {command}")
    os.path.exists("stretto.sock") or os.symlink(path, "stretto.sock")
    answered = json.loads(subprocess.run(["bash", "-c", request], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    equal([m["index"] for m in answered["members"]][:50], indices, f"{name}: so does curl")


def choose():
    open_ensemble(2, "many")
    agree(2, lambda i, state: True, "540 members that have run")
    fits("grid-many")
    click(".counts [data-key=failed] a")
    until(f"{ROWS}.length === 50 && {json.dumps(listed('state=failed'))}.every((n, i) => n === {ROWS}[i])")
    tell(js("document.querySelector('#chosen').innerText") == "54 of 540 members", "how many are chosen is said", js("document.querySelector('#chosen').innerText"))
    command_says(listed("state=failed"), "a state")
    drag(cell(100), cell(250), modifiers=8)
    until("location.hash === '#/ensembles/2?state=failed&from=100&to=250'")
    wanted = listed("state=failed&from=100&to=250")
    until(f"JSON.stringify({ROWS}) === '{json.dumps(wanted, separators=(',', ':'))}'")
    agree(2, lambda i, state: state == "failed" and 100 <= i <= 250, "a range is dragged with Shift, and chosen together with the state")
    command_says(wanted, "a range")
    click(".chips [data-key=failed] .away")
    until("location.hash === '#/ensembles/2?from=100&to=250'")
    agree(2, lambda i, state: 100 <= i <= 250, "what was chosen can be taken away one by one")
    click("[data-key=choose]")
    drag(cell(0), cell(8))
    until("location.hash === '#/ensembles/2?from=0&to=8'")
    tell(True, "or with the button, for those without Shift")
    click("[data-key=choose]")
    click(".chosen .panel-head a")
    until("location.hash === '#/ensembles/2'")
    click(".causes b a")
    wanted = listed("state=failed")
    until(f"document.querySelector('#chosen')?.innerText === '54 of 540 members' && JSON.stringify({ROWS}) === '{json.dumps(wanted, separators=(',', ':'))}'")
    agree(2, lambda i, state: state == "failed", "members are chosen by the cause of their failure")
    command_says(wanted, "a cause")


def hostile():
    values = get("/v1/ensembles/2/members/0")["parameters"]
    for value in values["<b>p</b>"], "it's", "5":
        where = {"<b>p</b>": value, "x": [None, 0.6], "k": [50, 55]}
        query = urllib.parse.urlencode({"where": json.dumps(where)})
        wanted = listed(query)
        open_ensemble(2, "many", "?" + query)
        until(f"document.querySelector('#chosen')?.innerText === '12 of 540 members' && JSON.stringify({ROWS}) === '{json.dumps(wanted, separators=(',', ':'))}'")
        agree(2, lambda i, state: i in wanted, f"members are chosen by parameters, such as {value!r}")
        command_says(wanted, "parameters")
    equal(js("document.querySelectorAll('main script, main td b, .chips b').length"), 0, "hostile names and values are text")
    js("location.hash = '#/ensembles/2?where=%7B%22no%22%3A1%7D'")
    until("document.querySelector('main').innerText.includes('no parameter')")
    tell(True, "a filter that means nothing is told")
    while not all(any(f"/2/{what}?" in complaint for complaint in browser.complaints) for what in ("members", "states")):
        js("1")
    js("location.hash = '#/'")
    heading("Ensembles")
    browser.complaints.clear()  # of those refusals


def typed():
    """What a brush chooses can be typed, too."""
    open_ensemble(2, "many")
    click("[data-key=choosing] summary")
    select = "document.querySelector('.choosing [name=parameter]')"
    until(f"{select}?.options.length === 3")
    js(f"{select}.selectedIndex = [...{select}.options].findIndex(o => o.text === 'k'), {select}.dispatchEvent(new Event('change'))")
    until("document.querySelector('.choosing [name=low]') !== null")
    for name, text in ("from", "100"), ("low", "50.5"):
        js(f"document.querySelector('.choosing [name={name}]').focus()")
        browser.type(text)
    browser.key("Enter")
    until("location.hash.includes('from=100')")
    query = "from=100&where=" + urllib.parse.quote('{"k":[50.5,null]}')
    equal(js("location.hash.split('?')[1]"), query, "members are chosen by what is typed")
    until(f"JSON.stringify({ROWS}) === '{json.dumps(listed(query), separators=(',', ':'))}'")
    js(f"{select}.selectedIndex = [...{select}.options].findIndex(o => o.text === '<b>p</b>'), {select}.dispatchEvent(new Event('change'))")
    until("document.querySelector('.choosing [name=value]')?.options.length === 4")
    js("document.querySelector('.choosing [name=value]').value = '1'")
    js("document.querySelector('.pill').dataset.before = 'yes', document.dispatchEvent(new Event('visibilitychange'))")
    until("document.querySelector('.pill').dataset.before === undefined")
    equal(js("document.querySelector('.choosing [name=value]').value"), "1", "what is chosen in a form stays when the page is made anew")
    host = get("/v1/ensembles/2/members/0")["attempts"][0]["host"]
    js("document.querySelector('.choosing [name=host]').focus()")
    browser.type(host)
    browser.key("Enter")
    until("location.hash.includes('host=')")
    until("!document.querySelector('[aria-busy]')")
    chosen = json.loads(urllib.parse.parse_qs(js("location.hash").split("?")[1])["where"][0])
    tell(chosen["k"] == [50.5, None] and chosen["<b>p</b>"] in [m["parameters"]["<b>p</b>"] for m in get("/v1/ensembles/2/members?limit=1000")["members"]], "by value and by host as well", chosen)
    query = urllib.parse.urlencode({"from": 100, "where": json.dumps(chosen), "host": host})
    until(f"JSON.stringify({ROWS}) === '{json.dumps(listed(query), separators=(',', ':'))}'")
    command_says(listed(query), "a host")


def structures():
    """Lists and objects are shown as JSON, and chosen by."""
    open_ensemble(6, "structures")
    until("document.querySelector('main').innerText.includes('net = [64,64]')")
    click("[data-key=choosing] summary")
    select = "document.querySelector('.choosing [name=value]')"
    until(f"{select}?.options.length === 3")
    equal(js(f"[...{select}.options].map(o => o.text)"), ["any", "[64,64]", '{"a":[1,"x"]}'], "lists and objects are told as JSON")
    for chosen, value in enumerate(([64, 64], {"a": [1, "x"]}), 1):
        js(f"{select}.value = '{chosen - 1}', document.querySelector('.choosing').requestSubmit()")
        query = urllib.parse.urlencode({"where": json.dumps({"net": value})})
        wanted = listed(query, 6)
        until(f"document.querySelector('#chosen')?.innerText === '2 of 4 members' && JSON.stringify({ROWS}) === '{json.dumps(wanted, separators=(',', ':'))}'")
        equal(json.loads(urllib.parse.parse_qs(js("location.hash").split("?")[1])["where"][0]), {"net": value}, f"and chosen by: {value}")
        command_says(wanted, "one of these")


def table():
    open_ensemble(2, "many", "?state=failed")
    click(".map + details summary")
    shown = until("""(() => { const rows = [...document.querySelectorAll('.ranges tbody tr')];
        return rows.length > 0 && rows.map(r => [r.querySelector('a').innerText, ...[...r.querySelectorAll('td')].map(c => Number(c.innerText))]); })()""")
    codes, order = states(2), js("[...document.querySelectorAll('.ranges thead th')].slice(1).map(e => e.innerText)")
    equal(sorted(order), sorted(NAMES), "a table has a column for each state")
    wanted = []
    for first in range(0, 540, 50):
        part = codes[first:first + 50]
        wanted.append([f"2.{first} to 2.{first + len(part) - 1}", *[part.count(s) if s == "failed" else 0 for s in order]])
    equal(shown, wanted, "a table says what the grid shows")
    click(".ranges [data-key='50'] a")
    until("location.hash === '#/ensembles/2?state=failed&from=50&to=99' && document.querySelector('.ranges th a')?.innerText === '2.50 to 2.54'")
    tell(True, "and a range leads to its own")


PLOT = "document.querySelector('.plot')?.parentElement.plot"
DRAWN = f"!{PLOT}.frame"  # as it was told last


def sorted_table():
    open_ensemble(2, "many")
    for sort, order in ("memory", "desc"), ("memory", "asc"), ("took", "desc"), ("attempts", "desc"):
        click(f".members th[data-key={sort}] a")
        until(f"location.hash.includes('sort={sort}&order={order}') && !document.querySelector('[aria-busy]')")
        wanted = [m["index"] for m in get(f"/v1/ensembles/2/members?limit=50&sort={sort}&order={order}")["members"]]
        until(f"JSON.stringify([...document.querySelectorAll('.members tbody tr')].map(r => Number(r.dataset.key))) === '{json.dumps(wanted, separators=(',', ':'))}'")
        equal(js(f"document.querySelector('.members th[data-key={sort}]').ariaSort"), {"asc": "ascending", "desc": "descending"}[order], f"members are sorted by {sort}, {order}")
    click("[aria-label='Pages of members'] a:last-child")
    until("location.hash.includes('cursor=')")
    js("location.hash = '#/ensembles/2'")


def reported():
    """What members reported is a column, an axis, and curves."""
    open_ensemble(2, "many")
    until("document.querySelectorAll('.members th[data-key^=\"metric:\"]').length === 2")
    for order in "asc", "desc":
        click(".members th[data-key='metric:val/loss'] a")
        until(f"location.hash.includes('order={order}') && !document.querySelector('[aria-busy]')")
        wanted = [[m["index"], m["metrics"].get("val/loss", {}).get("last", 0)] for m in get(f"/v1/ensembles/2/members?limit=50&metrics=*&sort=metric:val/loss&order={order}")["members"]]
        shown = "[...document.querySelectorAll('.members tbody tr')].map(r => [Number(r.dataset.key), Number(r.querySelector('.metric').innerText)])"
        until(f"JSON.stringify({shown}) === '{json.dumps(wanted, separators=(',', ':'))}'")
        tell(True, f"members are sorted by what they reported, {order}")
    js("location.hash = '#/ensembles/2?sort=max:a<b>cc&order=asc&x=m.val%2Floss&y=m.a%3Cb%3Ecc'")
    until("document.querySelector('.members th[aria-sort]')?.innerText.includes('a<b>cc max')")
    until(f"{PLOT}?.wish.lines.length === 540 && {PLOT}.points?.length === 499 && {DRAWN}")
    equal(js(f"{PLOT}.points.map(p => [p.line.index, {PLOT}.wish.x.value(p.line)]).filter(([i]) => i === 11)"), [[11, 11 * 37 % 540 + 0.5]], "it is an axis; those without a value have no place")
    fits("reported")
    js("location.hash = '#/ensembles/2/members/11'")
    heading("Member 2.11")
    until("document.querySelectorAll('[data-key=metrics] .charts figure').length === 2")
    rows = js("[...document.querySelector('[data-key=metrics] .charts figure').querySelectorAll('tbody tr')].map(r => [...r.children].slice(0, 2).map(c => Number(c.textContent)))")
    wanted = get("/v1/ensembles/2/members/11/metrics?name=val/loss&buckets=160")["series"]["val/loss"]["buckets"]
    equal(rows, [[b["step"], b["last"]] for b in wanted][-10:], "a member's page has its curves, and a table of them")
    fits("member-metrics")
    js("location.hash = '#/ensembles/2'")


def plot_at(across, up):
    """A place of the plot's area, in parts of it."""
    box = js("(() => { const c = document.querySelector('.plot'); c.scrollIntoView({block: 'center'}); const r = c.getBoundingClientRect(); return {x: r.x, y: r.y, w: r.width, h: r.height}; })()")
    left, right, top, bottom = until(f"{PLOT}.room?.left"), 16, 14, 44
    return {"x": box["x"] + left + across * (box["w"] - left - right), "y": box["y"] + top + (1 - up) * (box["h"] - top - bottom)}


def plotted(query, wanted, name):
    """The members that the plot shows as chosen are those of the API, of which it has all."""
    chosen = f"{PLOT}.wish.lines.map(l => l.index).filter(i => {PLOT}.wish.has(i))"
    until(f"{PLOT}?.wish.lines.length === {wanted} && {PLOT}.points !== null && {DRAWN}")
    all_of_them = sorted(m["index"] for m in get(f"/v1/ensembles/2/members?limit=1000&{query}")["members"])
    until(f"JSON.stringify({chosen}.sort((a, b) => a - b)) === '{json.dumps(all_of_them, separators=(',', ':'))}'")
    tell(True, name)


def none_drawn(name, members, lacking):
    """All members are drawn as lines, those without a value of this name at the place of "none", which the page counts."""
    js(f"""(() => {{ const plot = {PLOT}, draw = plot.drawLine;
        window.lines = [];
        plot.drawLine = (context, line) => {{ window.lines.push(line.index); draw.call(plot, context, line); }};
        plot.draw(plot.context);
        delete plot.drawLine; }})()""")
    equal(sorted(js("window.lines")), list(members), "each member is drawn as a line, in whatever state it is")
    axis = js(f"{PLOT}.wish.fields.findIndex(f => f.name === {json.dumps(name)})")
    equal(js(f"{PLOT}.wish.lines.filter(l => {PLOT}.meets(l, {axis}) > {PLOT}.y(0) + 10).map(l => l.index).sort((a, b) => a - b)"), lacking,
          "those without a value are at a place of their own below the axis")
    said = js("document.querySelector('.sample').innerText")
    tell(not lacking or f'"none": {len(lacking)} of them' in said, "which is said", said)
    if lacking:
        where = js(f"""(() => {{ const c = document.querySelector('.plot'); c.scrollIntoView({{block: 'center'}});
            const r = c.getBoundingClientRect(); return {{x: r.x + {PLOT}.axisX({axis}), y: r.y + {PLOT}.none}}; }})()""")
        point(lambda: where, f"document.querySelector('.plot + p').innerText === '{name}: none, {len(lacking)} members'")
        tell(True, "and of the axis, where the pointer is at that place")


def plots():
    open_ensemble(2, "many", "?x=p.k&y=state")
    plotted("", 540, "all members are plotted where they are few")
    members = {m["index"]: m for m in get("/v1/ensembles/2/members?limit=1000")["members"]}
    until(f"{PLOT}.points?.length === 540 && {PLOT}.wish.x.key === 'p.k' && {PLOT}.wish.y.key === 'state' && {DRAWN}")
    points = js(f"{PLOT}.points.map(p => [p.line.index, p.line.parameters, p.line.state, p.at.x, p.at.y])")
    equal({i: [p, s] for i, p, s, _, _ in points}, {i: [m["parameters"], m["state"]] for i, m in members.items()}, "each with its parameters and its state")
    order = [members[i]["parameters"]["k"] for i, _, _, x, _ in sorted(points, key=lambda p: p[3])]
    equal(order, sorted(order), "along the axis by its parameter")
    heights = {state: [y for _, _, s, _, y in points if s == state] for state in ("succeeded", "failed")}
    tell(max(heights["succeeded"]) < min(heights["failed"]), "and across by its state")
    fits("scatter")
    first = next(p for p in points if p[2] == "failed")
    corner = lambda: js("(() => { const c = document.querySelector('.plot'); c.scrollIntoView({block: 'center'}); const r = c.getBoundingClientRect(); return [r.x, r.y]; })()")
    point(lambda: (lambda box: {"x": box[0] + first[3], "y": box[1] + first[4]})(corner()),
          "/^2[.][0-9]+: failed, k 5[4-9], state failed$/.test(document.querySelector('.plot + p').innerText)")
    tell(True, "what is under the pointer is said")
    drag(plot_at(0.5, 1.02), plot_at(0.75, -0.02))
    until("location.hash.includes('where=')")
    where = json.loads(urllib.parse.parse_qs(js("location.hash").split("?")[1])["where"][0])
    tell(29 <= where["k"][0] <= 30 and 44 <= where["k"][1] <= 45, "a brush is a range of the parameter", where)
    query = urllib.parse.urlencode({"where": json.dumps(where)})
    plotted(query, 540, "and those in it are chosen")
    until(f"JSON.stringify({ROWS}) === '{json.dumps(listed(query), separators=(',', ':'))}'")
    command_says(listed(query), "a brush")
    click("[data-key=bins] summary")
    bins = until("""(() => { const rows = [...document.querySelectorAll('.bins tbody tr')];
        return rows.length > 0 && rows.reduce((sum, r) => sum + Number(r.querySelector('td').innerText), 0); })()""")
    equal(bins, len(get(f"/v1/ensembles/2/members?limit=1000&{query}")["members"]), "a table says the same")
    click(".segments a[href*='plot=lines']")
    until(f"{PLOT}?.wish.fields?.length === 6 && {DRAWN}")
    fits("parallel")
    axes = js(f"{PLOT}.wish.fields.map((f, i) => [f.name, {PLOT}.axisX(i), {PLOT}.y(0.2), {PLOT}.y(0.5)])")
    equal(sorted(name for name, *_ in axes), ["<b>p</b>", "a<b>cc", "k", "state", "val/loss", "x"], "each parameter has an axis, each metric, and the state")
    measured = get("/v1/ensembles/2/members?limit=1000&metrics=*")["members"]
    lacking = [m["index"] for m in measured if not isinstance(m["metrics"].get("val/loss", {}).get("last"), float | int)]
    tell(len(lacking) > 1, "some members have no loss, or none that is finite")
    none_drawn("val/loss", range(540), lacking)
    x, low, high = next(rest for name, *rest in axes if name == "x")
    on = lambda y: (lambda box: {"x": box[0] + x, "y": box[1] + y})(corner())
    drag(on(low), on(high))
    until("decodeURIComponent(location.hash).includes('\"x\":[')")
    both = json.loads(urllib.parse.parse_qs(js("location.hash").split("?")[1])["where"][0])
    query = urllib.parse.urlencode({"where": json.dumps(both)})
    plotted(query, 540, "a brush along an axis is one more condition")
    until(f"JSON.stringify({ROWS}) === '{json.dumps(listed(query), separators=(',', ':'))}'")
    command_says(listed(query), "two brushes")
    place = on(high)
    mouse("mousePressed", place, button="left", clickCount=1)
    mouse("mouseReleased", place, button="left", clickCount=1)
    until("!decodeURIComponent(location.hash).includes('\"x\":[')")
    tell("\"k\":" in urllib.parse.unquote(js("location.hash")), "a click lets it go, and the other stays")
    open_ensemble(3, "million", "?where=" + urllib.parse.quote('{"alpha":[0.1,0.1001]}'))
    said = until("(text => /A sample: .* of 1,000,000 members/.test(text) && text)(document.querySelector('.sample')?.innerText ?? '')")
    count = get("/v1/ensembles/3/members?limit=1000&where=" + urllib.parse.quote('{"alpha":[0.1,0.1001]}'))["members"]
    until(f"{PLOT}.wish.lines.filter(l => {PLOT}.wish.has(l.index)).length === {len(count)}")
    tell(90 < len(count) < 110, f"of a million a sample is plotted, which is said, and those {len(count)} that were chosen", said)


def level():
    return js("Number(document.querySelector('.grid').dataset.level)")


def million():
    api("POST", "/v1/ensembles/3/pause")
    open_ensemble(3, "million")
    until("document.querySelector('.head .pill').innerText.endsWith('paused') && document.querySelector('main > .notice')?.innerText.includes('paused')")
    coarse = level()
    tell(coarse >= 2, f"a million are cells of {4 ** coarse} members")
    said = until("(text => text.startsWith('A cell is ') && text)(document.querySelector('.grid-status').innerText)")
    tell(f"A cell is {4 ** coarse} members" in said, "which is said", said)
    running = states(3)[:4 ** coarse].count("running")
    point(lambda: at(1, 1), f"document.querySelector('.grid-status').innerText === '3.0 to 3.{4 ** coarse - 1}: {4 ** coarse - running} pending, {running} running'")
    tell(running == 1, "and what they are", running)
    js("document.querySelector('.grid').focus()")
    for _ in range(12):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="+", code="Equal", text="+", windowsVirtualKeyCode=187)
    until("document.querySelector('.grid').dataset.level === '0'")
    tell(True, "+ leads to single members")
    before = js(f"[{GRID}.x, {GRID}.y]")
    for key, code in ("ArrowRight", 39), ("ArrowDown", 40):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code)
    equal(js(f"[{GRID}.x - {before[0]}, {GRID}.y - {before[1]}]"), [60, 60], "arrows move it")
    drag(at(200, 200), at(120, 150))
    equal(js(f"[{GRID}.x - {before[0]}, {GRID}.y - {before[1]}]"), [140, 110], "as dragging does")
    place = js(f"[{GRID}.zoom, {GRID}.x, {GRID}.y]")
    click(".counts [data-key=running] a")
    until("document.querySelector('#chosen') !== null")
    click(".counts [data-key=running] a")
    until("document.querySelector('#chosen') === null")
    equal(js(f"[{GRID}.zoom, {GRID}.x, {GRID}.y]"), place, "which stays where it is when others are chosen")
    member = "3." + str(js(f"{GRID}.membersAt({{x: 90, y: 90}}).from"))
    point(lambda: at(90, 90), f"document.querySelector('.grid-status').innerText === '{member}: pending'")
    mouse("mousePressed", at(90, 90), button="left", clickCount=1)
    mouse("mouseReleased", at(90, 90), button="left", clickCount=1)
    heading(f"Member {member}")
    tell(True, f"the member under the pointer is opened, {member}")
    js("history.back()")
    heading("million #3")
    until(READY)
    mouse("mouseWheel", at(50, 50), deltaX=0, deltaY=-600, modifiers=2)
    until(f"{GRID}.zoom > 2")
    tell(True, "the wheel zooms with Ctrl")
    click("[data-key=fit]")
    until(f"{GRID}.zoom === 1")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    touch = lambda kind, *places: browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{**at(*p), "id": i} for i, p in enumerate(places)])
    touch("touchStart", (100, 100))
    touch("touchStart", (100, 100), (200, 100))
    for far in 250, 300, 400:
        touch("touchMove", (100, 100), (far, 100))
    touch("touchEnd")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    until(f"{GRID}.zoom > 2.5")
    tell(True, "two fingers do as well")
    click("[data-key=fit]")
    fits("grid-million")
    click("[data-key=cells]")
    js("document.querySelector('[data-key=cells]').value = 'mix', document.querySelector('[data-key=cells]').dispatchEvent(new Event('change'))")
    until("document.querySelector('.grid-status').innerText.endsWith('in the colour of their mix.')")
    tell(True, "cells may show the mix of their members")


def cheaply():
    """What a page asks for and paints does not grow with what happens, nor with what was looked at before."""
    browser.open("about:blank")
    browser.open(f"http://localhost:{port}/#/ensembles/3")
    heading("million #3")
    until(READY)
    asked = "performance.getEntriesByType('resource').map(e => e.name).filter(n => /[/]states([?]|$)/.test(n))"
    corner = f"""(() => {{ const context = new OffscreenCanvas(1, 1).getContext('2d', {{willReadFrequently: true}}), style = getComputedStyle({GRID}.canvas);
        context.drawImage({GRID}.canvas, 1, 1, 1, 1, 0, 0, 1, 1);
        const d = context.getImageData(0, 0, 1, 1).data;
        return ['running', 'cancelled'].find(n => style.getPropertyValue('--' + n).trim() === '#' + [d[0], d[1], d[2]].map(c => c.toString(16).padStart(2, '0')).join('')); }})()"""
    until(f"{corner} === 'running'")
    api("POST", "/v1/ensembles/3/members/0/cancel")
    api("POST", "/v1/ensembles/3/resume")
    until(f"{corner} === 'cancelled'")
    tell(states(3)[0] == "cancelled", "a cell of many members shows the worst of them, as they change")
    for query in "?state=pending", "?from=5&to=100000", "":
        open_ensemble(3, "million", query)
    until(f"{asked}.filter(n => n.includes('since=')).length > 2")
    tell(js(f"{asked}.filter(n => !n.includes('since=')).length") == 1, "the states are asked for once, and then what has changed", js(asked))
    painted = js(f"""(async () => {{ const grid = {GRID}; let frames = 0, cells = 0; const draw = grid.draw;
        grid.draw = function () {{ frames++; const w = this.window(this.scale()); cells = Math.max(cells, w.cols * w.rows); draw.call(this); }};
        for (let i = 0; i < 400; i++) {{ grid.zoomBy(1.02); grid.move(grid.zoom, grid.x + 3, grid.y + 2); }}
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        delete grid.draw; return {{frames, cells, box: grid.width * grid.height}}; }})()""")
    tell(painted["frames"] <= 2, f"400 moves between two frames are one picture ({painted['frames']})")
    tell(painted["cells"] < painted["box"] / 4, f"of {painted['cells']} cells, for {painted['box']:.0f} pixels")


def rungs():
    """The rungs of an ensemble whose members are stopped early, as the API tells of them, and only of such an ensemble."""
    tell(js("document.querySelector('[data-key=rungs]') === null"), "an ensemble without rungs shows none")
    open_ensemble(5, "halving")
    told = [r for r in get("/v1/ensembles/5/rungs")["rungs"] if r["arrived"] > 0]
    shown = "[...document.querySelectorAll('[data-key=rungs] tbody tr')].map(r => [...r.children].map(c => c.innerText.trim().replaceAll(',', '')))"
    wanted = [[str(r[key]) for key in ("rung", "step", "arrived", "promoted", "stopped", "under_way")] + [f"{r['best']['value']:g}", f"5.{r['best']['index']}"] for r in told]
    comes_to(lambda: js(shown), wanted, "the rungs are shown as the API tells of them")
    tell(len(told) > 1 and js("document.querySelector('[data-key=rungs] p').innerText").startswith("By loss, of which less is better"), "and by which metric")
    stopped = get("/v1/ensembles/5")["members"]["stopped"]
    tell(stopped > 0 and js(COUNTS)["stopped"] == stopped, "members that are stopped are counted")
    agree(5, lambda i, state: True, "and have a colour of their own")
    open_ensemble(5, "halving", "?plot=lines")
    until(f"{PLOT}?.meets && {PLOT}.wish.lines.length === 9 && {DRAWN}")
    none_drawn("loss", range(9), [])
    open_ensemble(5, "halving")
    fits("rungs")
    js("document.querySelector('[data-key=rungs] tbody a').click()")
    until("/^Member 5[.]/.test(document.querySelector('h1')?.innerText)")
    browser.open(f"http://localhost:{port}/#/ensembles/5/members/8")
    heading("Member 5.8")
    equal(js("document.querySelector('.head .pill').innerText.split(' ').at(-1)"), "stopped", "a member tells that it is stopped")


def the_end():
    quiet("members", "where=%7B%22no%22%3A1%7D")  # refused: hostile()


port = chromium.forward(path)
run(log_in, ten, choose, hostile, typed, structures, table, sorted_table, reported, plots, grows, million, cheaply, rungs, the_end)
