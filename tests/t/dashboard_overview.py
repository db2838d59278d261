# dashboard_overview.py SOCKET CHROMIUM DIR HOSTILE-NAME: how people find, sort and compare many ensembles, in a real
# browser, held against what the API says.
#
# The daemon has 57 ensembles: 1 to 5 run, each with a training of its own, 6 has failed and has the hostile name, 7 and
# 8 are paused, 9 is cancelled; the others are complete.
import json, sys, urllib.parse
import chromium
from dashboard_tools import agree, axe, browser, click, comes_to, equal, fits, get, heading, js, link, path, quiet, run, tell, until, visible

hostile = sys.argv[4]
IDS = "[...document.querySelectorAll('.cards > li, .ensembles tbody tr')].map(e => Number(e.dataset.key))"
ROWS = """[...document.querySelectorAll('.ensembles tbody tr')].map(r => [r.querySelector('bdi').innerText,
    Object.fromEntries([...r.querySelectorAll('td[data-key]')].map(c => [c.dataset.key, c.innerText.trim()]))])"""


def listed(query):
    return get(f"/v1/ensembles?limit=50&{query}")["ensembles"]


def shows(query, name):
    """The page comes to show what the API lists; both are asked until they agree, since ensembles go on meanwhile."""
    end = chromium.time.monotonic() + chromium.LIMIT
    while (shown := js(IDS)) != (wanted := [e["id"] for e in listed(query)]) or js("!!document.querySelector('[aria-busy]')"):
        if chromium.time.monotonic() > end:
            break
        chromium.time.sleep(0.05)
    equal(shown, wanted, name)


def go(address):
    js(f"location.hash = {json.dumps(address)}")


def adapter_in_words():
    jobs = get("/v1/adapters")["adapters"][0]["jobs"]
    return f"local answers; jobs: {jobs['running']} running, {jobs['submitted'] + jobs['intent']} queued"


def pages():
    shows("", "the newest 50 of 57 are shown")
    click(".pages a[href*='cursor=']")
    shows("cursor=8", "and then the older ones")
    tell(js("document.querySelector('.needs') === null"), "where a part is looked at, what needs a person is not told")
    click(".pages a[href='#/']")
    shows("", "and the newest again")
    until("!!document.querySelector('.needs')")
    equal(js("[...document.querySelectorAll('.needs li')].map(e => e.dataset.key)"), ["6"], "what needs a person is told, though it is on an older page")
    agree(lambda: js("document.querySelector('.adapters [data-key=local]').innerText.trim()").split(maxsplit=1)[1], adapter_in_words, "how the batch system is doing is told")
    fits("overview-57")


def by_name():
    js("document.getElementById('name').focus()")
    browser.type("SWEEP 3")
    shows("name=sweep%203", "what is typed is looked for")
    equal(js("[location.hash, document.activeElement.id]"), ["#/?name=SWEEP+3", "name"], "the address says so, and the field keeps the focus")
    js("document.getElementById('name').select()")
    browser.type("%")
    shows("name=%25", "no name has this sign")
    equal(until("document.querySelector('[data-key=none] p')?.innerText"), "No ensemble is like that.", "which is said")
    fits("overview-none")
    click("[data-key=none] a")
    shows("", "a link leads back to all")
    until("document.getElementById('name').value === ''")
    js("document.getElementById('name').focus()")
    browser.type("\u202eevil")
    shows("name=" + urllib.parse.quote("\u202eevil"), "a name may have any character")
    equal(js("document.querySelector('.card bdi').innerText"), visible(hostile), "and is shown as text")
    go("#/")
    shows("", "another address shows another list")
    equal(js("[document.getElementById('name').value, document.activeElement.id]"), ["", "name"], "and the field follows, though it has the focus")


def by_state():
    for state, states in ("running", "running"), ("paused", "running,paused"), ("failed", "running,paused,failed"):
        click(f".listing .counts [data-key={state}] a")
        shows(f"state={states}", f"of the states {states}")
    equal(js("location.hash"), "#/?state=running%2Cpaused%2Cfailed", "which is an address")
    click(".listing .counts [data-key=running] a")
    shows("state=paused,failed", "a state can be let go again")
    browser.open("about:blank")
    browser.open(f"http://localhost:{port}/#/?state=cancelled&name=CANCEL")
    shows("state=cancelled&name=cancel", "an address that is sent shows the same")
    equal(js("[document.getElementById('name').value, document.querySelector('.counts [aria-current]').innerText.trim()]"), ["CANCEL", "⊘ cancelled"], "and by what it is chosen")
    go("#/")


def told(key, ensemble):
    """A figure of a metric as the table has it: four digits."""
    figure, name = key.split(":")
    training = ensemble["training"]
    if training is None or name not in training["metrics"]:
        return None
    return training["metrics"][name] if figure == "last" else training["metric_ranges"][name][figure]


def agrees(row, ensemble, keys):
    name, cells = row
    final = sum(n for state, n in ensemble["members"].items() if state not in ("pending", "submitted", "running"))
    good = name == visible(ensemble["name"]) and cells["state"].split()[-1] == ensemble["state"]
    good = good and cells["progress"].startswith(f"{100 * final // ensemble['count']} %") and (cells["rate"] == "–") == (not ensemble["rate"])
    for key in keys:
        value = told(key, ensemble)
        good = good and (cells[key] == "–" if value is None else abs(float(cells[key].replace(",", "").replace("e", "E")) - value) <= abs(value) * 0.001)
    return good


def says(query, keys, name):
    """Each row of the table says of its ensemble what the API says."""
    end = chromium.time.monotonic() + chromium.LIMIT
    while True:
        rows, wanted = js(ROWS), listed(query)
        if len(rows) == len(wanted) and all(agrees(row, e, keys) for row, e in zip(rows, wanted)):
            return tell(True, name)
        if chromium.time.monotonic() > end:
            return tell(False, name, f"{rows[:3]}, {[(e['name'], e['members'], e['rate'], (e['training'] or {}).get('metric_ranges')) for e in wanted[:3]]}")


def as_table():
    click(".head .segments a[href*='as=table']")
    until("!!document.querySelector('.ensembles')")
    shows("", "a table shows the same ensembles")
    says("", [], "and what the API says of each")
    for key, first, other in ("name", "asc", "desc"), ("state", "asc", "desc"), ("progress", "desc", "asc"), ("created", "desc", "asc"):
        for order, word in (first, None), (other, None):
            click(f".ensembles th[data-key={key}] a")
            until(f"location.hash.includes('sort={key}&order={order}')")
            shows(f"sort={key}&order={order}", f"sorted by {key}, {order}")
            equal(js(f"document.querySelector('.ensembles th[data-key={key}]').ariaSort"), {"asc": "ascending", "desc": "descending"}[order], "which screen readers hear")
    click(".ensembles th[data-key=rate] a")
    until("document.querySelector('.ensembles th[data-key=rate][aria-sort=descending]') && !document.querySelector('[aria-busy]')")
    equal(js(f"{IDS}.slice(0, 5).sort()"), [1, 2, 3, 4, 5], "sorted by rate, those that have one are the first")
    click(".pages a[href*='cursor=']")
    until(f"{IDS}.length === 7")
    tell(set(js(IDS)) & {1, 2, 3, 4, 5} == set(), "and none of them is on the second page")
    fits("overview-table")


def by_metric():
    go("#/?as=table&name=loss")
    until("document.querySelectorAll('.ensembles tbody tr').length === 5")
    shown = "[...document.querySelectorAll('.ensembles thead th')].map(e => e.dataset.key).filter(key => key.includes(':'))"
    equal(js(shown), ["last:train_loss", "last:validation_loss"], "where nobody has chosen metrics, the last losses are shown")
    js("document.querySelector('[data-key=columns]').open = true")
    box = lambda words: f"[data-key=columns] input[aria-label={json.dumps(words)}]"
    click(box("min of validation_loss"))
    until(f"{shown}.length === 3")
    click(box("last of train_loss"))
    until(f"{shown}.length === 2")
    js(f"document.querySelector({json.dumps(box('max of train_loss'))}).focus()")
    browser.key(" ", "Space")
    until(f"{shown}.length === 3")
    keys = js(shown)
    equal(keys, ["last:validation_loss", "min:validation_loss", "max:train_loss"], "which metrics are shown can be chosen, also from the keyboard")
    says("name=loss", keys, "their figures are what the API says")
    browser.tab_to(".ensembles a")
    js("document.querySelector('.ensembles th[data-key=\"min:validation_loss\"] a').focus()")
    browser.key("Enter")
    shows("name=loss&sort=min:validation_loss&order=asc", "the table is sorted by a metric from the keyboard")
    values = js("[...document.querySelectorAll('td[data-key=\"min:validation_loss\"]')].map(e => Number(e.innerText))")
    tell(len(values) == 5 and values == sorted(values) and values[0] < values[-1], "the least loss is the first", values)
    equal(js("document.activeElement.closest('th')?.dataset.key"), "min:validation_loss", "and the focus stays where it was")
    says("name=loss&sort=min:validation_loss&order=asc", keys, "each row is still that of its ensemble")
    address = js("location.hash")
    fits("overview-metrics")
    browser.open("about:blank")
    browser.open(f"http://localhost:{port}/{address}")
    until("document.querySelectorAll('.ensembles tbody tr').length === 5")
    equal(js(shown), keys, "and all of it is an address")
    js("document.getElementById('sort').value = 'max:train_loss', document.getElementById('sort').dispatchEvent(new Event('change'))")
    shows("name=loss&sort=max:train_loss&order=asc", "a field sorts, too")
    click("#order")
    shows("name=loss&sort=max:train_loss&order=desc", "in either order")
    last = js("document.querySelector('.ensembles tbody tr:last-child a').focus(), document.activeElement.getAttribute('href')")
    go("#/?as=table&name=loss&sort=max%3Atrain_loss&order=asc")
    shows("name=loss&sort=max:train_loss&order=asc", "the rows change their places")
    equal(js("document.activeElement.getAttribute('href')"), last, "and the one that has the focus keeps it")
    go("#/?as=table&sort=min%3Avalidation_loss&order=asc")
    shows("sort=min:validation_loss&order=asc", "those without the metric come last")
    go("#/?sort=max%3Atrain_loss&order=desc&state=running")
    shows("sort=max:train_loss&order=desc&state=running", "cards are sorted likewise")
    tell("train_loss max" in js("document.querySelector('.card').innerText"), "and say by what")


CHOSEN = "[...document.querySelectorAll('.ensembles input:checked')].map(e => e.closest('tr').dataset.key).sort()"


def choose(*ids):
    for id in ids:
        js(f"document.querySelector('.ensembles tr[data-key=\"{id}\"] input').focus()")
        browser.key(" ", "Space")
        until(f"new URLSearchParams(location.hash.split('?')[1]).get('chosen')?.split(',').includes('{id}')")


def while_rows_move():
    """The answer with another order comes between the press of a key and its release, and the row that has the focus goes to another place."""
    go("#/?as=table&name=loss&sort=max%3Atrain_loss&order=desc")
    shows("name=loss&sort=max:train_loss&order=desc", "the last row is that of the least loss")
    js("hold()")
    go("#/?as=table&name=loss&sort=name&order=asc")
    until("!!document.querySelector('.ensembles th[data-key=name][aria-sort=ascending]')")
    equal(js("document.querySelector('main').ariaBusy"), "true", "a page that shows what it showed before says so")
    js("document.querySelector('.ensembles tr[data-key=\"1\"] input').focus()")
    browser.press(" ", "Space")
    js("letGo()")
    shows("name=loss&sort=name&order=asc", "now it is the first")
    comes_to(lambda: js("document.querySelector('main').ariaBusy"), None, "until it does no longer")
    browser.release(" ", "Space")
    until("location.hash.includes('chosen=1')")
    tell(True, "a key that was pressed before and released after has its effect")


def compared():
    go("#/?as=table&name=loss&sort=name&order=asc")
    shows("name=loss&sort=name&order=asc", "those with a training can be compared")
    equal(js("document.querySelector('#compare')"), None, "nothing is compared yet")
    choose(2, 4, 5)
    equal(js(CHOSEN), ["2", "4", "5"], "three are chosen from the keyboard")
    axe("chosen")
    click("p.toolbar a:not([id])")
    until(f"{CHOSEN}.length === 0 && !document.querySelector('#compare')")
    tell("chosen=" not in js("location.hash"), "and none is chosen again")
    choose(2, 4, 5)
    click(".ensembles tr[data-key='4'] input")
    until("document.querySelector('#compare').getAttribute('href') === '#/ensembles/2/training?with=5'")
    click("#compare")
    heading("Training of loss-run-2 #2")
    lines = until("""(() => { const e = document.querySelector('[data-key="metric loss"] .canvas');
        return e?.plot && e.model.tables.flatMap(t => t.lines).map(line => line.label); })()""")
    equal(lines, [f"{name} of #{id}" for id in (2, 5) for name in ("train_loss", "validation_loss")], "two are seen over one another")
    js("history.back()")
    until(f"{CHOSEN}.length === 2")
    tell(True, "back in the overview they are still chosen")


def small():
    browser.look(360)
    go("#/?as=table&sort=name&order=desc")
    shows("sort=name&order=desc", "on a phone the table has the same rows")
    equal(js("[...document.querySelectorAll('.ensembles tr')][1].querySelectorAll('td[data-label]')[1].dataset.label"), "progress", "each cell with its name")
    js("document.getElementById('sort').value = '', document.getElementById('sort').dispatchEvent(new Event('change'))")
    shows("", "which the field sorts")
    browser.look(1024)


def all_of_it():
    global port
    port = chromium.forward(path)
    browser.open(link(port, "--operator"))
    heading("Ensembles")
    pages()
    by_name()
    by_state()
    as_table()
    by_metric()
    while_rows_move()
    compared()
    small()
    quiet("operator")


run(all_of_it)
