"""Drives headless Chromium by its DevTools protocol, over a pipe.

https://chromedevtools.github.io/devtools-protocol/ describes the methods.
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
from collections.abc import Callable


class Failure(Exception):
    """What the page did wrong."""


def expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise Failure(what)


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One process of Chromium with a profile of its own."""

    def __init__(self, program: str):
        self._folder = tempfile.mkdtemp(prefix="reveza-chromium-")
        to_read, self._writer = os.pipe()
        self._reader, to_write = os.pipe()
        # Chromium reads its descriptor 3 and writes to 4. Not every sh knows descriptors of two digits.
        script = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={self._folder}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self._unread = b""
        self._next = 1
        self.events: list[dict] = []

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._writer)  # which ends Chromium
        os.close(self._reader)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        # Its helpers may still write into the profile.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        for _ in range(50):
            shutil.rmtree(self._folder, ignore_errors=True)
            if not pathlib.Path(self._folder).exists():
                return
            time.sleep(0.1)

    def _read(self, timeout: float) -> dict | None:
        until = time.monotonic() + timeout
        while b"\0" not in self._unread:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._reader], [], [], left)[0]:
                return None
            part = os.read(self._reader, 1 << 20)
            if not part:
                raise Failure("Chromium has ended")
            self._unread += part
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, session: str = "", timeout: float = 60, **parameters: object) -> dict:
        number = self._next
        self._next += 1
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while (answer := self._read(timeout)) is not None:
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error'].get('message')}")
                return answer.get("result", {})
            self.events.append(answer)
        raise Failure(f"{method}: Chromium did not answer within {timeout} s")

    def await_event(self, method: str, where: Callable[[dict], bool] = lambda parameters: True,
                    timeout: float = 60) -> dict:
        """Returns the parameters of the first such event, which is then forgotten."""
        while True:
            for event in self.events:
                if event.get("method") == method and where(event["params"]):
                    self.events.remove(event)
                    return event["params"]
            event = self._read(timeout)
            expect(event is not None, f"no {method} within {timeout} s")
            self.events.append(event)

    def page(self, url: str, width: int = 1200, height: int = 900, mobile: bool = False,
             dark: bool = False) -> "Page":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, target, session, url, width, height, mobile, dark)


class Page:
    def __init__(self, browser: Browser, target: str, session: str, url: str, width: int, height: int,
                 mobile: bool, dark: bool):
        self._browser = browser
        self._target = target
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        if mobile:
            self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)

    def call(self, method: str, **parameters: object) -> dict:
        return self._browser.call(method, self._session, **parameters)

    def run(self, script: str) -> object:
        """Returns the value of a JavaScript expression; awaits a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
                           userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(f"{script[:80]}: {details.get('exception', {}).get('description', details)}")
        return answer["result"].get("value")

    def wait(self, script: str, what: str = "", seconds: float = 60) -> object:
        """Waits until an expression is true. Returns its value."""
        until = time.monotonic() + seconds
        while True:
            try:
                if value := self.run(script):
                    return value
            except Failure as failure:
                if "context" not in str(failure) and "TypeError" not in str(failure):
                    raise
            if time.monotonic() > until:
                raise Failure(f"not within {seconds} s: {what or script}")
            time.sleep(0.1)

    def wait_for(self, is_so: Callable[[], bool], what: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not is_so():
            expect(time.monotonic() < until, f"not within {seconds} s: {what}")
            time.sleep(0.1)

    def key(self, key: str, code: int = 0, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def picture(self, file: pathlib.Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))

    def events(self, method: str) -> list[dict]:
        """Returns the events of this page with that name so far."""
        self.run("1")  # reads what has arrived
        return [event["params"] for event in self._browser.events
                if event.get("method") == method and event.get("sessionId") == self._session]

    def complaints(self) -> list[str]:
        """Returns errors of scripts, and what the browser logged as an error or a violation."""
        found = [event["exceptionDetails"].get("exception", {}).get("description", "exception")
                 for event in self.events("Runtime.exceptionThrown")]
        found += [f"{event['entry']['text']} {event['entry'].get('url', '')}"
                  for event in self.events("Log.entryAdded") if event["entry"]["level"] == "error"]
        found += [str(event["args"]) for event in self.events("Runtime.consoleAPICalled")
                  if event["type"] in ("error", "assert")]
        return found

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)
