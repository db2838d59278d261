# dashboard_bench.py SOCKET CHROMIUM DIR SECONDS: the dashboard at ensemble 1, of a million members, some of which run. Prints "NAME VALUE UNIT".
import glob, statistics, sys, time
from dashboard_tools import Connection, browser, heading, js, link, path, until
import chromium

SECONDS = float(sys.argv[4])
WATCH = """window.seen = {}; new MutationObserver(() => {
    if (!seen.page && document.querySelector('.counts')) seen.page = performance.now();
    if (!seen.grid && document.querySelector('.grid')?.dataset.level) seen.grid = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true});"""
FRAMES = """window.frames_ = [], window.draws = []; {
    let last = null, grid = document.querySelector('.map').grid;
    const draw = Object.getPrototypeOf(grid).draw;
    grid.draw = function () { const start = performance.now(); draw.call(this); draws.push(performance.now() - start); };
    const next = now => { if (last !== null) frames_.push(now - last); last = now; window.going && requestAnimationFrame(next); };
    window.going = true; requestAnimationFrame(next); }"""


def figure(name, value, unit):
    print(name, round(value, 3), unit, flush=True)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


class Trace:
    """What the page's main thread does, by the CPU time of its tasks: how busy the machine is with other things does not matter for that."""

    def __init__(self):
        self.events, self.is_over, self.hear = [], False, browser.hear
        browser.hear = self.take
        browser.call("Tracing.start", traceConfig={"includedCategories": ["toplevel", "__metadata"]}, transferMode="ReportEvents")

    def take(self, method, parameters):
        if method == "Tracing.dataCollected":
            self.events += parameters["value"]
        elif method == "Tracing.tracingComplete":
            self.is_over = True
        else:
            self.hear(method, parameters)

    def longest(self):
        """In milliseconds."""
        browser.call("Tracing.end")
        while not self.is_over:
            js("1")
        browser.hear = self.hear
        main = {(e["pid"], e["tid"]) for e in self.events if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"}
        return max(e.get("tdur", 0) for e in self.events if e["ph"] == "X" and (e["pid"], e["tid"]) in main) / 1000


def heap():
    browser.call("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6


def page_memory():
    """Of the process that draws the page: what is its own, so without the program that all share."""
    most = 0
    for status in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(status.replace("status", "cmdline")) as file:
                line = file.read()
            if "--type=renderer" in line and sys.argv[3] in line:
                with open(status) as file:
                    most = max(most, int(next(l for l in file if l.startswith("RssAnon")).split()[1]) / 1000)
        except (OSError, StopIteration):
            pass
    return most


def opening():
    times, trace = [], Trace()
    for _ in range(5):
        browser.open("about:blank")
        browser.open(f"http://localhost:{port}/#/ensembles/1")
        until("window.seen?.grid")
        times.append(js("({...seen, paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime})"))
    figure("dashboard-open-task-longest-cpu", trace.longest(), "ms")
    for name in "paint", "page", "grid":
        figure(f"dashboard-first-{name}", quantile([t[name] for t in times if t.get(name)], 0.5), "ms")


def moving():
    box = js("(() => { const r = document.querySelector('.grid').getBoundingClientRect(); scrollTo(0, scrollY + r.y - 80); return {x: r.x, y: 80, w: r.width, h: r.height}; })()")
    mouse = lambda kind, x, y, **more: browser.call("Input.dispatchMouseEvent", type=kind, x=box["x"] + x, y=box["y"] + y, **more)
    js(FRAMES)
    trace = Trace()
    for turn in range(12):
        for step in range(12):
            mouse("mouseWheel", 300 + 5 * turn, 150, deltaX=0, deltaY=-90 if turn % 4 < 2 else 90, modifiers=2)
        mouse("mousePressed", 300, 200, button="left", buttons=1, clickCount=1)
        for step in range(25):
            mouse("mouseMoved", 300 + 9 * step * (-1) ** turn, 200 + 3 * step, button="left", buttons=1)
        mouse("mouseReleased", 300 + 225 * (-1) ** turn, 275, button="left", clickCount=1)
    frames, draws = js("(window.going = false, [frames_, draws])")
    js("delete document.querySelector('.map').grid.draw")
    figure("dashboard-move-task-longest-cpu", trace.longest(), "ms")
    figure("dashboard-frames", len(frames), "frames")
    figure("dashboard-frame-longest", max(frames), "ms")
    figure("dashboard-frame-p99", quantile(frames, 0.99), "ms")
    figure("dashboard-draw-longest", max(draws), "ms")
    figure("dashboard-draw-median", quantile(draws, 0.5), "ms")


def choosing():
    trace = Trace()
    for state in "failed", "succeeded", "pending", "failed":
        before = js("location.hash")
        browser.click(f".counts [data-key={state}] a")
        until(f"location.hash !== {before!r} && document.querySelector('#chosen') && !document.querySelector('[aria-busy]')")
    figure("dashboard-choose-task-longest-cpu", trace.longest(), "ms")


def staying():
    """The memory of the page once a minute, after the garbage has been collected, while the grid is zoomed in and out.

    The page moves by itself: what a browser keeps for whoever watches it, and asks it every second, grew by 100 MB an hour.
    """
    for domain in "Network", "Log", "Runtime":
        browser.call(f"{domain}.disable")
    js("""(turn => setInterval(() =>
        document.querySelector('.map').grid.zoomBy(turn++ % 400 < 200 ? 1.01 : 1 / 1.01), 1000))(0) > 0""")
    event, start, samples = newest_event(), time.monotonic(), []
    while not samples or samples[-1][0] < SECONDS:
        time.sleep(min(60, SECONDS) if samples else 1)
        samples.append((time.monotonic() - start, heap(), page_memory()))
        print("after {:.0f} s: heap {:.3f} MB, page {:.1f} MB".format(*samples[-1]), file=sys.stderr, flush=True)
    times, heaps, pages = zip(*samples)
    figure("dashboard-events", (newest_event() - event) / times[-1], "events/s")
    figure("dashboard-heap-begin", heaps[0], "MB")
    figure("dashboard-heap", heaps[-1], "MB")
    figure("dashboard-heap-growth", 3600 * statistics.linear_regression(times, heaps).slope, "MB/h")
    figure("dashboard-page-memory-begin", pages[0], "MB")
    figure("dashboard-page-memory", pages[-1], "MB")
    figure("dashboard-page-memory-growth", 3600 * statistics.linear_regression(times, pages).slope, "MB/h")


def newest_event():
    connection = Connection("stretto")
    connection.request("HEAD", "/v1/ensembles/1/states")
    return int(connection.getresponse().headers["Last-Event-ID"])


port = chromium.forward(path)
try:
    browser.look(1440)
    browser.call("Performance.enable")
    browser.open(link(port, "--operator"))
    heading("Ensembles")
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    opening()
    moving()
    choosing()
    staying()
finally:
    browser.close()
sys.exit(1 if browser.complaints and print(browser.complaints, file=sys.stderr) is None else 0)
