"""Points in two blocks, taken up again where an interrupt left them."""

import json

import pytest

from calibration.check.campaign import in_order, kept_plan, points_of, predicted_saturation, run_points
from calibration.check.compare import by_point
from calibration.check.run import load
from simulator.errors import ScenarioError
from tests.calibration.check.toys import GRID, Tiny, predictor, tiny_points


class Killed(Tiny):
    """Dies at a point, as kill -9 would let it: nothing is written after it."""

    def __init__(self, after=None):
        super().__init__()
        self.left, self.driven = after, []

    def requests(self, point):
        if self.left is not None and len(self.driven) > self.left:
            raise KeyboardInterrupt
        self.driven.append(point)
        return super().requests(point)


def run_all(folder, driven, force=False):
    told = []
    runs = run_points(
        folder,
        tiny_points(),
        driven,
        lambda point: 1.0,
        dict,
        lambda: 1.0,
        lambda done, of: told.append((done, of)),
        force=force,
    )
    return runs, told


def test_every_point_is_run_twice_in_two_orders():
    points = points_of("tiny", GRID, 100.0, seed=1)

    order = in_order(points, seed=1)

    first, second = order[: len(points)], order[len(points) :]
    assert [p.repeat for p in order] == [0] * len(points) + [1] * len(points)
    assert {p.key for p in first} == {p.key for p in second} == {p.key for p in points}
    assert [p.key for p in first] != [p.key for p in second]
    assert order == in_order(points, seed=1)


def test_rates_are_shares_of_the_saturation_and_the_same_for_every_k():
    rates = {(p.load_key, p.draft_tokens): p.rate_per_s for p in points_of("tiny", GRID, 100.0, seed=1)}

    assert rates["tiny-poisson-0.3", 0] == rates["tiny-poisson-0.3", 2] == 30.0
    assert rates["tiny-clients-2", 0] is None


def test_the_saturation_is_predicted_from_the_requests_themselves():
    assert predicted_saturation(predictor(), "tiny", Tiny(), seed=1) > 0.0


def test_a_check_that_was_killed_goes_on_where_it_stopped(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path, Killed(after=4))
    finished = sorted((tmp_path / "runs").iterdir())
    (tmp_path / "runs" / ".half.json.1.tmp").write_text('{"point": {')
    taken_up = Killed()

    runs, told = run_all(tmp_path, taken_up)

    assert 0 < len(finished) < len(runs)
    assert len(taken_up.driven) == len(runs) - len(finished) + 1  # the first to warm up
    assert told[-1][0] == told[-1][1]
    assert len(by_point(map(load, (tmp_path / "runs").glob("*.json")))) == len(runs) / 2


def test_a_finished_check_runs_nothing_again_unless_forced(tmp_path):
    first, _ = run_all(tmp_path, Tiny())
    idle, forced = Killed(), Killed()

    again, _ = run_all(tmp_path, idle)
    run_all(tmp_path, forced, force=True)

    assert again == first
    assert idle.driven == []
    assert len(forced.driven) == len(first) + 1


def test_a_plan_is_kept_with_its_rates(tmp_path):
    points = points_of("tiny", GRID, 100.0, seed=1)
    kept_plan(tmp_path, {"seed": 1}, lambda: points, force=False)

    assert kept_plan(tmp_path, {"seed": 1}, lambda: pytest.fail("planned anew"), force=False) == points
    assert json.loads((tmp_path / "plan.json").read_text())["wanted"] == {"seed": 1}


def test_the_folder_of_another_check_is_refused_unless_forced(tmp_path):
    points = points_of("tiny", GRID, 100.0, seed=1)
    kept_plan(tmp_path, {"seed": 1}, lambda: points, force=False)

    with pytest.raises(ScenarioError, match=r"holds a check with other settings.*--out.*--force"):
        kept_plan(tmp_path, {"seed": 2}, lambda: points, force=False)
    assert kept_plan(tmp_path, {"seed": 2}, lambda: points[:1], force=True) == points[:1]
