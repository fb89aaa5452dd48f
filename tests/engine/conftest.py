"""Tests run beside each other: one thread each. A model in a folder, for the commands."""

import json

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path):
    """A model with a tokenizer of twelve letters."""
    from tests.engine.test_loading import write_folder
    from tests.engine.toys import tiny_weights

    folder = write_folder(tmp_path / "m", tiny_weights())
    letters = {letter: i for i, letter in enumerate("abcdefghijkl")}
    tokenizer = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None, "truncation": None,
        "padding": None, "decoder": {"type": "Fuse"},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": False},
        "model": {"type": "WordLevel", "vocab": letters, "unk_token": "a"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder
