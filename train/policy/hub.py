"""Where a checkpoint's directory is: here, or on the Hugging Face Hub."""

import re
from pathlib import Path

from train.policy.errors import PolicyError

_FILES = ("*.json", "*.jinja", "*.safetensors", "*.txt")


def checkpoint_directory(model: str | Path) -> Path:
    """The directory `model`, or a downloaded copy of the model of that id (`owner/name`) from the Hub, which
    is kept in huggingface_hub's cache. A path that is neither is returned as it is, for the loader to refuse.
    Raises PolicyError when the download fails."""
    path = Path(model).expanduser()
    if path.is_dir() or not re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", str(model)):
        return path
    from huggingface_hub import snapshot_download  # slow to import

    try:
        return Path(snapshot_download(str(model), allow_patterns=list(_FILES)))
    except Exception as error:  # its errors share no base: network, login, unknown ids
        reason = str(error).strip().partition("\n")[0]
        raise PolicyError(
            f"model: {model} is no directory here, and not to be had from the Hugging Face Hub ({reason})"
        ) from None
