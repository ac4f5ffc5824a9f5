"""The numbers of the Dashboard's drawings: where bars, lines and boxes stand. Pure; the templates write the SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from median_site.dashboard.figures import Day

HEIGHT: Final = 120
COLUMN: Final = 40
WIDE: Final = 300
# How much of the drawing's width the longest whisker may take.
INSET: Final = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A day's column: its left edge, and for each part its class, upper edge and height."""

    day: Day
    x: int
    parts: list[tuple[str, float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns, and the scale beside them: the values of its lines from the top, each with its height."""

    bars: list[Bar]
    scale: list[tuple[int, float]]
    width: int


def chart(days: Sequence[Day]) -> Chart:
    """Stacked columns; the scale ends at a round number that is a multiple of its lines' distance."""
    step = _step(max((day.total for day in days), default=0))
    top = step * max(1, -(-max((day.total for day in days), default=0) // step))
    bars = [Bar(day, number * COLUMN, _parts(day, top)) for number, day in enumerate(days)]
    scale = [(value, HEIGHT - value * HEIGHT / top) for value in range(top, -1, -step)]
    return Chart(bars, scale, COLUMN * len(days))


def box(spread: Sequence[timedelta]) -> list[float]:
    """Where 10, 25, 50, 75 and 90 in 100 stand between 0 and WIDE. The scale is by the square root of the time, so that
    minutes can still be told apart beside a night."""
    longest = max(spread[-1].total_seconds(), 1) ** 0.5
    return [round(INSET + (each.total_seconds() ** 0.5 / longest) * (WIDE - 2 * INSET), 1) for each in spread]


def duration(length: timedelta) -> tuple[str, str]:
    """A time as a number and its unit, rounded as people say it: 40 s, 6 min, 3.5 h."""
    seconds = length.total_seconds()
    if seconds < 90:
        return f"{seconds:.0f}", "s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f}", "min"
    return f"{seconds / 3600:.1f}".removesuffix(".0"), "h"


def _parts(day: Day, top: int) -> list[tuple[str, float, float]]:
    parts, y = [], float(HEIGHT)
    for name, count in (("approved", day.approved), ("denied", day.denied), ("expired", day.expired)):
        height = count * HEIGHT / top
        y -= height
        if count:
            parts.append((f"c-{name}", round(y, 2), round(height, 2)))
    return parts


def _step(most: int) -> int:
    """The distance of the lines: 1, 2 or 5 times a power of ten, for at most four of them."""
    step, factors = 1, (2, 2.5, 2)
    turn = 0
    while step * 4 < most:
        step = int(step * factors[turn % 3])
        turn += 1
    return step
