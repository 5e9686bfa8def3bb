"""What `rewrite bench` prints: tables for people, JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from rich.table import Table

from rewrite.lower.device import Device

from ..tuning.measure import KernelTime, ProgramTime
from ..tuning.ranking import median_error, spearman
from .terminal import counted, out

WORST = 3
LABEL = 32  # characters of a kernel's label in the table
PARTS = ("launch", "bytes", "scalar", "product")


def us(seconds: float) -> str:
    """Microseconds, to a hundredth where they are few."""
    return f"{seconds * 1e6:.{2 if seconds < 1e-5 else 1}f}"


def device_line(device: Device, rounds: int) -> str:
    detail = device.probe().detail
    return f"{device.name} ({detail}), medians of {counted(rounds, 'turn')}"


def table(*columns: str, text: int = 2) -> Table:
    """Without lines; the first `text` columns are words, the others numbers.  Only the
    first gives way to a narrow terminal."""
    made = Table(box=None, pad_edge=False)
    for k, name in enumerate(columns):
        side = "left" if k < text else "right"
        made.add_column(name, justify=side, no_wrap=k > 0)
    return made


@dataclass(frozen=True, slots=True)
class Run:
    """A program: its kernels, and seconds as predicted and as measured."""

    kernels: int
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class Row:
    """A model without rules and optimized."""

    name: str
    before: Run
    after: Run


@dataclass(frozen=True, slots=True)
class Compared:
    """Models optimized beside what the search makes of them without rules."""

    device: Device
    rounds: int
    rows: tuple[Row, ...]

    def show(self) -> None:
        t = table("us", "", "kernels", "predicted", "measured", "times faster")
        for r in self.rows:
            gain = f"{r.before.measured / r.after.measured:.2f}"
            t.add_row(r.name, "no rules", *_cells(r.before))
            t.add_row("", "optimized", *_cells(r.after), gain)
        out.print(t)
        out.print(device_line(self.device, self.rounds), soft_wrap=True)

    def as_json(self) -> dict[str, object]:
        return {
            "device": self.device.name,
            "detail": self.device.probe().detail,
            "rounds": self.rounds,
            "models": [
                {
                    "file": r.name,
                    "kernels": {"before": r.before.kernels, "after": r.after.kernels},
                    "predicted_us": _us(r.before.predicted, r.after.predicted),
                    "measured_us": _us(r.before.measured, r.after.measured),
                }
                for r in self.rows
            ],
        }


def _cells(r: Run) -> tuple[str, str, str]:
    return str(r.kernels), us(r.predicted), us(r.measured)


def _us(before: float, after: float) -> dict[str, float]:
    return {"before": before * 1e6, "after": after * 1e6}


@dataclass(frozen=True)
class Predicted:
    """The kernels of programs, as predicted and as measured."""

    device: Device
    rounds: int
    programs: tuple[tuple[str, ProgramTime], ...]

    @property
    def kernels(self) -> list[KernelTime]:
        return [k for _, p in self.programs for k in p.kernels]

    @property
    def spearman(self) -> float | None:
        """Of the kernels of all programs; None where there is nothing to rank."""
        ks = self.kernels
        return spearman([k.predicted for k in ks], [k.measured for k in ks])

    @property
    def error(self) -> float | None:
        """The median of |predicted - measured| / measured; None without kernels."""
        ks = self.kernels
        if not ks:
            return None
        return median_error([k.predicted for k in ks], [k.measured for k in ks])

    @property
    def worst(self) -> list[KernelTime]:
        """The kernels that are furthest off, by their factor."""
        return sorted(self.kernels, key=_miss, reverse=True)[:WORST]

    def show(self) -> None:
        t = table("kernels, us", "family", "launches", "predicted", "measured", "ratio")
        for name, p in self.programs:
            for k in p.kernels:
                t.add_row(
                    _short(k.label), k.family, str(k.launches), us(k.predicted),
                    us(k.measured), _ratio(k.predicted, k.measured),
                )  # fmt: skip
            host = f"{p.hosted} on the host" if p.hosted else ""
            launches = str(sum(k.launches for k in p.kernels))
            t.add_row(name, host, launches, us(p.predicted), us(p.measured),
                      _ratio(p.predicted, p.measured), style="bold")  # fmt: skip
        out.print(t)
        self._show_agreement()

    def _show_agreement(self) -> None:
        rank = "none" if self.spearman is None else f"{self.spearman:.3f}"
        error = "none" if self.error is None else f"{self.error:.0%}"
        kernels = counted(len(self.kernels), "kernel")
        out.print(f"Spearman {rank}, median error {error} over {kernels}")
        for k in self.worst:
            parts = ", ".join(f"{p} {us(getattr(k.cost, p))}" for p in PARTS)
            out.print(
                f"worst: {_ratio(k.predicted, k.measured)} times as long, {k.family}, "
                f"predicted {us(k.predicted)} ({parts}), measured "
                f"{us(k.measured)}: {_short(k.label)}", soft_wrap=True,
            )  # fmt: skip
        line = device_line(self.device, self.rounds)
        out.print(f"{line}, warm caches", soft_wrap=True)

    def as_json(self) -> dict[str, object]:
        return {
            "device": self.device.name,
            "detail": self.device.probe().detail,
            "rounds": self.rounds,
            "caches": "warm",
            "spearman": self.spearman,
            "median_error": self.error,
            "models": [_program_json(name, p) for name, p in self.programs],
            "worst": [_kernel_json(k) for k in self.worst],
        }


def _miss(k: KernelTime) -> float:
    return abs(log(k.measured / k.predicted))


def _ratio(predicted: float, measured: float) -> str:
    """Measured over predicted: above 1 where it took longer."""
    if not predicted:
        return ""
    ratio = measured / predicted
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.1g}"


def _short(label: str) -> str:
    return label if len(label) <= LABEL else label[: LABEL - 3] + "..."


def _program_json(name: str, p: ProgramTime) -> dict[str, object]:
    return {
        "file": name,
        "predicted_us": p.predicted * 1e6,
        "measured_us": p.measured * 1e6,
        "kernels_measured_us": p.summed * 1e6,
        "on_host": p.hosted,
        "kernels": [_kernel_json(k) for k in p.kernels],
    }


def _kernel_json(k: KernelTime) -> dict[str, object]:
    return {
        "label": k.label,
        "family": k.family,
        "digest": k.digest,
        "launches": k.launches,
        "predicted_us": k.predicted * 1e6,
        "measured_us": k.measured * 1e6,
        "parts_us": {p: getattr(k.cost, p) * 1e6 for p in PARTS},
    }
