from concurrent.futures import ThreadPoolExecutor

from simulator.planning.tasks import Meter, run_all


def square(number: int) -> int:
    return number * number


def test_findings_come_in_the_order_of_the_tasks_wherever_they_run():
    with ThreadPoolExecutor(3) as pool:
        found = run_all(square, range(20), pool)

    assert found == run_all(square, range(20), None) == [number * number for number in range(20)]


def test_every_task_is_told_when_it_is_done():
    told: list[int] = []

    run_all(square, [3, 4], None, told.append)

    assert told == [3, 4]


def test_a_meter_never_shows_more_done_than_there_is():
    seen: list[tuple[int, int]] = []
    meter = Meter(lambda done, total: seen.append((done, total)), 2)

    meter.did(3)
    meter.expect(4)
    meter.did(4)

    assert seen == [(0, 2), (3, 3), (3, 7), (7, 7)]
