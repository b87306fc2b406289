"""A headless Chromium that tests drive: Chrome's DevTools protocol through a pipe, so that nothing
but the browser itself is needed."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


#: The browser reads commands from descriptor 3 and answers to 4.
_WITH_PIPES: Final = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
    "os.execv(sys.argv[3], sys.argv[3:])"
)


class BrowserError(Exception):
    """The browser ended, or refuses a command."""


def path() -> str | None:
    """Where a Chromium is; null if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One tab."""

    def __init__(self, program: str, folder: str) -> None:
        from_us, self._commands = os.pipe()
        answers, to_us = os.pipe()
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (from_us, to_us)]
        self._answers = os.fdopen(answers, "rb")
        words = [sys.executable, "-c", _WITH_PIPES, *map(str, given), program, *_FLAGS]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [*words, f"--user-data-dir={folder}"],
            pass_fds=given, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True,
        )  # fmt: skip
        for end in (from_us, to_us, *given):
            os.close(end)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self._go("about:blank")  # no load of an empty tab is taken for a page's

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """A command's result."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._answers.read1(1 << 20)
            if not more:
                raise BrowserError("the browser ended")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def open(
        self,
        page: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        mark: str = "",
    ) -> None:
        """Load a page and wait until it is drawn."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        if mark:  # going to a mark of the same page would load nothing
            self._go("about:blank")
        self._go(page.as_uri() + mark)
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def _go(self, address: str) -> None:
        self.events.clear()
        self.ask("Page.navigate", url=address)
        self.wait_for("Page.loadEventFired")

    def wait_for(self, event: str) -> None:
        """Until an event comes, or has come since the page was asked for."""
        while not any(one.get("method") == event for one in self.events):
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise's value when it is there."""
        told = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in told:
            raise BrowserError(f"{script}: {json.dumps(told['exceptionDetails'])[:500]}")
        return told["result"].get("value")

    def picture(self, *, whole: bool = False) -> bytes:
        """What is seen, as PNG."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    def paper(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])

    def problems(self) -> list[str]:
        """What the console says of errors, and scripts that failed."""
        found = []
        for event in self.events:
            told = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(told["exceptionDetails"].get("exception", {}).get("description")))
            elif event.get("method") == "Log.entryAdded":
                found.append(told["entry"]["text"])
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(f"console.{told['type']}")
        return found

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """End the browser that this one started."""
        os.close(self._commands)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._answers.close()


@contextlib.contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A Chromium with a fresh profile, ended with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        one = Browser(program, folder)
        try:
            yield one
        finally:
            one.close()
