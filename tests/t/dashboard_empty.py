# dashboard_empty.py SOCKET CHROMIUM DIR: a daemon that has nothing yet, and an address that leads nowhere, in a real
# browser.
import chromium
from dashboard_tools import browser, equal, fits, heading, js, link, path, quiet, run, tell, until


def nothing():
    port = chromium.forward(path)
    browser.open(link(port, "--operator"))
    heading("Ensembles")
    tell("stretto submit" in until("document.querySelector('.empty')?.innerText"), "where there is no ensemble, it says how one comes to be")
    fits("empty")
    quiet("nothing")
    for address in "nowhere", "ensembles/1", "ensembles/1/training", "ensembles/1/spec", "ensembles/1/members/2":
        js(f"location.hash = '#/{address}'")
        heading("Not here")
        equal(js("document.querySelector('main a')?.getAttribute('href')"), "#/", f"{address} is not here, and a link leads on")
        if address != "ensembles/1/members/2":  # from one to the next the page would be the same
            js("location.hash = '#/'")
            heading("Ensembles")
    fits("not-here")
    js("location.hash = '#/'")
    heading("Ensembles")
    quiet("not here", "404 (Not Found)")  # what was not found is


run(nothing)
