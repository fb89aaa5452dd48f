"""The folder of a plan: found again by what it follows from, and its answers run as they stand."""

import json

import pyarrow.parquet
import pytest
import yaml

from scenarios.load import load_scenario
from scenarios.plan_file import load_plan
from scenarios.plan_store import find_plan, plan_folder, prepare_plan, write_plan
from scenarios.store import RunFolder
from simulator.errors import ScenarioError
from tests.app import plan_toys
from tests.app.plan_toys import CHEAP, OTHER


def small(*sets):
    return load_plan("small.yaml", sets, text=plan_toys.SMALL)


@pytest.fixture
def written(tmp_path):
    """The folder of a plan that has been answered."""
    loaded = small()
    folder = plan_folder(tmp_path, loaded)
    prepare_plan(folder, loaded)
    write_plan(folder, loaded, plan_toys.answer())
    return folder


def test_a_plan_folder_holds_the_question_the_answer_and_files_to_run(written):
    files = {str(file.relative_to(written.path)) for file in written.path.rglob("*") if file.is_file()}

    assert written.path.name.startswith("plan-small-")
    assert files == {
        "plan.yaml",
        "candidates.parquet",
        "choice.yaml",
        f"pareto/{CHEAP}.yaml",
        f"pareto/{OTHER}.yaml",
        "plan.json",
    }


def test_an_answer_is_found_again(written):
    assert find_plan(written) == plan_toys.answer()


def test_an_answer_that_has_lost_a_file_is_not_found(written):
    (written.path / "choice.yaml").unlink()

    assert find_plan(written) is None


def test_an_answer_to_another_question_whose_folder_is_called_alike_is_not_found(written):
    alike = RunFolder(written.out, "plan-small", written.digest[:8] + "0" * 8)

    assert alike.path == written.path
    assert find_plan(alike) is None


def test_a_plan_that_was_not_finished_is_not_found(tmp_path):
    folder = plan_folder(tmp_path, small())

    prepare_plan(folder, small())

    assert find_plan(folder) is None


@pytest.mark.parametrize(
    "change", ["seed=8", "plan.headroom=0.1", "plan.vary.engine.max_num_seqs=[8]", "slo.ttft_s.p95=2"]
)
def test_another_question_is_another_folder(tmp_path, change):
    assert plan_folder(tmp_path, small(change)).path != plan_folder(tmp_path, small()).path


def test_the_same_question_is_the_same_folder(tmp_path):
    assert plan_folder(tmp_path, small("description=else")).path == plan_folder(tmp_path, small()).path


def test_the_question_loads_to_the_same_candidates(written):
    again = load_plan(written.path / "plan.yaml")

    assert again.scenario == small().scenario
    assert again.plan == small().plan


def test_the_choice_stands_beside_its_runner_up_with_replicas_and_spares(written):
    loaded = load_scenario(written.path / "choice.yaml")

    deployments = loaded.points[0].scenario.deployments
    assert list(deployments) == [CHEAP, OTHER]
    assert {spec.replicas for spec in deployments.values()} == {3}
    assert deployments[OTHER].gpu == "b200-sxm"
    assert loaded.asserts == (f"{CHEAP}.holds_slo == true",)


def test_every_point_of_the_pareto_set_is_a_scenario(written):
    for name in (CHEAP, OTHER):
        scenario = load_scenario(written.path / "pareto" / f"{name}.yaml").points[0].scenario

        assert list(scenario.deployments) == [name]
        assert scenario.workload == small().scenario.workload


def test_users_become_the_rate_that_they_bring_to_the_choice(tmp_path):
    loaded = small("plan.users={count: 100, think_s: 20}")
    folder = plan_folder(tmp_path, loaded)
    points = [plan_toys.point(CHEAP, offered_req_per_s=4.75), plan_toys.point(OTHER, offered_req_per_s=4.5)]

    write_plan(folder, loaded, plan_toys.answer(points=points))

    assert yaml.safe_load((folder.path / "choice.yaml").read_text())["workload"]["arrivals"]["rate_per_s"] == 4.75


def test_a_plan_without_an_answer_leaves_no_choice_to_run(tmp_path):
    folder = plan_folder(tmp_path, small())

    write_plan(folder, small(), plan_toys.nothing())

    assert not (folder.path / "choice.yaml").exists()
    assert json.loads((folder.path / "plan.json").read_text())["choice"] is None


def test_the_candidates_are_a_table(written):
    table = pyarrow.parquet.read_table(written.path / "candidates.parquet")

    assert table.num_rows == 4
    assert {"name", "usd_per_hour", "ttft_s.p95", "why_not"} <= set(table.column_names)


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "runs").write_text("")

    with pytest.raises(ScenarioError, match="cannot be written"):
        prepare_plan(plan_folder(tmp_path / "runs", small()), small())
