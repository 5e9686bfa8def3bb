"""What `torch.compile` passes on, as options of rewrite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rewrite.core.options import Asked, Options, check_options

MODES = {
    None: 2, "default": 2, "reduce-overhead": 2, "max-autotune-no-cudagraphs": 3,
    "max-autotune": 3,
}  # fmt: skip
OWN = ("device", "strict", "freeze")


def known() -> list[str]:
    """The options there are: those of rewrite, and the backend's own."""
    return sorted({*Asked.__optional_keys__, *OWN} - {"fallback", "hints"})


@dataclass(frozen=True)
class Settings:
    """The device, how graphs are optimized, and whether errors are shown."""

    device: Any
    options: Options
    strict: bool
    freeze: bool = False  # whether parameters are built in

    @staticmethod
    def of(mode: str | None = None, options: Mapping[str, Any] | None = None,
           **others: Any) -> Settings:  # fmt: skip
        """An option that there is not is an error, which names those there are."""
        if others:
            raise TypeError(f"backend 'rewrite' takes mode and options, found "
                            f"{', '.join(sorted(others))}")  # fmt: skip
        if mode not in MODES:
            modes = ", ".join(repr(m) for m in MODES if m)
            raise ValueError(f"mode={mode!r}: {modes} expected")
        given = dict(options or {})
        unknown = sorted(given.keys() - known())
        if unknown:
            raise ValueError(
                f"options: no {', '.join(unknown)}; known: {', '.join(known())}"
            )
        device = given.pop("device", None)
        strict, freeze = (bool(given.pop(k, False)) for k in ("strict", "freeze"))
        given = {"effort": MODES[mode], **given, "fallback": False}
        made = Options.of(**cast(Any, given))
        check_options(made)
        return Settings(device, made, strict, freeze)
