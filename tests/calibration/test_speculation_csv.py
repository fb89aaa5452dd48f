"""Reading measured speed-ups: told apart from serving rows by their columns, and every mistake with its line."""

import math

import pytest

from calibration.speculation_csv import is_speculation, read_speculation
from simulator.errors import ScenarioError
from tests.calibration.speculating import CHAIN, LOOKUP, written


def test_the_columns_tell_speed_ups_from_serving(tmp_path):
    serving = tmp_path / "serving.csv"
    serving.write_text("engine,gpu,model,load,tp,isl,osl,ttft_ms\n", encoding="utf-8")

    assert is_speculation(written(tmp_path, CHAIN))
    assert not is_speculation(serving)


def test_what_a_row_leaves_out_is_not_a_number(tmp_path):
    first, second = read_speculation(written(tmp_path, CHAIN, LOOKUP))

    assert (first.id, first.line, first.accept_len, first.base_tokens_per_s) == ("chain", 2, 3.4, 190.0)
    assert math.isnan(second.accept_len)
    assert math.isnan(second.base_tokens_per_s)


def test_a_length_without_the_bonus_token_has_it_added(tmp_path):
    (row,) = read_speculation(written(tmp_path, CHAIN.replace(",3.4,1,2.3", ",2.4,0,2.3")))

    assert row.accept_len == pytest.approx(3.4)


def test_a_speed_up_follows_from_two_rates(tmp_path):
    (row,) = read_speculation(written(tmp_path, CHAIN.replace(",2.3,190,", ",,190,")))

    assert row.speedup == pytest.approx(437 / 190)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (",3.4,1,", ",3.4,,", "accept_len_incl_bonus: empty, and the accepted length is 3.4"),
        (",3.4,1,", ",3.4,2,", "accept_len_incl_bonus: '2' is neither 0 nor 1"),
        (",3.4,1,", ",0.4,1,", "mean_accept_len: 0.4 with the bonus token counted"),
        ("H200", "", "gpu: empty"),
        (",5,1,3.4", ",5.5,1,3.4", "draft_len: '5.5' is not a whole number"),
        (",2.3,", ",-2.3,", "speedup: '-2.3' is not above 0"),
    ],
)
def test_a_mistake_names_its_line_and_what_is_wrong(tmp_path, old, new, says):
    with pytest.raises(ScenarioError, match=f"mine.csv:3: {says}"):
        read_speculation(written(tmp_path, LOOKUP, CHAIN.replace(old, new)))


def test_an_unknown_column_lists_the_known_ones(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("gpu,target,method,speed\n", encoding="utf-8")

    with pytest.raises(ScenarioError, match="unknown column 'speed'; known columns: row_id, gpu"):
        read_speculation(path)
