"""Numbers as a planner reads them: sensible digits, a unit, and a dash for what is not known."""

import math
from collections.abc import Callable, Sequence

ABSENT = "–"
NO_DIFFERENCE = 5e-4
"""Relative difference below which there is none to show."""
LOPSIDED = 1.25
"""Ratio of the sides of an interval from which both are shown."""

Formatter = Callable[[float | None], str]


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; those before the decimal point are never dropped.

    >>> significant(12345.6), significant(9.996), significant(0.01234), significant(None)
    ('12,346', '10.0', '0.0123', '–')
    """
    if value is None or math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    if exponent < -6:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def count(value: float | None) -> str:
    """A whole number with thousands apart.

    >>> count(12345)
    '12,345'
    """
    return ABSENT if value is None or not math.isfinite(value) else f"{round(value):,}"


def duration(seconds: float | None) -> str:
    """A time in the unit that suits it.

    >>> duration(0.0123), duration(1.5), duration(0.99996), duration(4000.0)
    ('12.3 ms', '1.50 s', '1.00 s', '66.7 min')
    """
    if seconds is None or not math.isfinite(seconds):
        return significant(seconds)
    size = abs(float(f"{seconds:.2e}"))
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (120.0, 1.0, "s"), (7200.0, 1 / 60, "min")):
        if size < limit:
            return f"{significant(seconds * factor)} {unit}"
    return f"{significant(seconds / 3600)} h"


def limit(seconds: float) -> str:
    """A time as a limit is said: no digit more than it has.

    >>> limit(1.0), limit(0.03), limit(1.25)
    ('1 s', '30 ms', '1.25 s')
    """
    return f"{seconds * 1e3:.6g} ms" if seconds < 1 else f"{seconds:.6g} s"


def usd(value: float | None) -> str:
    """Dollars: cents from one dollar on, whole dollars from 1,000 on, three digits below one.

    >>> usd(3.5), usd(0.04567), usd(1234.5), usd(None)
    ('$3.50', '$0.0457', '$1,234', '–')
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if value < 0:
        return f"-{usd(-value)}"
    if value >= 1000:
        return f"${value:,.0f}"
    return f"${value:.2f}" if value >= 0.9995 or value == 0 else f"${significant(value)}"


def percent(fraction: float | None) -> str:
    """A fraction in percent; the closer to all or nothing, the more digits.

    >>> percent(0.853), percent(0.012), percent(0.9964), percent(0.99996), percent(1.0), percent(0.0)
    ('85 %', '1.2 %', '99.6 %', '99.99 %', '100 %', '0 %')
    """
    if fraction is None or not math.isfinite(fraction):
        return ABSENT
    if 0.99 < fraction < 1:
        digits = 1 if fraction < 0.999 else 2
        return f"{math.floor(fraction * 100 * 10**digits) / 10**digits:.{digits}f} %"
    return f"{fraction * 100:.{1 if 0 < abs(fraction) < 0.0995 else 0}f} %"


def signed(fraction: float | None) -> str:
    """A fraction in percent with its sign.

    >>> signed(-0.0132), signed(0.104), signed(-1e-9), signed(None)
    ('-1.3 %', '+10 %', '0 %', '–')
    """
    if fraction is not None and abs(fraction) < NO_DIFFERENCE:
        return percent(0.0)
    return f"+{percent(fraction)}" if fraction is not None and fraction > 0 else percent(fraction)


def gigabytes(num_bytes: float | None) -> str:
    """Bytes in GB of 10^9.

    >>> gigabytes(70.6e9), gigabytes(0)
    ('70.6 GB', '0 GB')
    """
    return ABSENT if num_bytes is None else f"{num_bytes / 1e9:,.1f} GB" if num_bytes else "0 GB"


def gib(num_bytes: float | None) -> str:
    """Bytes in GiB, as engines print them.

    >>> gib(2**30)
    '1.00 GiB'
    """
    return ABSENT if num_bytes is None else f"{num_bytes / 2**30:,.2f} GiB"


def context(tokens: int) -> str:
    """A context length as it is said.

    >>> context(131072), context(1500)
    ('128K', '1,500')
    """
    return f"{tokens // 1024}K" if tokens % 1024 == 0 else f"{tokens:,}"


def times(ratio: float | None) -> str:
    """A ratio.

    >>> times(1.324)
    '1.32×'
    """
    return ABSENT if ratio is None else f"{significant(ratio)}×"


def plus_minus(value: float | None, interval: Sequence[float] | None, show: Formatter = significant) -> str:
    """A figure with half the width of its interval, where it has one; with both sides, where they are not alike.

    >>> plus_minus(12.31, [11.9, 12.7]), plus_minus(12.31, None), plus_minus(10.0, [8.0, 14.0])
    ('12.3 ±0.40', '12.3', '10.0 −2.0/+4.0')
    >>> plus_minus(0.35, [0.35, 0.35 + 6e-17])
    '0.350'
    """
    text = show(value)
    if value is None or not interval or not all(math.isfinite(end) for end in interval):
        return text
    below, above = value - interval[0], interval[1] - value
    if max(below, above) <= abs(value) * 1e-9:
        return text
    if not LOPSIDED * below >= above >= below / LOPSIDED:
        return f"{text} −{significant(below, 2)}/+{significant(above, 2)}"
    half = (interval[1] - interval[0]) / 2
    return f"{text} ±{significant(half, 2)}"


def low_high(interval: Sequence[float] | None, show: Formatter = significant) -> str:
    """The ends of an interval; empty without one.

    >>> low_high([1.25, 1.39])
    '1.25–1.39'
    """
    return "" if not interval else f"{show(interval[0])}–{show(interval[1])}"


def plural(number: int, noun: str) -> str:
    """A counted noun.

    >>> plural(1, "replica"), plural(3, "replica"), plural(2, "engine policy")
    ('1 replica', '3 replicas', '2 engine policies')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("cy") else f"{number:,} {noun}s"


def cut(text: str, most: int) -> str:
    """A text of one line and at most so many characters.

    >>> cut("one two three", 8)
    'one two…'
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1].rstrip()}…"
