"""Text to token numbers and back; from a GGUF file's own vocabulary, or from a tokenizer.json."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import ModelFileError
from engine.loading.gguf_file import field, open_gguf

CONTROL = 3
"""Type of control tokens in a GGUF vocabulary."""


class TextCodec:
    """A tokenizer, and the tokens that end an output."""

    def __init__(self, tokenizer: Any, stop_tokens: Iterable[int], chat_marks: tuple[str, str] | None = None) -> None:
        self._tokenizer = tokenizer
        self.stop_tokens = frozenset(stop_tokens)
        self.chat_marks = chat_marks
        """Text before a role and behind a message, for templates of the ChatML kind; None: no chat."""

    def encode(self, text: str) -> list[int]:
        """Token numbers; control tokens in the text count as such."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, control tokens left out."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def chat(
        self, message: str, system: str = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    ) -> str:
        """A user's message in the model's chat template, ready for the answer."""
        if self.chat_marks is None:
            raise ModelFileError("this model has no chat template that the engine knows (ChatML)")
        start, end = self.chat_marks
        turns = (("system", system), ("user", message))
        return "".join(f"{start}{role}\n{text}{end}\n" for role, text in turns) + f"{start}assistant\n"


class TextStream:
    """Text of a growing output; a character whose bytes are not all there yet is held back."""

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec
        self._tokens: list[int] = []
        self._shown = ""

    def push(self, tokens: Sequence[int]) -> str:
        """Text that these tokens add."""
        self._tokens += tokens
        text = self._codec.decode(self._tokens)
        if text.endswith("\ufffd"):
            return ""
        new, self._shown = text[len(self._shown) :], text
        return new


def codec_from_gguf(path: Path) -> TextCodec:
    """The byte-level BPE of a GGUF file (pre-tokenizers `smollm` and `gpt-2`)."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    reader = open_gguf(path)
    kind = (field(reader, "tokenizer.ggml.model"), field(reader, "tokenizer.ggml.pre"))
    if kind not in (("gpt2", "smollm"), ("gpt2", "gpt-2")):
        raise ModelFileError(f"{path}: tokenizer {kind} is not read here; known: ('gpt2', 'smollm'), ('gpt2', 'gpt-2')")
    tokens: list[str] = field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ", 1)) for pair in field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    bytes_alone = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = [pre_tokenizers.Digits(individual_digits=True)] if kind[1] == "smollm" else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*digits, bytes_alone])
    tokenizer.decoder = decoders.ByteLevel()
    types = field(reader, "tokenizer.ggml.token_type")
    control = [AddedToken(token, special=True) for token, t in zip(tokens, types, strict=True) if t == CONTROL]
    tokenizer.add_special_tokens(control)
    marks = ("<|im_start|>", "<|im_end|>")
    chat = marks if all(mark in tokens for mark in marks) else None
    return TextCodec(tokenizer, [int(field(reader, "tokenizer.ggml.eos_token_id"))], chat)


def codec_from_folder(folder: Path, config: dict[str, Any]) -> TextCodec:
    """The tokenizer.json of a Hugging Face folder."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.exists():
        raise ModelFileError(f"{path}: the file is missing; text needs it")
    tokenizer = Tokenizer.from_file(str(path))
    eos = config.get("eos_token_id")
    stops = eos if isinstance(eos, list) else [] if eos is None else [eos]
    marks = ("<|im_start|>", "<|im_end|>")
    chat = marks if all(tokenizer.token_to_id(mark) is not None for mark in marks) else None
    return TextCodec(tokenizer, stops, chat)


class _Bytes(NamedTuple):
    """Bytes as tokens, for random weights, which no text means anything to."""

    vocab_size: int

    def encode(self, text: str, *, add_special_tokens: bool) -> "_Encoded":
        return _Encoded([byte % self.vocab_size for byte in text.encode()])

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        return "".join(f"<{token}>" for token in tokens)


class _Encoded(NamedTuple):
    ids: list[int]


def number_codec(vocab_size: int) -> TextCodec:
    """Reads bytes and writes numbers, where a model has no tokenizer.

    >>> number_codec(256).encode("Hi"), number_codec(256).decode([7, 8])
    ([72, 105], '<7><8>')
    """
    return TextCodec(_Bytes(vocab_size), ())
