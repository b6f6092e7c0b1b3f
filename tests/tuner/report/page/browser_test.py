#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens pages of `gemm-tune report` in a headless Chromium without a network, and looks at them.

usage: browser_test.py PROGRAM MAKER [FOLDER]
  PROGRAM: gemm-tune. MAKER: make_report_database. FOLDER: where screenshots are kept, of each page wide and narrow,
  light and dark, and as printed

Each kind of database that MAKER knows gets a page. Demanded of each: below 2 MB, the same bytes from a second call, no
request, no message on the console, no script but the page's own, nothing wider than the window; canvases that are
drawn or a sentence in their place; a tooltip under the mouse; the texts that the page has to show. Exit code 77: there
is no Chromium.
"""
import base64
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

MOST_BYTES = 2_000_000
WIDE, NARROW = (1280, 900), (375, 800)


class Browser:
    """Chromium by its own protocol, over pipes: commands as JSON, ended by a zero byte."""

    def __init__(self, folder):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if chromium is None:
            print("browser_test.py: no Chromium is on the PATH: install the package chromium")
            sys.exit(77)
        # Above the descriptors that the shell's redirections name.
        (to_browser, self.commands), (self.replies, from_browser) = (
            [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in os.pipe()] for _ in range(2))
        # It reads commands from descriptor 3 and writes to descriptor 4.
        start = f"exec {chromium} \"$@\" 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-"
        self.process = subprocess.Popen(
            ["bash", "-c", start, "chromium", "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
             "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.pending, self.number, self.events, self.session = b"", 0, [], None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def send(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def receive(self):
        while b"\0" not in self.pending:
            part = os.read(self.replies, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.pending += part
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def open(self, path):
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())
        self.settle()

    def settle(self):
        """Until two frames are drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def value(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def look(self, size, scheme):
        self.send("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=size == NARROW)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def point_at(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def choose(self, select, value):
        self.value(f"""(() => {{ const select = document.getElementById({json.dumps(select)});
            select.value = {json.dumps(value)};
            select.dispatchEvent(new Event('change')); }})()""")
        self.settle()

    def keep(self, path):
        width, height = self.value("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1}
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def printed(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def complaints(self):
        """Messages, exceptions and requests since the page was opened, but for the page's own."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                found.append(json.dumps(parameters)[:500])
            if method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith("file:"):
                found.append(parameters["request"]["url"][:200])
        return found

    def end(self):
        """With its children, which would write into the profile while it is removed."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


# Of each figure: whether it is shown, the variance of its canvas's brightness, its sentence.
FIGURES = """[...document.querySelectorAll('figure')].map((figure) => {
  const canvas = figure.querySelector('canvas');
  const sentence = figure.querySelector('.missing');
  const box = figure.querySelector('.canvas, .map, .bars');
  let variance = null;
  if (canvas && !box.hidden && canvas.width > 0) {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0, squares = 0;
    for (let i = 0; i < data.length; i += 4) {
      const value = data[i + 3] / 255 * (256 - (data[i] + data[i + 1] + data[i + 2]) / 3);
      sum += value;
      squares += value * value;
    }
    const count = data.length / 4;
    variance = squares / count - (sum / count) ** 2;
  }
  return {id: figure.id, visible: figure.getClientRects().length > 0, drawn: !box.hidden, variance,
          children: canvas ? null : box.children.length, sentence: sentence.hidden ? '' : sentence.textContent};
})"""

failures = []


def demand(condition, text):
    if not condition:
        failures.append(text)
        print(f"FAILED: {text}", flush=True)


def check_figures(name, browser):
    figures = {figure["id"]: figure for figure in browser.value(FIGURES) if figure["visible"]}
    for figure in figures.values():
        about = f"{name}: {figure['id']}"
        demand(figure["drawn"] != bool(figure["sentence"]), f"{about} is drawn, or a sentence says why not: {figure}")
        if figure["drawn"] and figure["variance"] is not None:
            demand(figure["variance"] > 5, f"{about}: the canvas is not blank: {figure['variance']}")
        elif figure["drawn"]:
            demand(figure["children"] and figure["children"] > 0, f"{about} has content")
    return figures


def check_fit(name, browser):
    wide = browser.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    demand(wide[0] <= wide[1], f"{name}: nothing is wider than the window: {wide}")


# Of a chart's data, the middle of one drawn element in the window.
ELEMENT = """(() => {{
  const canvas = document.querySelector('#{id} canvas');
  canvas.scrollIntoView({{block: 'center'}});
  const chart = Chart.getChart(canvas);
  const element = chart.getDatasetMeta({dataset}).data[{index}];
  const {{x, y}} = element.getCenterPoint ? element.getCenterPoint() : element;
  const at = canvas.getBoundingClientRect();
  return [at.left + x, at.top + y];
}})()"""


def check_tooltip(name, browser, figure, dataset=0, index=0):
    browser.point_at(1, 1)
    browser.point_at(*browser.value(ELEMENT.format(id=figure, dataset=dataset, index=index)))
    shown = browser.value(f"""(() => {{ const {{tooltip}} = Chart.getChart(document.querySelector('#{figure} canvas'));
        return tooltip && tooltip.opacity > 0 ? [...tooltip.title, ...tooltip.body.flatMap((one) => one.lines)].join('; ') : ''; }})()""")
    demand(shown != "", f"{name}: {figure} has a tooltip under the mouse")
    return shown


def check_cell_tooltip(name, browser, selector, text):
    at = browser.value(f"""(() => {{ const cell = document.querySelector({json.dumps(selector)});
        cell.scrollIntoView({{block: 'center'}});
        const at = cell.getBoundingClientRect();
        return [at.left + at.width / 2, at.top + at.height / 2]; }})()""")
    browser.point_at(*at)
    shown = browser.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    demand(text in shown, f"{name}: {selector} has a tooltip with '{text}': '{shown}'")


def check_table(name, browser, figure, least):
    """What the figure draws, as a table once that is opened: at least so many rows. Returns its first row."""
    rows = browser.value(f"""(async () => {{ const details = document.querySelector('#{figure} details');
        details.open = true;
        await new Promise((done) => setTimeout(done, 0));
        const rows = [...details.querySelectorAll('tr')].map((row) => [...row.children].map((cell) => cell.textContent));
        details.open = false;
        return rows; }})()""")
    demand(len(rows) > least, f"{name}: {figure} has a table of at least {least} rows: {len(rows) - 1}")
    demand(len({len(row) for row in rows}) == 1, f"{name}: the rows of {figure}'s table have a cell for each column")
    return rows[1] if len(rows) > 1 else []


def text_of(browser):
    return browser.value("document.body.innerText")


def look_everywhere(name, browser, folder):
    for scheme in ("light", "dark"):
        for words, size in (("wide", WIDE), ("narrow", NARROW)):
            browser.look(size, scheme)
            check_fit(f"{name}, {words}, {scheme}", browser)
            check_figures(f"{name}, {words}, {scheme}", browser)
            if folder:
                browser.keep(folder / f"{name}_{words}_{scheme}.png")
    browser.look(WIDE, "dark")
    pdf = browser.printed()
    sheets = len(re.findall(rb"/Type\s*/Page\b", pdf))
    demand(1 <= sheets <= 25, f"{name}: a few sheets are printed: {sheets}")
    if folder:
        (folder / f"{name}.pdf").write_bytes(pdf)
    demand(browser.value("document.documentElement.className") == "", f"{name}: the page is as before it was printed")
    browser.look(WIDE, "light")


def of_sweeps(browser):
    text = text_of(browser)
    for expected in ("NVIDIA H100 80GB HBM3 (sm_90, 132 SMs)", "23 problems", "geometric mean", "66.9 TFLOP/s of fp32",
                     "registers spill to local memory", "η² ="):
        demand(expected in text, f"sweeps: the page says '{expected}'")
    figures = browser.value("document.getElementById('speedup-figures').innerText")
    demand("1.16" in figures or "1.17" in figures, f"sweeps: the geometric mean is the README's: {figures}")
    demand("1\nslower" in figures, f"sweeps: one problem is slower: {figures}")
    bars = browser.value("""(() => { const {data} = Chart.getChart(document.querySelector('#speedup canvas'));
        return [data.labels, data.datasets[0].data, data.datasets[0].backgroundColor]; })()""")
    demand(bars[0][-1] == "1x4096x4096" and bars[1][-1] < 0, "sweeps: the loss is the last bar")
    demand(bars[2][-1] != bars[2][0], "sweeps: a loss has another colour")
    demand("1x4096x4096" in check_tooltip("sweeps", browser, "speedup", index=22), "sweeps: a bar's tooltip names its problem")
    check_tooltip("sweeps", browser, "roofline")
    check_tooltip("sweeps", browser, "search")
    demand("TFLOP/s" in check_tooltip("sweeps", browser, "scatter", index=5), "sweeps: a point's tooltip has its rate")
    check_tooltip("sweeps", browser, "shares")
    for figure, least in (("speedup", 23), ("roofline", 46), ("search", 3), ("scatter", 100), ("tiles", 10), ("thread_tiles", 5),
                          ("outcomes", 5), ("shares", 5)):
        check_table("sweeps", browser, figure, least)
    demand(check_table("sweeps", browser, "speedup", 23)[0] == "256x256x256", "sweeps: the table's first row is the greatest speed-up")
    check_cell_tooltip("sweeps", browser, "#tiles .cell.best", "the best of all")
    check_cell_tooltip("sweeps", browser, "#outcomes .bar", "Tried:")
    # Every choice of every select, each without a complaint.
    for select in ("beside", "operands", "search-axis", "parameter", "problem"):
        values = browser.value(f"[...document.querySelectorAll('#{select} option')].map((option) => option.value)")
        first = browser.value(f"document.getElementById('{select}').value")
        demand(len(values) >= 2, f"sweeps: {select} has choices")
        for value in values:
            browser.choose(select, value)
            check_figures(f"sweeps, {select} {value}", browser)
        browser.choose(select, first)


def of_types(browser):
    text = text_of(browser)
    demand("66.9 TFLOP/s of fp32 and 1,071 TFLOP/s of the tensor cores" in text, "types: the roofline has two roofs")
    bars = browser.value("Chart.getChart(document.querySelector('#speedup canvas')).options.plugins.barLabels.texts")
    demand("−61.1 %" in bars and "2\nslower" in text, f"types: losses have a sign, and are counted: {bars}")


def of_one(browser):
    text = text_of(browser)
    demand("Only one config has a time: 50.0 µs." in text, "one: the scatter says that there is one config")
    demand("too few to tell parameters apart" in text, "one: the importance says that there are too few configs")
    demand("The peak rates of NVIDIA H100 PCIe are unknown" in text, "one: the roofline says that the card is unknown")


def of_none(browser):
    demand("there is nothing to draw" in text_of(browser), "none: the page says that there is nothing")
    demand(not browser.value("document.querySelector('main').getClientRects().length"), "none: no figure is shown")


def of_predicted(browser):
    text = text_of(browser)
    for expected in ("nothing was timed", "Nothing was timed: the database holds predictions", "predicted, not timed",
                     "Compiled, time predicted"):
        demand(expected in text, f"predicted: the page says '{expected}'")
    figures = check_figures("predicted", browser)
    for figure in ("roofline", "search", "scatter", "tiles"):
        demand(figures[figure]["drawn"], f"predicted: {figure} draws the static model's times")
    labels = browser.value("Chart.getChart(document.querySelector('#roofline canvas')).data.datasets.map((one) => one.label)")
    demand(labels[0] == "Winners, predicted", f"predicted: the roofline says so: {labels}")


def of_hostile(browser):
    demand(browser.value("window.hostile") is None, "hostile: no text of the database ran")
    demand(browser.value("document.querySelectorAll('img').length") == 0, "hostile: no text became an element")
    demand(browser.value("document.querySelectorAll('script').length") == 3, "hostile: no text became a script")
    expected = "</script><script>window.hostile=1</script>"
    demand(expected in text_of(browser), f"hostile: the page shows '{expected}'")
    demand("<img onerror>" not in text_of(browser), "hostile: a config that no kernel has is left out")


def of_large(browser):
    text = text_of(browser)
    demand("100,000 results for 200 problems on 2 devices" in text, "large: the page counts the rows")
    demand(re.search(r"\d+ of 500 configs are drawn", text), "large: the page says which times are left out")
    columns = browser.value("Chart.getChart(document.querySelector('#speedup canvas')).data.datasets[0].data")
    demand(100 < len(columns) < 200 and columns == sorted(columns, reverse=True), "large: each problem has a column, sorted")
    check_tooltip("large", browser, "speedup", index=3)
    check_table("large", browser, "speedup", 100)
    browser.choose("beside", "1")
    check_figures("large, beside the other device", browser)
    browser.choose("beside", "better")
    browser.choose("device", "1")
    check_figures("large, the other device", browser)


def of_many(browser):
    demand("1,000 of 3,000 problems are shown" in text_of(browser), "many: the page says which problems are left out")


KINDS = {"sweeps": of_sweeps, "types": of_types, "one": of_one, "none": of_none, "predicted": of_predicted, "hostile": of_hostile,
         "large": of_large, "many": of_many}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    program, maker = sys.argv[1:3]
    folder = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) == 4 else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:  # the last of the killed may still be writing
        scratch = pathlib.Path(scratch)
        browser = Browser(scratch)
        for kind, act in KINDS.items():
            database, page, again = scratch / f"{kind}.db", scratch / f"{kind}.html", scratch / "again.html"
            subprocess.run([maker, kind, database], check=True)
            subprocess.run([program, "report", "--db", database, "-o", page], check=True)
            subprocess.run([program, "report", "--db", database, "-o", again], check=True)
            demand(page.read_bytes() == again.read_bytes(), f"{kind}: two calls write the same page")
            demand(page.stat().st_size < MOST_BYTES, f"{kind}: the page is below 2 MB: {page.stat().st_size}")
            print(f"{kind}: {page.stat().st_size:,} bytes", flush=True)
            browser.look(WIDE, "light")
            browser.open(page)
            act(browser)
            look_everywhere(kind, browser, folder)
            complaints = browser.complaints()
            demand(not complaints, f"{kind}: no message, exception or request: {complaints}")
        browser.end()
    if failures:
        sys.exit(f"{len(failures)} demands are not met")


if __name__ == "__main__":
    main()
