"""A headless Chromium, driven over its DevTools protocol: messages as JSON, ended by a zero byte, on a pipe.

with Browser() as browser:
    page = browser.open(path, width=390)
    page.value("document.title"); page.errors; page.requests; page.picture(path)
"""

import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

SECONDS_MAX = 60
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
)


def executable():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One process with a profile of its own; answers are waited for at most SECONDS_MAX."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="browser-of-tests-")
        self.buffer, self.last, self.told = b"", 0, []
        for_it, self.write_end = os.pipe()
        self.read_end, from_it = os.pipe()

        def as_three_and_four():
            # The two ends may lie on 3 and 4 themselves: first out of the way, then there.
            one, two = os.dup(for_it), os.dup(from_it)
            os.dup2(one, 3)
            os.dup2(two, 4)

        self.process = subprocess.Popen(
            [executable(), *OPTIONS, f"--user-data-dir={self.profile}", "about:blank"],
            close_fds=False,
            preexec_fn=as_three_and_four,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(for_it)
        os.close(from_it)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.write_end)
        os.close(self.read_end)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        asked = self.last
        while True:
            answer = self.next()
            if answer.get("id") == asked:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def next(self, end=None):
        """The next message; those that no question was asked for are kept in `told`."""
        end = end or time.monotonic() + SECONDS_MAX
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.read_end], [], [], left)[0]
            assert ready, f"the browser said nothing for {SECONDS_MAX} s"
            data = os.read(self.read_end, 1 << 20)
            assert data, "the browser ended"
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.told.append(message)
        return message

    def open(self, path, width=1280, height=900, dark=False, script=True):
        return Page(self, pathlib.Path(path), width, height, dark, script)


class Page:
    """A page that was loaded. `errors`: what went wrong in it; `requests`: the addresses it asked for."""

    def __init__(self, browser, path, width, height, dark, script):
        self.browser, self.width = browser, width
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media="", features=[scheme])
        if not script:
            self.ask("Emulation.setScriptExecutionDisabled", value=True)
        browser.told.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(message["method"] == "Page.loadEventFired" for message in browser.told):
            browser.next()
        self.told = list(browser.told)

    def ask(self, method, **parameters):
        return self.browser.ask(method, session=self.session, **parameters)

    def value(self, expression):
        told = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    @property
    def errors(self):
        found = []
        for message in self.told + self.browser.told:
            parameters = message["params"]
            if message["method"] == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["text"])
            elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] in (
                "error",
                "warning",
            ):
                found.append(str(parameters["args"]))
        return found

    @property
    def requests(self):
        return [
            message["params"]["request"]["url"]
            for message in self.told
            if message["method"] == "Network.requestWillBeSent"
        ]

    def press(self, x, y):
        """The pointer goes there."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path, whole=True):
        data = self.ask(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self.clip(whole)
        )
        pathlib.Path(path).write_bytes(base64.b64decode(data["data"]))

    def clip(self, whole):
        if not whole:
            return {}
        height = self.value("document.documentElement.scrollHeight")
        return {"clip": {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}}
