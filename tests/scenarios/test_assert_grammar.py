"""The grammar of `assert` lines, fuzzed: what it makes is read as arithmetic reads it, all else is refused."""

import math
import operator

from hypothesis import given
from hypothesis import strategies as st

from scenarios.asserts import COMPARISONS, MAX_LENGTH, check_asserts, parse_assert
from simulator.errors import ScenarioError

VALUES = {
    "plain": {"req_per_s": 4.0, "num_gpus": 2, "saturated": False, "ttft_s": {"p95": 0.8, "mean": 0.3}},
    "spec-1.5": {"req_per_s": 5.5, "num_gpus": 4, "saturated": True, "ttft_s": {"p95": 0.4, "mean": 0.2}},
}
ROWS = [{"deployment": name, "point": "base", "replication": "all", **fields} for name, fields in VALUES.items()]
RESULTS = {
    f"{name}.{field}.{statistic}" if statistic else f"{name}.{field}": float(number)
    for name, fields in VALUES.items()
    for field, value in fields.items()
    for statistic, number in (value.items() if isinstance(value, dict) else [("", value)])
}
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": math.isclose}

spaces = st.sampled_from(["", " ", "  ", "\t"])
numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.floats(-1e6, 1e6).map("{:.3e}".format),
    st.sampled_from(["+1", ".5", "1.", "true", "false"]),
)
meant = {"true": 1.0, "false": 0.0}


def value_of(number: str) -> float:
    return meant[number] if number in meant else float(number)


@st.composite
def sides(draw: st.DrawFn, with_result: bool) -> tuple[str, float]:
    """A side as text, and its value."""
    between = draw(spaces) + "*" + draw(spaces)
    number = draw(numbers)
    if not with_result:
        return number, value_of(number)
    result = draw(st.sampled_from(sorted(RESULTS)))
    factors = draw(st.sampled_from([[result], [result, number], [number, result]]))
    return between.join(factors), math.prod(RESULTS.get(f, 0.0) if f in RESULTS else value_of(f) for f in factors)


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, bool]:
    """A line, and whether it holds."""
    first = draw(st.booleans())
    left, right = draw(sides(with_result=first)), draw(sides(with_result=not first or draw(st.booleans())))
    sign = draw(st.sampled_from(sorted(OPERATORS)))
    text = "".join([draw(spaces), left[0], draw(spaces), sign, draw(spaces), right[0], draw(spaces)])
    return text, OPERATORS[sign](left[1], right[1])


@given(lines())
def test_a_line_of_the_grammar_means_what_it_says(made):
    line, holds = made

    assert check_asserts([line], ROWS)[0].ok == holds


@given(lines(), st.integers(0, 200), st.characters(), st.booleans())
def test_a_line_with_a_mistake_is_read_or_refused_and_nothing_else(made, place, sign, replace):
    text = made[0]
    place %= len(text) + 1
    broken = text[:place] + sign + text[place + replace :]

    try:
        parsed = parse_assert(broken, list(VALUES))
    except ScenarioError:
        return

    assert parsed.operator in COMPARISONS
    assert parsed.left.deployment or parsed.right.deployment


@given(st.text(max_size=MAX_LENGTH + 20))
def test_any_text_is_read_or_refused(line):
    try:
        parsed = parse_assert(line, list(VALUES))
    except ScenarioError:
        return

    assert parsed.left.deployment or parsed.right.deployment


@given(st.sampled_from(["__import__('os').x", "plain.__class__", "plain.req_per_s()", "(plain.req_per_s)", "1e999"]))
def test_nothing_of_a_language_is_understood(side):
    for line in (f"{side} < 3", f"plain.req_per_s < {side}"):
        try:
            parse_assert(line, list(VALUES))
        except ScenarioError:
            continue
        raise AssertionError(f"read: {line}")
