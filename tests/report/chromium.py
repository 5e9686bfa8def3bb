"""A headless browser, spoken to over a pipe in the DevTools protocol."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--window-size=1600,900", "--no-first-run",
)  # fmt: skip


def executable() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page; what it requests and complains of is kept."""

    def __init__(self, folder: Path) -> None:
        path = executable()
        assert path is not None
        to_it, ours = os.pipe()
        mine, from_it = os.pipe()
        self.out, self.into = os.fdopen(ours, "wb"), os.fdopen(mine, "rb")
        flags = [*FLAGS, f"--user-data-dir={folder}"]
        # The protocol is on descriptors 3 (to it) and 4 (from it).
        script = (
            f"import os; os.dup2({to_it}, 103); os.dup2({from_it}, 104);"
            "os.dup2(103, 3); os.dup2(104, 4);"
            f"os.execv({path!r}, {[path, *flags]!r})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", script], pass_fds=(to_it, from_it),
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_it)
        os.close(from_it)
        self.number, self.session = 0, ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.events: list[str] = []

    def __enter__(self) -> Self:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.process.kill()
        self.process.wait()
        self.out.close()
        self.into.close()

    def open(self, page: Path) -> None:
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        while "Page.loadEventFired" not in self.events:
            self._read()

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        got = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name)

    def click(self, selector: str) -> None:
        """A click of the mouse on the middle of an element."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'nearest'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + Math.min(b.height / 2, 8)]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1],
                     button="left", clickCount=1)  # fmt: skip

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        self.out.flush()
        while True:
            found = self._read()
            if found.get("id") == self.number:
                assert "error" not in found, found["error"]
                return found["result"]

    def _read(self) -> dict[str, Any]:
        """The next message; an event is noted."""
        data = bytearray()
        while (byte := self.into.read(1)) != b"\0":
            assert byte, "the browser is gone"
            data += byte
        found: dict[str, Any] = json.loads(data)
        method, params = found.get("method", ""), found.get("params", {})
        self.events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(params["args"]))
        return found
