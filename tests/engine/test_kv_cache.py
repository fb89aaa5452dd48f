"""Blocks: never lost, never handed out twice."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.kv_cache import BlockPool, BlockTable, KvStore
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
