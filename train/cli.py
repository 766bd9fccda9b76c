"""Commands: one clear line and exit code 2 for what the user can mend, a traceback for what we must."""

import io
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import TypeVar

import tyro

from train.checkpoints import CheckpointError
from train.compilation import collect_rarely, use_persistent_cache
from train.policy.errors import PolicyError

Config = TypeVar("Config")


def run(main: Callable[[Config], None], config: type[Config]) -> None:
    """Parses the command line into `config` and calls `main` with it."""
    collect_rarely()
    use_persistent_cache()
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        main(_parse(config, main.__doc__))
    except (PolicyError, CheckpointError, ValueError, FileNotFoundError, FileExistsError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def _parse(config: type[Config], description: str | None) -> Config:
    """The command line as a config; tyro's box of a mistake becomes the one line of a ValueError."""
    told = io.StringIO()
    try:
        with redirect_stderr(told):
            return tyro.cli(config, description=description)
    except SystemExit as stop:
        if stop.code != 2:
            raise
        box = re.sub(r"[\u2500-\u257f]+|^ *-+ *$", " ", told.getvalue(), flags=re.MULTILINE)
        raise ValueError(" ".join(box.split())) from None
