"""Opens a report in a browser: report.py REPORT METRICS [PICTURES]

The numbers on the page must be those of the metrics, the browser must have
nothing to complain of and nothing to load, and on a telephone nothing may be
wider than the screen. PICTURES: a directory for pictures of the page.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
from urllib.parse import quote

SIZES = {"phone": (375, 812), "desktop": (1280, 900)}

# What the page shows, and what sticks out to the right of the window.
LOOK = """JSON.stringify({
    values: Object.fromEntries(Array.from(
        document.querySelectorAll('[id]'),
        e => [e.id, [e.dataset.value ?? null, e.textContent]])),
    samples: Array.from(document.querySelectorAll('.sample'),
        e => [e.dataset.step, e.querySelector('pre').textContent]),
    views: Array.from(document.querySelectorAll('figure[data-view]'),
        e => e.dataset.view),
    maps: Array.from(document.querySelectorAll('g[data-rows]'),
        e => ({...e.dataset})),
    series: Array.from(document.querySelectorAll('g[data-series]'),
        e => [e.dataset.series, e.dataset.points]),
    refresh: document.querySelectorAll('meta[http-equiv]').length,
    letters: Math.min(...Array.from(document.querySelectorAll('text'),
        e => 12 * e.ownerSVGElement.getScreenCTM().a)),
    page: document.documentElement.scrollWidth,
    window: document.documentElement.clientWidth,
    wide: Array.from(document.querySelectorAll('body *'))
        .filter(e => !e.closest('.scroll') && !e.closest('svg svg') &&
            e.getBoundingClientRect().right > innerWidth + 0.5)
        .map(e => e.outerHTML.slice(0, 200)),
    cut: Array.from(document.querySelectorAll('text')).filter(e => {
        const t = e.getBoundingClientRect();
        const s = e.closest('.chart').getBoundingClientRect();
        return t.left < s.left - 0.5 || t.right > s.right + 0.5 ||
            t.bottom > s.bottom + 0.5; }).map(e => e.outerHTML),
    over: Array.from(document.querySelectorAll('.chart')).flatMap(s => {
        const all = Array.from(s.querySelectorAll('text'), e =>
            [e.textContent, e.getBoundingClientRect()]);
        return all.flatMap(([a, x], i) => all.slice(i + 1)
            .filter(([b, y]) => x.left < y.right && y.left < x.right &&
                /* letters are lower than their lines */
                x.top + x.height / 4 < y.bottom - y.height / 4 &&
                y.top + y.height / 4 < x.bottom - x.height / 4)
            .map(([b, y]) => a + ' and ' + b)); }),
})"""


class Browser:
    """Chromium, spoken to through two pipes, one JSON object after another."""

    def __init__(self, profile):
        here, there = os.pipe(), os.pipe()

        def descriptors():          # 3: it reads, 4: it writes
            ends = os.dup(here[0]), os.dup(there[1])
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=descriptors, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(here[0])
        os.close(there[1])
        self.to, self.come = os.fdopen(here[1], "wb"), os.fdopen(there[0], "rb")
        self.number, self.session, self.events = 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")
        self.session = self.ask("Target.attachToTarget", flatten=True,
                                targetId=target["targetId"])["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.ask(domain + ".enable")

    def receive(self):
        data = bytearray()
        while (byte := self.come.read(1)) != b"\0":
            assert byte, "the browser has gone"
            data += byte
        return json.loads(data)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        self.to.flush()
        while (answer := self.receive()).get("id") != self.number:
            self.events.append(answer)
        assert "result" in answer, answer
        return answer["result"]

    def open(self, url):
        self.events = []
        self.ask("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired"
                      for e in self.events):
            self.events.append(self.receive())

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        finally:
            self.process.wait(timeout=20)


def complaints(events):
    for e in events:
        method, p = e.get("method"), e.get("params", {})
        if method in ("Log.entryAdded", "Runtime.exceptionThrown",
                      "Runtime.consoleAPICalled"):
            yield json.dumps(p)
        if method == "Network.requestWillBeSent":
            url = p["request"]["url"]
            if not url.startswith(("file:///", "data:")):
                yield "asks for " + url


def compare(page, steps):
    """The numbers of the page with those of the metrics."""
    def last(key):
        return next((s[key] for s in reversed(steps)
                     if s.get(key) is not None), None)

    speeds = [s["tokens_per_s"] for s in steps]
    wanted = {"step": last("step"), "train-loss": last("loss"),
              "val-loss": last("val_loss"),
              "val-loss-whole": last("val_loss_whole"),
              "speed": sum(speeds) / len(speeds)}
    for key, value in wanted.items():
        exact, text = page["values"][key]
        decimals = 0 if key in ("step", "speed") else 4
        assert abs(float(exact) - value) < 1e-8 * abs(value), (key, exact)
        assert abs(float(text) - value) <= 0.5001 * 10 ** -decimals, (key, text)
    assert page["values"]["verdict"][1] == last("verdict"), page["values"]
    assert page["refresh"] == 0, "a finished run does not load itself anew"

    samples = {str(s["step"]): s["sample"] for s in steps if "sample" in s}
    shown = dict(page["samples"])
    assert shown.items() <= samples.items(), page["samples"]
    assert {min(samples, key=int), max(samples, key=int)} <= shown.keys()
    assert all(len(s) == 80 for s in samples.values()), samples
    evaluations = sum("val_loss" in s for s in steps)
    assert ["validation", str(evaluations)] in page["series"], page["series"]

    looks = [s["probe"] for s in steps if "probe" in s]
    for name in "grad", "gain", "stream", "cosine", "update", "largest":
        assert name in page["views"], page["views"]
    for look in looks:
        for i, gain in enumerate(look["gain"]):
            want = look["grad"][i] / look["grad"][i + 1]
            assert abs(gain - want) < 1e-6 * want, (i, gain, want)
    ends = [look["gain_add"][-1] * look["gain_norm"][-1] / look["gain"][-1]
            for look in looks]
    after = all(abs(ratio - 1) < 1e-6 for ratio in ends)
    assert after == ("factors" in page["views"]), (ends, page["views"])
    grads = [x for look in looks for x in look["grad"] if x]
    first = page["maps"][0]
    assert int(first["columns"]) == len(looks), first
    assert int(first["rows"]) == len(looks[0]["grad"]), first
    for end, value in ("low", min(grads)), ("high", max(grads)):
        assert abs(float(first[end]) - value) < 1e-5 * value, (first, value)


def visit(browser, url, size, scheme, picture):
    width, height = SIZES[size]
    browser.ask("Emulation.setDeviceMetricsOverride", width=width,
                height=height, deviceScaleFactor=2 if size == "phone" else 1,
                mobile=size == "phone")
    browser.ask("Emulation.setEmulatedMedia", features=[
        {"name": "prefers-color-scheme", "value": scheme}])
    browser.open(url)
    result = browser.ask("Runtime.evaluate", expression=LOOK)["result"]
    page = json.loads(result["value"])
    bad = list(complaints(browser.events))
    assert not bad, bad
    assert page["page"] <= page["window"] and not page["wide"], (
        size, page["page"], page["window"], page["wide"])
    assert not page["cut"], page["cut"]
    assert not page["over"], (size, page["over"])
    assert page["letters"] >= 10, (size, page["letters"])
    if picture:
        shot = browser.ask("Page.captureScreenshot", captureBeyondViewport=True)
        with open(picture, "wb") as f:
            f.write(base64.b64decode(shot["data"]))
    return page


def main(report, metrics, pictures=None):
    with open(metrics) as f:
        steps = [json.loads(line) for line in f]
    url = "file://" + quote(os.path.abspath(report))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            for size in SIZES:
                for scheme in "light", "dark":
                    picture = pictures and os.path.join(
                        pictures, f"{size}-{scheme}.png")
                    compare(visit(browser, url, size, scheme, picture), steps)
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
