"""The first Python example of the README runs as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def first_example() -> str | None:
    """The first ```python block of the README."""
    if not README.is_file():
        return None
    block = re.search(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    return block[1] if block else None


def test_the_first_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]):
    example = first_example()
    if example is None:
        pytest.skip("README.md has no Python block")
    exec(compile(example, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip(), "the example prints nothing"
