"""Blocks: never lost, never handed out twice."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.kv_cache import BlockPool, BlockTable, KvStore, Room
from tests.engine.toys import TINY


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), max_size=40))
def test_blocks_are_conserved(moves):
    pool, tables = BlockPool(20, 4), [BlockTable() for _ in range(5)]
    for index, tokens in moves:
        if tokens == 0:
            pool.release(tables[index])
        elif pool.missing(tables[index], tokens) <= pool.free:
            pool.extend(tables[index], tokens)
        held = [block for table in tables for block in table.blocks]
        assert len(held) == len(set(held)) == pool.used
        assert all(t.contiguous == (t.blocks == list(range(t.blocks[0], t.blocks[0] + len(t.blocks))))
                   for t in tables if t.blocks)  # fmt: skip
    for table in tables:
        pool.release(table)
    pool.check_idle()


def test_a_lost_block_is_noticed_when_idle():
    pool, table = BlockPool(4, 4), BlockTable()
    pool.extend(table, 5)

    with pytest.raises(AssertionError, match="KV blocks were lost"):
        pool.check_idle()


def test_a_table_grows_only_by_what_it_lacks():
    pool, table = BlockPool(4, 4), BlockTable()
    pool.extend(table, 4)

    assert (pool.missing(table, 4), pool.missing(table, 5), pool.used) == (0, 1, 1)


def test_a_store_has_the_bytes_that_the_architecture_says():
    store = KvStore(TINY, 7, 4, torch.float32)

    assert store.num_bytes == (7 + 1) * 4 * TINY.kv_bytes_per_token(4)


@given(st.lists(st.lists(st.integers(0, 31), min_size=1, max_size=40), min_size=1, max_size=5))
def test_what_is_gathered_is_what_lies_in_the_slots(wanted):
    keys, values, room = torch.randn(32, 2, 3), torch.randn(32, 2, 3), Room()
    for slots in wanted:
        found = room.gathered(keys, values, torch.tensor(slots))
        assert torch.equal(found[0], keys[slots])
        assert torch.equal(found[1], values[slots])


def test_it_is_gathered_in_the_same_memory_at_every_step():
    keys, values, room = torch.randn(32, 2, 3), torch.randn(32, 2, 3), Room()
    first = [tensor.data_ptr() for tensor in room.gathered(keys, values, torch.arange(20))]

    for count in (3, 20, 7):
        assert [tensor.data_ptr() for tensor in room.gathered(keys, values, torch.arange(count))] == first


def test_planes_of_another_shape_or_format_are_gathered_too():
    room, slots = Room(), torch.tensor([3, 1])
    for shape, dtype in (((8, 2, 4), torch.float32), ((8, 1, 4), torch.float32), ((8, 1, 4), torch.float64)):
        plane = torch.randn(shape, dtype=dtype)
        assert torch.equal(room.gathered(plane, plane, slots)[0], plane[[3, 1]])
