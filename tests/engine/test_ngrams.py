"""Tables of n-grams: what they propose, how they score, their files."""

import pytest

from engine.drafters.ngram import NgramDraft
from engine.errors import DraftError
from engine.ngrams import read_table, table_of, write_table
from engine.trees import DynamicTree, tree_of_widths

TEXT = [1, 2, 3, 1, 2, 4, 1, 2, 3, 5]


@pytest.fixture
def table():
    return table_of([TEXT], vocab_size=9, name="toy")


def test_what_followed_most_often_comes_first_and_shorter_contexts_fill_up(table):
    assert [token for token, _ in table.candidates([9, 1, 2], 4)] == [3, 4]
    assert table.candidates([1, 2, 3], 2) == [(1, 0.5), (5, 0.5)]
    assert table.candidates([8, 8], 2) == []


def test_a_shorter_context_is_worth_less(table):
    assert dict(table.candidates([7, 7, 3], 2)) == pytest.approx({1: 0.4**2 * 0.5, 5: 0.4**2 * 0.5})


def test_texts_do_not_run_into_each_other():
    assert table_of([[1, 2], [3, 4]], vocab_size=9).candidates([2], 1) == []


def test_only_the_most_frequent_contexts_and_followers_are_kept():
    table = table_of([TEXT], vocab_size=9, contexts=3, followers=1)

    assert list(table.followers) == [(), (1,), (2,)]
    assert table.followers[(2,)] == ((3, 2),)
    assert table.totals[(2,)] == 3


def test_a_text_like_the_tables_own_is_likelier(table):
    assert table.log_likelihood([1, 2, 3]) > table.log_likelihood([3, 2, 1]) > table.log_likelihood([8, 8, 8])


def test_a_table_comes_back_from_its_file(table, tmp_path):
    write_table(table, tmp_path / "deep" / "toy.json")

    assert read_table(tmp_path / "deep" / "toy.json") == table


@pytest.mark.parametrize(
    ("text", "message"), [("{", "not an n-gram table"), ('{"format": "x"}', "of format"), ("[]", "of format")]
)
def test_another_file_is_told(text, message, tmp_path):
    (tmp_path / "x.json").write_text(text)

    with pytest.raises(DraftError, match=message):
        read_table(tmp_path / "x.json")


def test_a_missing_file_an_empty_text_and_a_long_order_are_told(tmp_path):
    with pytest.raises(DraftError, match="No such file"):
        read_table(tmp_path / "none.json")
    with pytest.raises(DraftError, match="the text is empty"):
        table_of([[]], vocab_size=9)
    with pytest.raises(DraftError, match="order 4"):
        table_of([TEXT], vocab_size=9, order=4)


def test_a_chain_follows_the_table_and_ends_where_it_knows_nothing(table):
    draft = NgramDraft(table, None)._grown([1, 2], 3)

    assert (draft.tokens, draft.parents) == ([3, 1, 2], None)
    assert NgramDraft(table, None)._grown([8], 3).tokens == []
    assert NgramDraft(table, None)._grown([1, 2, 4], 0).tokens == []


def test_a_tree_takes_the_best_followers_of_each_node(table):
    fixed = NgramDraft(table, tree_of_widths([2, 2]))._grown([1, 2], 6)
    dynamic = NgramDraft(table, DynamicTree(depth=2, top_k=2, nodes=3))._grown([1, 2], 3)

    assert (fixed.tokens, fixed.parents) == ([3, 4, 1, 5, 1], [-1, -1, 0, 0, 1])
    assert (dynamic.tokens, dynamic.parents) == ([3, 4, 1], [-1, -1, 0])
