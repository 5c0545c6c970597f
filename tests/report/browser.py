"""A real browser under test: Chromium without a window, driven through its DevTools pipe."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Where it is, or None: `apt-get install chromium` brings it.
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
MISSING = "no chromium is installed here: apt-get install chromium"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Browser:
    """One tab. What goes wrong in the page is kept in `problems`, what it asks the network for in `requests`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.to, self.source = to_browser, from_browser
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(60)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def receive(self, timeout: float) -> dict[str, Any]:
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.source], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.source, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self.buffer += chunk
        text, _, self.buffer = self.buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self.noted(message)
        return message

    def noted(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(str(params["args"]))
            case "Log.entryAdded":
                self.problems.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def open(self, page: Path, link: str = "") -> None:
        """Load a page afresh and wait until it is drawn."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=page.as_uri() + link)
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        self.settle()

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "failed"))
        return result["result"].get("value")

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"never came true: {condition}")
            time.sleep(0.02)

    def settle(self) -> None:
        """Until the page has drawn what it was asked for."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def press(self, key: str) -> None:
        """A key, by the name of DOM's KeyboardEvent.key."""
        text = {"text": key} if len(key) == 1 else ({"text": "\r"} if key == "Enter" else {})
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)
        self.settle()

    def click(self, selector: str) -> None:
        """A real click in the middle of an element."""
        found = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        assert found is not None, f"there is no {selector}"
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=found[0], y=found[1], button="left", clickCount=1)
        self.settle()

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def size(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, file: Path, whole: bool = False) -> None:
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile, gone afterwards."""
    assert CHROMIUM is not None, MISSING
    child_in, to_browser = os.pipe()
    from_browser, child_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # Chromium reads from descriptor 3 and writes to 4.
        command = f'exec "$@" 3<&{child_in} 4>&{child_out}'
        arguments = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            ["bash", "-c", command, "bash", *arguments],
            pass_fds=(child_in, child_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_in)
        os.close(child_out)
        try:
            tab = Browser(to_browser, from_browser)
            yield tab
            tab.session = None
            with contextlib.suppress(RuntimeError, TimeoutError, OSError):
                tab.send("Browser.close")
        finally:
            os.close(to_browser)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(from_browser)
