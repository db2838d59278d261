# dashboard_large.py SOCKET CHROMIUM DIR: the dashboard with members that printed a hundred megabytes each, in a real
# browser. Ensemble 1 has failed, member 0 with one line of that length, member 1 with many.
import chromium
from dashboard_tools import api, browser, equal, fits, get, heading, js, link, path, quiet, run, tell, until, visible

SHOWN = 16384
OUTPUT = "document.getElementById('stderr')?.closest('section').querySelector('.output')"


def log_in():
    browser.call("Performance.enable")
    browser.open(link(port))
    heading("Ensembles")


def memory():
    browser.call("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6


def is_cheap(name):
    """What the page has loaded, and what it keeps."""
    most = js("Math.max(...performance.getEntriesByType('resource').filter(e => !e.name.includes('/web/')).map(e => e.encodedBodySize))")
    tell(0 < most <= SHOWN, f"{name}: the page loads no more than it shows", f"{most} bytes")
    tell(memory() < 20, f"{name}: and keeps no more", f"{memory()} MB")
    equal(js("document.querySelectorAll('main script, main img, main pre b').length"), 0, f"{name}: all of it is text")


def failures():
    js("location.hash = '#/ensembles/1'")
    heading("talks #1")
    wanted = [visible(f["example"]["stderr"]) for f in get("/v1/ensembles/1/failures")["failures"]]
    until("document.querySelectorAll('.causes .output').length === 2")
    equal(js("[...document.querySelectorAll('.causes .output')].map(e => e.textContent)"), wanted, "failures are shown with the last lines")
    tell(max(len(f["example"]["stderr"]) for f in get("/v1/ensembles/1/failures")["failures"]) <= 2048, "of which the API sends the end")
    js("document.querySelectorAll('.causes details').forEach(e => { e.open = true; })")
    fits("large-failures")
    is_cheap("failures")


def member(index):
    js(f"location.hash = '#/ensembles/1/members/{index}'")
    heading(f"Member 1.{index}")
    until(f"!!{OUTPUT}")
    printed = api("GET", f"/v1/ensembles/1/members/{index}/stderr")
    equal(js(f"{OUTPUT}.textContent"), visible(printed[-SHOWN:].decode(errors="replace")), f"member {index}: the end of what it printed is shown")
    fits(f"large-output-{index}")
    is_cheap(f"member {index}")


def whole():
    """All of it is for a file, not for a window: asked for, it is downloaded."""
    begun, hear = [], browser.hear

    def listen(method, parameters):
        if method == "Page.downloadWillBegin":
            begun.append(parameters)
        else:
            hear(method, parameters)
    browser.hear = listen
    browser.call("Page.setDownloadBehavior", behavior="deny")
    text = js("document.querySelector('[data-key=stderr] .panel-head a').innerText")
    tell("100 MB" in text, "how much there is is said", text)
    browser.click("[data-key=stderr] .panel-head a")
    end = chromium.time.monotonic() + chromium.LIMIT
    while not begun and chromium.time.monotonic() < end:
        js("1")
    equal([d["suggestedFilename"] for d in begun], ["1.1.stderr.txt"], "all of it goes into a file")
    heading("Member 1.1")
    equal(len(browser.call("Target.getTargets", filter=[{"type": "page"}])["targetInfos"]), pages, "and into no window")


port = chromium.forward(path)
pages = len(browser.call("Target.getTargets", filter=[{"type": "page"}])["targetInfos"])
run(log_in, failures, lambda: member(0), lambda: member(1), whole, lambda: quiet("large output"))
