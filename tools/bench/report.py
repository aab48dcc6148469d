"""Write the measurements as a Markdown table and as a plot."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograph.tools.bench.measure import OURS, Timing

COLUMNS = {
    "lax, straightforward": "`lax`",
    "lax, best": "best `lax`",
    "tf.function": "`tf.function`",
    "tf.function, XLA": "`tf.function`, XLA",
    "catalyst": "Catalyst",
    "numba": "numba",
    "jax, not compiled": "JAX, not compiled",
}
_ERRORS = {"tensorflow": ("tf.function", "tf.function, XLA"), "eager": ("jax, not compiled",)}

Results = dict[str, list[Timing]]


def markdown(results: Results, about: dict[str, str], heading: str) -> str:
    """A table of ratios to ours, and the reasons where there are none."""
    present = {timing.version for timings in results.values() for timing in timings}
    expanded = {name for version in present for name in _ERRORS.get(version, (version,))}
    columns = {version: title for version, title in COLUMNS.items() if version in expanded}
    lines = [heading, "", "| workload | autograph | " + " | ".join(columns.values()) + " |"]
    lines.append("| --- | ---: |" + " ---: |" * len(columns))
    notes: list[str] = []
    for name, timings in results.items():
        by_version = {
            version: timing for timing in timings for version in _ERRORS.get(timing.version, (timing.version,))
        }
        ours = by_version.get(OURS)
        cells = [_cell(by_version.get(version), ours, notes, name) for version in columns]
        notes += [
            f"- {name}, autograph: {by_version[own].error}"
            for own in (OURS, "jax")
            if own in by_version and by_version[own].error
        ]
        own = "failed" if ours is None or ours.error or not ours.seconds else _duration(ours.median)
        lines.append(f"| {name} | {own} | " + " | ".join(cells) + " |")
    lines += ["", "Workloads:", "", *(f"- **{name}**: {about[name]}" for name in results)]
    if notes:
        lines += ["", "Not measured:", "", *notes]
    return "\n".join(lines) + "\n"


def heading(versions: dict[str, str], command: str) -> str:
    """When, where and with what."""
    cores = os.cpu_count()
    return (
        f"Measured on {datetime.date.today()}, {cores}-core {platform.machine()} machine, Python "
        f"{platform.python_version()}, {', '.join(f'{name} {version}' for name, version in versions.items())}, "
        f"with `{command}`."
    )


def plot(results: Results, path: Path) -> None:
    """Each workload a row, each version a dot: how many times as long as ours, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(results)
    figure, axes = pyplot.subplots(figsize=(7.5, 0.36 * len(names) + 1.4), layout="constrained")
    for marker, (version, title) in zip("osD^vPX", COLUMNS.items(), strict=True):
        points = [(r, k) for k, name in enumerate(names) if (r := _ratio(results[name], version)) is not None]
        if points:
            axes.plot(*zip(*points, strict=True), marker, label=title.replace("`", ""), markersize=5, alpha=0.85)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("time as a multiple of autograph's (right of the line: slower)")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def as_json(results: Results) -> dict[str, Any]:
    """All that was measured."""
    return {name: {timing.version: vars(timing) for timing in timings} for name, timings in results.items()}


def _ratio(timings: Sequence[Timing], version: str) -> float | None:
    by_version = {timing.version: timing for timing in timings}
    ours, other = by_version.get(OURS), by_version.get(version)
    if ours is None or other is None or not ours.seconds or not other.seconds or other.error:
        return None
    return other.ratio(ours)[0]


def _cell(timing: Timing | None, ours: Timing | None, notes: list[str], name: str) -> str:
    if timing is None:
        return ""
    if timing.error is not None or not timing.seconds:
        notes.append(f"- {name}, {timing.version}: {timing.error}")
        return "–"
    if ours is None or not ours.seconds:
        return _duration(timing.median)
    middle, low, high = timing.ratio(ours)
    spread = "" if low == high else f" ({_number(low)} to {_number(high)})"
    return f"**{_number(middle)}**{spread}"


def _number(ratio: float) -> str:
    if ratio < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def _duration(seconds: float) -> str:
    for scale, unit in [(1, "s"), (1e-3, "ms"), (1e-6, "µs")]:
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
