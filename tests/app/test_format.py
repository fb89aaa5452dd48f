import re

from hypothesis import given
from hypothesis import strategies as st

from app import format as shown

numbers = st.floats(min_value=1e-5, max_value=1e12)


def read(text: str) -> float:
    return float(re.sub(r"[^0-9.eE+-]", "", text))


@given(numbers)
def test_a_number_keeps_three_significant_digits(value):
    text = shown.significant(value)

    assert abs(read(text) - value) <= 0.0051 * value


@given(numbers)
def test_no_number_is_longer_than_a_column(value):
    assert len(shown.significant(value)) <= 17


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_time_has_its_unit(seconds):
    number, unit = shown.duration(seconds).split(" ")
    factor = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}[unit]

    assert abs(read(number) * factor - seconds) <= 0.0051 * seconds


@given(st.floats(min_value=0, max_value=1))
def test_only_all_is_a_hundred_percent(fraction):
    text = shown.percent(fraction)

    assert (text == "100 %") == (fraction == 1)
    assert abs(read(text) - 100 * fraction) <= 0.51


@given(st.floats(min_value=0.001, max_value=1e7))
def test_dollars_are_right_to_a_cent_or_half_a_percent(value):
    text = shown.usd(value)

    assert text.startswith("$")
    assert abs(read(text) - value) <= max(0.0051, 0.0051 * value)


@given(st.sampled_from([shown.significant, shown.duration, shown.usd, shown.percent, shown.count]))
def test_what_is_not_known_is_a_dash(show):
    assert show(None) == show(float("nan")) == shown.ABSENT


def test_a_negative_amount_keeps_its_sign():
    assert (shown.usd(-2.5), shown.significant(-1234.0)) == ("-$2.50", "-1,234")


def test_an_endless_number_is_not_a_crash():
    assert (shown.significant(float("inf")), shown.duration(float("inf"))) == ("∞", "∞")


def test_a_mean_without_an_interval_stands_alone():
    assert shown.plus_minus(3.0, None) == shown.plus_minus(3.0, [3.0, 3.0]) == "3.00"


def test_an_interval_with_a_gap_in_it_is_left_out():
    assert shown.plus_minus(3.0, [float("nan"), 4.0]) == "3.00"


def test_a_long_text_is_cut_at_its_end():
    assert shown.cut("a  b\nc", 10) == "a b c"
    assert len(shown.cut("x" * 100, 20)) == 20
