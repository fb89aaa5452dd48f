"""Trees, several drafts, tables and policies from the command line; on a tiny model from a folder."""

import json

import pytest

from engine.ngrams import table_of, write_table
from tests.engine.test_commands import SMALL, called


def generated(capsys, folder, *flags):
    return called(
        capsys, "generate", "--model", str(folder), "--prompt", "abcabd", "--max-tokens", "20", *flags, *SMALL
    )


@pytest.fixture
def tables(tmp_path):
    """Two n-gram tables of texts in twelve letters."""
    files = []
    for name, text in (("rising", "abcdefghijkl" * 9), ("falling", "lkjihgfedcba" * 9)):
        (tmp_path / f"{name}.txt").write_text(text)
        files.append(str(tmp_path / f"{name}.txt"))
    return files


SHAPES = [["--tree", "3,2,1"], ["--nodes", "0,1,0.0,0.1"], ["--dynamic-tree", "3,3,6"]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", ["0", "1"])
def test_generate_takes_trees(capsys, folder, shape, temperature):
    code, out, _ = generated(
        capsys, folder, "--draft", "noisy_target", "--json", "--temperature", temperature, "--with-replacement", *shape
    )

    report = json.loads(out)
    assert (code, report["identical"], report["lossless"]) == (0, True if temperature == "0" else None, True)
    assert report["draft_tokens"] == {"--tree": 15, "--nodes": 4, "--dynamic-tree": 6}[shape[0]]
    assert report["tokens_per_step"] > 1.0


def test_generate_takes_a_union_of_look_up_and_tables(capsys, folder, tables):
    of = ["--of", "lookup", "--of", "ngram", "--ngram", tables[0], "--ngram", tables[1]]

    code, out, _ = generated(capsys, folder, "--draft", "union", "--draft-tokens", "3", "--json", *of)

    report = json.loads(out)
    assert (code, report["identical"], report["draft_tokens"]) == (0, True, 9)


@pytest.mark.parametrize("router", ["likelihood", "recent"])
def test_generate_says_which_draft_a_router_took(capsys, folder, tables, router):
    flags = ["--draft", "ngram", "--ngram", tables[0], "--ngram", tables[1], "--router", router]

    code, out, _ = generated(capsys, folder, *flags)

    assert code == 0
    assert "steps drafted by ngram rising" in out
    assert "token for token" in out


@pytest.mark.parametrize("policy", [["fixed"], ["goodput"], ["by_batch", "--by-batch", "[[1, 1, 2], [2, 16, 1]]"]])
def test_generate_takes_a_policy(capsys, folder, policy):
    code, out, _ = generated(capsys, folder, "--draft", "noisy_target", "--json", "--policy", *policy)

    report = json.loads(out)
    assert (code, report["identical"]) == (0, True)
    assert len(report["survival"]) == (2 if policy[0] == "by_batch" else 5)


def test_lossy_output_says_so(capsys, folder, tmp_path):
    flags = ["--draft", "noisy_target", "--temperature", "1", "--lossy-typical", "0.09,0.3"]
    (tmp_path / "trace.csv").write_text("arrival_s,prompt_tokens,output_tokens\n0,10,5\n")
    trace = ["serve-trace", str(tmp_path / "trace.csv"), "--text", "random", "--model", str(folder)]

    one, served = generated(capsys, folder, *flags), called(capsys, *trace, *flags, *SMALL)

    assert (one[0], served[0]) == (0, 0)
    assert "LOSSY" in one[1]
    assert "LOSSY" in served[1]


def test_a_table_is_counted_kept_and_drafted_from(capsys, folder, tables, tmp_path):
    table = str(tmp_path / "t" / "rising.json")
    counted = called(capsys, "ngrams", tables[0], "--out", table, "--own-tokens", "8", "--model", str(folder), *SMALL)

    code, out, _ = generated(capsys, folder, "--draft", "ngram", "--ngram", table)

    assert (counted[0], code) == (0, 0)
    assert "contexts kept" in counted[1]
    assert "token for token" in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--draft", "union"], "name its drafts"),
        (["--draft", "union", "--of", "luck"], "--of luck: known: "),
        (["--of", "lookup"], "only --draft union"),
        (["--draft", "ngram"], "no table was given"),
        (["--ngram", "code"], "no draft takes a table"),
        (["--draft", "ngram", "--ngram", "nowhere"], "neither a domain (code, prose, math, dialogue) nor a text"),
        (["--draft", "ngram", "--ngram", "nowhere.json"], "nowhere.json: No such file"),
        (["--router", "recent"], "there is one draft"),
        (["--tree", "2,2"], "--draft lookup proposes chains; a tree takes: "),
        (["--draft", "noisy_target", "--tree", "2,x"], "--tree 2,x: children of the root"),
        (["--draft", "noisy_target", "--tree", "2,0"], "a width of 1 or more"),
        (["--draft", "noisy_target", "--dynamic-tree", "2,2"], "--dynamic-tree 2,2: depth, top_k and nodes"),
        (["--draft", "noisy_target", "--dynamic-tree", "2,2,9"], "they take from 2 to 6 nodes"),
        (["--draft", "noisy_target", "--tree", "2", "--nodes", "0"], "one shape at a time"),
        (["--draft", "noisy_target", "--tree", "2", "--policy", "goodput"], "goodput ranks the positions of chains"),
        (["--policy", "by_batch"], "[[from, to, K], …] is needed"),
        (["--policy", "per_request"], "draft tokens are needed, rising"),
        (["--candidates", "0,1"], "--policy fixed has none"),
        (["--by-batch", "[[1, 4, 2]]"], "--policy fixed takes no ranges"),
        (["--policy", "by_batch", "--by-batch", "[[4, 1, 2]]"], "needs 1 ≤ from ≤ to"),
        (["--lossy-typical", "0.1,0.3"], "no effect on greedy output"),
        (["--lossy-typical", "much"], "epsilon and delta"),
    ],
)
def test_drafts_that_cannot_be_put_together_are_told(capsys, folder, flags, message):
    code, _, err = generated(capsys, folder, *flags)

    assert (code, message in err) == (2, True), err


def test_two_tables_need_a_router_or_a_union(capsys, folder, tables):
    code, _, err = generated(capsys, folder, "--draft", "ngram", "--ngram", tables[0], "--ngram", tables[1])

    assert (code, "--router" in err) == (2, True)


def test_a_table_of_another_model_is_told(capsys, folder, tmp_path):
    write_table(table_of([[1, 2, 3]], vocab_size=9), tmp_path / "other.json")

    code, _, err = generated(capsys, folder, "--draft", "ngram", "--ngram", str(tmp_path / "other.json"))

    assert (code, "a vocabulary of 9 tokens, the target's has 12" in err) == (2, True)
