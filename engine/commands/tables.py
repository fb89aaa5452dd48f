"""N-gram tables by name: of a domain's texts, of a text file, or from a file that holds one."""

from itertools import islice
from pathlib import Path

from engine.errors import DraftError, ModelFileError
from engine.loading.tokenizer import TextCodec
from engine.ngrams import NgramTable, read_table, table_of
from engine.texts import DOMAINS

PROMPT_TEXTS = 16
"""First texts of each domain that no table is built from: prompts are taken from them."""

TABLE_TEXTS = 22
"""Texts behind these that a table is built from: of code, other modules than those of the prompts."""

LONGEST_TEXT = 20_000
"""Characters of a text that are counted."""


def table_named(name: str, codec: TextCodec | None, vocab_size: int) -> NgramTable:
    """The table that a flag names, for a target with so many tokens."""
    path = Path(name)
    if path.suffix == ".json":
        table = read_table(path)
        if table.vocab_size != vocab_size:
            raise DraftError(
                f"{path}: counted with a vocabulary of {table.vocab_size} tokens, the target's has {vocab_size};"
                " write one for this model with: python -m engine ngrams"
            )
        return table
    if codec is None:
        raise ModelFileError(f"--ngram {name}: random weights have no tokenizer; a text needs a model with one")
    return table_of(
        (codec.encode(text[:LONGEST_TEXT]) for text in texts_named(name)), vocab_size=vocab_size, name=path.stem
    )


def texts_named(name: str) -> list[str]:
    """Texts of a domain that prompts are not taken from; or the text of a file."""
    if name in DOMAINS:
        return list(islice(DOMAINS[name](), PROMPT_TEXTS, PROMPT_TEXTS + TABLE_TEXTS))
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DraftError(
            f"{name}: neither a domain ({', '.join(DOMAINS)}) nor a text that can be read: {error}"
        ) from None
    return [text[start : start + LONGEST_TEXT] for start in range(0, len(text), LONGEST_TEXT)]
