"""A batch that is killed at any moment goes on where it was, and comes to what it would have come to."""

import json
import random
import signal
import subprocess
import sys

import pytest

from tests.app import toys

KILLS = 20
POINTS = 20
TABLES = ("summary.json", "summary.parquet")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    file = tmp_path_factory.mktemp("kill") / "sweep.yaml"
    rates = [round(2 + step / 10, 1) for step in range(POINTS)]
    file.write_text(f"{toys.SMALL}sweep: {{workload.arrivals.rate_per_s: {rates}}}\n")
    return file


def start(sweep, out, *options):
    where = ["--out", sweep.parent / out, "--jobs", "2", "--quiet"]
    command = [sys.executable, "-m", "app", "run", sweep, *where, *options]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def tables(sweep, out):
    (folder,) = (sweep.parent / out).iterdir()
    return [(folder / name).read_bytes() for name in TABLES]


@pytest.mark.slow
def test_a_batch_that_is_killed_twenty_times_has_every_point_once(sweep):
    moments = random.Random(7)
    for _ in range(KILLS):
        batch = start(sweep, "killed")
        try:
            batch.wait(moments.uniform(0.5, 3.5))
        except subprocess.TimeoutExpired:
            batch.send_signal(signal.SIGKILL)
        batch.communicate()

    last, whole = start(sweep, "killed"), start(sweep, "whole")
    assert (last.communicate()[1], whole.communicate()[1]) == (b"", b"")

    (folder,) = (sweep.parent / "killed").iterdir()
    points = sorted(folder.glob("points/*.json"))
    assert len(points) == POINTS
    assert [json.loads(file.read_bytes())["hash"] for file in points] == [file.stem for file in points]
    assert json.loads((folder / "manifest.json").read_bytes())["complete"] is True
    assert tables(sweep, "killed") == tables(sweep, "whole")


@pytest.mark.slow
def test_two_batches_in_one_store_at_once_come_to_the_same(sweep):
    few = ("--set", "sweep={workload.arrivals.rate_per_s: [2, 3, 4, 5]}")

    first, second = start(sweep, "both", *few), start(sweep, "both", *few)

    assert (first.communicate()[1], second.communicate()[1]) == (b"", b"")
    (folder,) = (sweep.parent / "both").iterdir()
    assert len(list(folder.glob("points/*"))) == 4
    assert json.loads((folder / "manifest.json").read_bytes())["complete"] is True


@pytest.mark.slow
def test_a_disk_that_takes_no_more_is_told_and_no_half_is_left(sweep):
    code = (
        "import resource, signal, sys\n"
        "from app.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))\n"
        "sys.argv[1:] = ['run', *sys.argv[1:]]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(sweep), "--out", str(sweep.parent / "full"), "--jobs", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "cannot be written: File too large; name another folder with --out" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((sweep.parent / "full").rglob("*.tmp")) == []
