"""Wherever a batch runs, byte for byte the same comes of it; a cluster of two workers is started here."""

import json
import subprocess
import sys

import pytest

from tests.app import toys

FILES = ("summary.parquet", "summary.json", "report.html")


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    """A folder of two scenarios, one with a sweep."""
    path = tmp_path_factory.mktemp("agree") / "scenarios"
    path.mkdir()
    (path / "a.yaml").write_text(f"{toys.SMALL}sweep: {{workload.arrivals.rate_per_s: [2, 3, 4]}}\n")
    (path / "b.yaml").write_text(toys.SMALL.replace("name: small", "name: other"))
    return path


def written(scenarios, out, *where):
    """Every file that is to be the same, of a run of the folder in a process of its own."""
    command = [sys.executable, "-m", "app", "run", scenarios, "--out", scenarios.parent / out, *where]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folders = sorted((scenarios.parent / out).glob("*-*"))
    points = [json.loads(file.read_bytes())["result"] for folder in folders for file in sorted(folder.glob("points/*"))]
    return (
        [folder.name for folder in folders],
        points,
        [(folder / name).read_bytes() for folder in folders for name in FILES],
    )


@pytest.fixture(scope="module")
def serial(scenarios):
    return written(scenarios, "serial", "--executor", "serial")


@pytest.mark.slow
def test_two_processes_come_to_the_same_as_one(scenarios, serial):
    assert written(scenarios, "process", "--jobs", "2") == serial


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_comes_to_the_same(scenarios, serial):
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")

    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        where = cluster.scheduler_address.replace("tcp://", "dask://")
        assert written(scenarios, "dask", "--executor", where) == serial
