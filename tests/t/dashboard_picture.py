# dashboard_picture.py SOCKET CHROMIUM DIR MEMBERS: pictures of the dashboard while ensemble 1, of a heat equation,
# streams into its training and MEMBERS have succeeded: DIR/dashboard.webp and DIR/dashboard-dark.webp, as the README
# has them.
import json, os, sys, time
import chromium
from dashboard_tools import browser, folder, get, js, link, path, quiet, run, tell, until

WIDTH, HEIGHT = 1200, 1120
members = int(sys.argv[4])


def waits_for(condition):
    end = time.monotonic() + chromium.LIMIT
    while not condition(get("/v1/ensembles/1")):
        if time.monotonic() > end:
            raise RuntimeError(f"in vain: {json.dumps(get('/v1/ensembles/1'))}")
        time.sleep(0.2)


def is_far(ensemble):
    return ensemble["ended"] or (ensemble["members"]["succeeded"] >= members and "validation_loss" in ensemble["training"]["metrics"])


def take():
    port = chromium.forward(path)
    browser.open(link(port, "--operator"))
    until("document.querySelector('h1')?.innerText === 'Ensembles'")
    js("location.hash = '#/ensembles/1'")
    waits_for(is_far)
    until(f"Number(document.querySelector('.counts [data-key=succeeded] b')?.innerText) >= {members}")
    until("document.querySelectorAll('.charts svg').length >= 2 && document.getElementById('live').className === 'is-live'")
    for dark in False, True:
        name = os.path.join(folder, f"dashboard{'-dark' if dark else ''}.webp")
        browser.look(WIDTH, dark, HEIGHT, scale=1.5)
        js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.picture(name, format="webp", quality=80)
        size = os.path.getsize(name)
        tell(10_000 < size < 250_000, f"a picture is taken that fits into a README: {os.path.basename(name)}", f"{size} bytes")
    quiet("picture")


run(take)
