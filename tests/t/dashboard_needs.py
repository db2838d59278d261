# dashboard_needs.py SOCKET CHROMIUM DIR: what needs a person, in a real browser.
#
# The daemon has 64 ensembles: of 1 to 8 a member has failed, of 1 more than a week ago; member 9.1 waits for its next
# attempt.
import re
import chromium
from dashboard_tools import browser, click, equal, fits, get, heading, js, link, path, quiet, run, tell, until


def needs():
    until("document.querySelectorAll('.needs li').length === 6")
    equal(js("[...document.querySelectorAll('.needs li')].map(e => e.dataset.key)"), ["8", "7", "6", "5", "4", "3"],
          "what needs a person is told, though 50 newer ensembles do not, and it is over")
    fits("needs")
    click(".needs a[href*='trouble=1']")
    until("!!document.querySelector('[data-key=troubled]')")
    until("document.querySelectorAll('.cards .card').length === 7")
    equal(js("[...document.querySelectorAll('.cards .card')].map(e => Number(e.dataset.key))"), [e["id"] for e in get("/v1/ensembles?trouble=1")["ensembles"]],
          "all of them are a list of their own")
    fits("troubled")
    click("[data-key=troubled]")
    until("document.querySelectorAll('.cards .card').length === 50")
    tell(js("location.hash") == "#/", "which can be left again", js("location.hash"))


def retried():
    js("location.hash = '#/ensembles/9'")
    heading("retried #9")
    until("[...document.querySelectorAll('.members tbody tr')].at(-1)?.innerText.includes('retry in 3 d')")
    equal(js("document.querySelector('main > .notice time')?.dateTime"), get("/v1/ensembles/9")["notice"]["text"].split(" at ")[1], "the ensemble says when, too")
    said = js("document.querySelector('main > .notice').innerText")
    tell(re.fullmatch(r"the next attempt of a member that failed is made at \S+ \d+:\d\d:\d\d( [AP]M)? \(in 3 d \d+ h\)", said),
         "by the clock of whoever looks, and in how long", said)
    js("location.hash = '#/ensembles/9/members/1'")
    heading("Member 9.1")
    why = until("document.querySelector('[data-key=why]')?.innerText")
    tell("exit status 1; the next attempt is due in " in why, "a member that waits for its next attempt says until when", why)
    equal(js("document.querySelector('[data-key=why] time').dateTime"), get("/v1/ensembles/9/members/1")["retry_at"], "as the API says")
    fits("retried")
    quiet("needs")


def all_of_it():
    browser.open(link(chromium.forward(path)))
    heading("Ensembles")
    needs()
    retried()


run(all_of_it)
