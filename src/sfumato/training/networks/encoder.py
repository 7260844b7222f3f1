"""Encoder: a Hugging Face encoder in a local folder, trained on texts with a linear layer on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from sfumato.tables.errors import BadFile, missing_extra
from sfumato.tables.setting_checks import at_least
from sfumato.training.networks.network import Shape


@dataclass(frozen=True)
class Encoder:
    """An encoder of Hugging Face (BERT, RoBERTa, MiniLM ...) from a folder with its weights as safetensors and its
    tokenizer. Nothing is downloaded, and no code of the folder is run.

    A text has at most `length` tokens. The mean of its last hidden states goes to the linear layer. With `frozen` only
    that layer is trained. Needs a small learning rate: `--rate 5e-5`.
    """

    folder: str
    length: int = 128
    frozen: bool = False

    name: ClassVar[str] = "encoder"
    takes: ClassVar[tuple[str, ...]] = ("texts",)

    def __post_init__(self) -> None:
        at_least("length", self.length, 2)
        path = Path(self.folder)
        missing = [name for name in ("config.json", "model.safetensors") if not (path / name).is_file()]
        if missing:
            found = f"no {missing[0]}" if path.is_dir() else "no such folder"
            fix = "save it with model.save_pretrained(FOLDER) and tokenizer.save_pretrained(FOLDER)"
            expected = "a folder with an encoder and its tokenizer"
            raise BadFile(found, expected, fix, "no-encoder", path)

    def tokens(self, texts: Sequence[str]) -> Int[np.ndarray, "texts length"]:
        """The token ids of each text, filled up with the id of padding."""
        encoded = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=self.length, return_tensors="np"
        )
        return np.asarray(encoded["input_ids"], np.int64)

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = _loaded(self.folder, "AutoTokenizer")
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        return tokenizer

    def build(self, shape: Shape, n_classes: int) -> nn.Module:  # noqa: ARG002
        # Loaded on the CPU also where only shapes are asked for: its weights come from a file.
        with torch.device("cpu"):
            body = _loaded(self.folder, "AutoModel", use_safetensors=True)
        return _EncoderWithHead(body, self._tokenizer.pad_token_id, n_classes, frozen=self.frozen)


class _EncoderWithHead(nn.Module):
    def __init__(self, body: Any, padding: int, n_classes: int, *, frozen: bool) -> None:
        super().__init__()
        self.body, self.padding = body, padding
        self.head = nn.Linear(body.config.hidden_size, n_classes)
        if frozen:
            body.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        ids = x.flatten(1).long()
        mask = (ids != self.padding).long()
        states = self.body(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask[:, :, None].to(states.dtype)
        mean = (states * weight).sum(1) / weight.sum(1).clamp(min=1)
        logits: Tensor = self.head(mean)
        return logits


def _loaded(folder: str, kind: str, **more: Any) -> Any:
    try:
        import transformers
        from safetensors import SafetensorError
    except ModuleNotFoundError:
        raise missing_extra("transformers", "to read an encoder", "encoder") from None
    try:
        loader = getattr(transformers, kind)
        return loader.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **more)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        what = "tokenizer" if kind == "AutoTokenizer" else "encoder"
        found = f"no readable {what} ({str(error).splitlines()[0][:120]})"
        fix = "save it again with save_pretrained, with safetensors"
        expected = f"the {what} of a Hugging Face model"
        raise BadFile(found, expected, fix, "no-encoder", Path(folder)) from error
