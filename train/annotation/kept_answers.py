"""Answers of a model kept on disk by what was asked, a file an answer."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


class KeptAnswers:
    """Answers in `folder`. Several processes and threads may use it: a file is whole or is not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, model: str, messages: Sequence[Mapping[str, str]]) -> Path:
        """Where the model's answer to these messages is or will be."""
        asked = json.dumps([model, *messages], sort_keys=True)
        return self.folder / f"{hashlib.sha256(asked.encode()).hexdigest()[:32]}.json"

    def get(self, place: Path) -> str | None:
        """The answer, or None: there is none, or its file is damaged."""
        try:
            answer = json.loads(place.read_text())["answer"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return answer if isinstance(answer, str) else None

    def put(self, place: Path, answer: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".part", delete=False) as file:
            file.write(json.dumps({"answer": answer}))
        os.replace(file.name, place)
