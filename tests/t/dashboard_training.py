# dashboard_training.py SOCKET CHROMIUM DIR: what people see of trainings, in a real browser, held against what the API
# says.
#
# The daemon has ensembles 1 ("loss-1") and 2 ("loss-20"), which go on until DIR/go is there; each has a training in its
# second generation.
import json, os
import chromium
from dashboard_tools import agree, arrives, browser, click, comes_to, equal, fits, folder, get, heading, js, link, path, quiet, run, tell, until

# What a plot was given: its values, by the labels of its lines.
PLOT = """(key => { const element = document.querySelector(`[data-key="${key}"] .canvas`); if (!element?.plot) return null;
    const [x, ...columns] = element.plot.data; let at = 0;
    return {x, log: element.plot.scales.y.distr === 3, lines: Object.fromEntries(element.model.tables.flatMap(t => t.lines)
        .map(line => { const y = columns[at]; at += line.max ? 3 : 1; return [line.label, y]; }))}; })"""


def plot(key):
    return until(f"{PLOT}({json.dumps(key)})")


def said(training, name):
    return get(f"/v1/trainings/{training}/metrics?name={name}&buckets=600")["series"][name]["buckets"]


def values(line):
    return [value for value in line if value is not None]


def place():
    """Where the plot of the losses is, once it stays there."""
    where = """(() => { const e = document.querySelector('[data-key="metric loss"] .u-over'); e.scrollIntoView({block: 'center'});
        const r = e.getBoundingClientRect(); return {x: r.x, y: r.y, w: r.width, h: r.height}; })()"""
    before = None
    while (now := js(where)) != before:
        before = now
        js("new Promise(done => setTimeout(done, 200))")
    return now


def under_the_pointer(every, sparse):
    box = place()
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"] + 0.3 * box["w"], y=box["y"] + 50)
    step, told = js("""(e => [e.querySelector('.canvas').plot.cursor.idx, [...e.querySelectorAll('.legend b')].map(b => Number(b.innerText))])
        (document.querySelector('[data-key="metric loss"]'))""")
    if not step:  # the page is about to draw it
        return False
    wanted = [every[step]["last"], [b["last"] for b in sparse if b["step"] <= every[step]["step"]][-1]]
    return len(told) == 2 and all(abs(value - last) < 0.002 for value, last in zip(told, wanted))


def one_training():
    js("location.hash = '#/ensembles/1'")
    heading("loss-1 #1")
    click("a[href='#/ensembles/1/training']")
    heading("Training of loss-1 #1")
    until(f"{PLOT}('metric loss').x.at(-1) === 359")
    shown, wanted = plot("metric loss"), said(1, "train_loss")
    equal([shown["x"], shown["lines"]["train_loss"]], [[b["step"] for b in wanted], [b["last"] for b in wanted]], "a loss curve is what the API says, step by step")
    tell(shown["log"] and "train_loss" in shown["lines"] and "validation_loss" in shown["lines"], "losses are one picture, logarithmic where their sizes differ")
    equal(values(shown["lines"]["validation_loss"]), [b["last"] for b in said(1, "validation_loss")], "sparse ones, too")
    tell("1 value is not finite" in until("document.querySelector('[data-key=\"metric loss\"] figcaption').innerText"), "that a value was NaN is told")
    equal(js("document.querySelector('[data-key=\"metric loss\"] .legend [data-key=train_loss] b').innerText") != "", True, "the legend has the last value")
    tell(not plot("metric rate")["log"], "others are linear")
    fits("training")
    comes_to(lambda: under_the_pointer(wanted, said(1, "validation_loss")), True, "under the pointer are the values of that step, of each line its own")


def axes():
    click(".segments a[href*='x=samples']")
    until(f"{PLOT}('metric loss').x[0] !== 0 || {PLOT}('metric loss').x.at(-1) > 1000")
    history = get("/v1/trainings/1/history")["moments"]
    used = [m["drawn"] + m["repeats"] for m in history]
    generations = [m["generation"] for m in history]
    former = max(u for u, g in zip(used, generations) if g == 1)
    x = plot("metric loss")["x"]
    tell(sorted(x) == x and former <= x[0] <= x[-1] <= former + used[-1], "along the axis may be samples, of all generations", f"{x[0]} to {x[-1]}, {former} before")
    click(".segments a[href*='x=time']")
    until(f"{PLOT}('metric loss').x.at(-1) < 1000")
    tell(plot("metric loss")["x"][-1] > 0, "or the time since it began")
    click(".segments a[href*='log=0']")
    until(f"!{PLOT}('metric loss').log")
    tell(js("location.hash") == "#/ensembles/1/training?x=time&log=0", "a view has an address of its own", js("location.hash"))


def stays():
    """What was shown is shown until what is asked for is there: the word that the page loads would come after 300 ms, before a later timer."""
    js("hold()")
    js("document.querySelector('.segments a[href*=\"log=1\"]').focus()")
    browser.key("Enter")
    until("location.hash.includes('log=1')")
    js("new Promise(done => setTimeout(done, 600))")
    tell(plot("metric loss")["log"], "another scale does not wait for an answer")
    equal(js("[document.activeElement.innerText, document.querySelector('main').ariaBusy]"), ["logarithmic", "true"], "the focus stays, and the page says that it asks")
    js("letGo()")
    comes_to(lambda: js("document.querySelector('main').ariaBusy"), None, "until it has been answered")
    equal(js("document.activeElement.innerText"), "logarithmic", "and the focus stays then")


def buffer_is_as_said():
    """At the end, since a moment is added each second, and of many not all are told."""
    for label, name in ("all", "population"), ("never drawn yet", "unseen"), ("capacity", "capacity"):
        agree(lambda: plot("buffer")["lines"][label], lambda: [m[name] for m in get("/v1/trainings/1/history?moments=300")["moments"]], f"the buffer over time: {label}")


def flow():
    until(f"{PLOT}('buffer').lines['never drawn yet'].at(-1) === 110")  # in the last round
    tell(max(values(plot("flow")["lines"]["received"])) > 0 and min(values(plot("flow")["lines"]["received"])) >= 0, "samples a second come in")
    waits = plot("waits")["lines"]
    tell(0 < max(values(waits["the training waits for samples"])) <= 100 and 0 < max(values(waits["members wait for room"])) <= 100, "who waits for whom is told in percent")
    equal(js("document.querySelector('[data-key=buffer] .canvas').model.marks.length"), 1, "where the second generation began is marked")
    rank = get("/v1/trainings/1/ranks")["ranks"][0]
    drawn = "[...document.querySelectorAll('.histogram tbody tr')].map(r => Number(r.querySelector('.number').innerText.replaceAll(',', '')))"
    comes_to(lambda: js(drawn), [get("/v1/trainings/1")["unique"] - get("/v1/trainings/1")["drawn"], *rank["draws"]], "how often samples were drawn is told")
    row = js("[...document.querySelectorAll('[aria-labelledby=ranks] tbody tr')].map(r => r.innerText)")
    tell(len(row) == 1 and f"{rank['received']:,}" in row[0] and "receiving" in row[0], "and what each rank says", row)


def several():
    js("location.hash = '#/ensembles/1/training'")
    arrives(f"{PLOT}('metric loss').x.at(-1) === 359")
    until("document.getElementById('with') !== null && document.getElementById('with').options.length === 2")
    js("document.getElementById('with').value = '2', document.getElementById('with').dispatchEvent(new Event('change'))")
    until(f"Object.keys({PLOT}('metric loss')?.lines ?? {{}}).length === 4")
    lines = plot("metric loss")["lines"]
    for id in 1, 2:
        equal(values(lines[f"train_loss of #{id}"]), [b["last"] for b in said(id, "train_loss") if b["last"] is not None], f"over one another: ensemble {id}")
    fits("compared")
    equal(js("location.hash"), "#/ensembles/1/training?with=2", "which is an address to be sent")
    browser.open("about:blank")
    browser.open(f"http://localhost:{port}/#/ensembles/1/training?with=2&from=30&to=59")
    until(f"Object.keys({PLOT}('metric loss')?.lines ?? {{}}).length === 4")
    equal(plot("metric loss")["x"], list(range(30, 60)), "and so is a part of the steps")
    click(".chip[href*='with=2']")
    until(f"{PLOT}('metric loss').x.length > 100")
    click(".chip[data-key='with 2']")
    until(f"Object.keys({PLOT}('metric loss')?.lines ?? {{}}).length === 2")
    tell(True, "both can be taken back")


def zoom():
    box = place()
    y = box["y"] + box["h"] / 2
    for kind, at in ("mouseMoved", 0.25), ("mousePressed", 0.25), ("mouseMoved", 0.4), ("mouseMoved", 0.5), ("mouseReleased", 0.5):
        browser.call("Input.dispatchMouseEvent", type=kind, x=box["x"] + at * box["w"], y=y, button="left", clickCount=1, buttons=int(kind != "mouseReleased" and at > 0))
    until("location.hash.includes('from=')")
    until(f"{PLOT}('metric loss').x.length < 200 && {PLOT}('metric loss').x[0] > 50")
    x = plot("metric loss")["x"]
    tell(60 < x[0] < 120 and 150 < x[-1] < 210, "dragging looks closer, step by step", f"{x[0]} to {x[-1]}")


def width():
    js("location.hash = '#/ensembles/1/training'")
    arrives("document.querySelector('#width')?.value === '3'")
    js("document.getElementById('width').focus(), document.getElementById('width').select()")
    browser.type("2")
    browser.key("Enter")
    until("document.querySelector('#width').getAttribute('value') === '2'")
    equal(get("/v1/ensembles/1")["width"], 2, "the width is set from here, too")
    equal(js("[document.querySelector('#ranks-wanted'), document.querySelector('[data-key=fixed]').innerText]"),
          [None, "1 rank to the end, since it saves no checkpoints"], "ranks that cannot be changed are no control, and why is told")


def reader():
    browser.open("about:blank")
    browser.open(link(port))
    heading("Ensembles")
    js("location.hash = '#/ensembles/1/training'")
    heading("Training of loss-1 #1")
    plot("metric loss")
    equal(js("document.querySelectorAll('main button, main input').length"), 0, "a reader sees the curves, and no controls")


def ended():
    open(os.path.join(folder, "go"), "w").close()
    until("document.querySelector('.head .pill').innerText.endsWith('done')")
    tell(True, "that it ends is seen without a reload")
    buffer_is_as_said()
    fits("trained")
    quiet("reader")


def all_of_it():
    global port
    port = chromium.forward(path)
    browser.open(link(port, "--operator"))
    heading("Ensembles")
    one_training()
    axes()
    stays()
    flow()
    several()
    zoom()
    width()
    quiet("operator")
    reader()
    ended()


run(all_of_it)
