"""A model is a directory or an id; what is neither is told in one line."""

from pathlib import Path

import huggingface_hub
import pytest

from train.policy.errors import PolicyError
from train.policy.hub import checkpoint_directory


def test_a_directory_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checkpoint_directory(tmp_path) == tmp_path
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert checkpoint_directory("owner/name") == Path("owner/name")
    assert checkpoint_directory("/not/there") == Path("/not/there")


def test_an_id_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(repo: str, allow_patterns: list[str]) -> str:
        asked.append(repo)
        assert "*.safetensors" in allow_patterns
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert checkpoint_directory("Qwen/Qwen3-VL-2B-Instruct") == tmp_path
    assert asked == ["Qwen/Qwen3-VL-2B-Instruct"]


def test_a_failed_download_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(repo: str, allow_patterns: list[str]) -> str:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(PolicyError, match=r"^model: owner/name is no directory here, .*\(no route\)$"):
        checkpoint_directory("owner/name")
