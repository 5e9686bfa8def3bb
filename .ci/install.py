"""`pip install ARGUMENTS` by uv, which unpacks 5 GB in a fifth of pip's time.

uv does not read the configuration of pip: its indexes, folders, constraints and
certificate are handed on.  Where uv cannot be had or fails, pip installs.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")

# Settings of pip beside the variables of uv that say the same.
NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def settings() -> dict[str, str]:
    """What pip is told, each name by the strongest place that tells it."""
    told = subprocess.run(
        [*PIP, "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    strength = ("global.", "install.", ":env:.")
    found: dict[str, tuple[int, str]] = {}
    for line in told.splitlines():
        key, _, value = line.partition("=")
        for at, start in enumerate(strength):
            name = key.removeprefix(start)
            if name != key and at >= found.get(name, (0, ""))[0]:
                found[name] = at, str(ast.literal_eval(value))
    return {name: value for name, (_, value) in found.items()}


def by_uv(arguments: list[str]) -> bool:
    if subprocess.run([*PIP, "install", "-q", "uv"]).returncode:
        return False
    told = settings()
    env = {NAMES[k]: " ".join(v.split()) for k, v in told.items() if k in NAMES}
    if "UV_FIND_LINKS" in env:  # the one list that commas part
        env["UV_FIND_LINKS"] = env["UV_FIND_LINKS"].replace(" ", ",")
    # As pip does: the best version of all indexes, and no second copy on the disk.
    env |= {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_CACHE": "1"}
    command = [sys.executable, "-m", "uv", "pip", "install", "-q"]
    command += ["--python", sys.executable, *arguments]
    for file in told.get("constraint", "").split():
        command += ["-c", file]
    return subprocess.run(command, env=os.environ | env).returncode == 0


def main(arguments: list[str]) -> int:
    if by_uv(arguments):
        return 0
    print("uv did not install everything: pip goes on", flush=True)
    return subprocess.run([*PIP, "install", "-q", *arguments]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
