"""The gallery in docs/ shows every environment, as it is now."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest
from PIL import Image, ImageSequence

import jaxenv
from jaxenv import gallery, harness, text
from jaxenv.environment import make_params
from jaxenv.gallery import GalleryConfig

SHIPPED = Path(__file__).parent.parent / "docs" / "gallery"
SOME = ("frozen_lake", "rotate_matrix", "blackjack")


def sections(folder: Path) -> dict[str, str]:
    """The sections of a page by the environment's id."""
    page = (folder / gallery.PAGE).read_text()
    parts = re.split(r"^### (\w+)$", re.sub(r"^## .*\n", "", page, flags=re.MULTILINE), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def frames(file: Path) -> list[np.ndarray]:
    with Image.open(file) as picture:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(picture)]


def check_rebuilt(names: tuple[str, ...], folder: Path) -> None:
    gallery.main(GalleryConfig(out=folder, env_set=",".join(names)))
    shipped, rebuilt = sections(SHIPPED), sections(folder)
    assert list(rebuilt) == [name for name in shipped if name in names]
    for name in names:
        assert rebuilt[name] == shipped[name]
    for file in folder.glob("*.webp"):
        ours, theirs = frames(file), frames(SHIPPED / file.name)
        assert len(ours) == len(theirs), file.name
        assert all((one == other).all() for one, other in zip(ours, theirs, strict=True)), file.name


def test_every_environment_has_its_section_and_pictures():
    shown = sections(SHIPPED)
    assert sorted(shown) == list(jaxenv.ids())
    linked = {file for section in shown.values() for file in re.findall(r'src="([^"]+)"', section)}
    assert linked == {file.name for file in SHIPPED.glob("*.webp")}
    assert len(linked) == sum(1 + jaxenv.make(name)[0].num_scales for name in jaxenv.ids())


def test_it_is_rebuilt_as_it_is(tmp_path):
    check_rebuilt(SOME, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_all_of_it_is_rebuilt_as_it_is(tmp_path):
    check_rebuilt(jaxenv.ids(), tmp_path)


def test_the_texts_stand_at_the_levels_that_show_them():
    env, _ = jaxenv.make("frozen_lake", observe=("pixels",), canvas=96)
    said = dict(gallery._said(env, gallery.play(env, 0, 0).texts))
    key = jax.random.split(jax.random.key(0))[1]
    for level in range(harness.NUM_HARNESS_LEVELS):
        prompt = text.decode(env.prompt(env.sample_level(key, make_params(level, 0))))
        for title, words in said.items():
            first, last = (re.findall(r"\d", gallery.SHOWN[title]) * 2)[:2]
            assert (words in prompt) == (int(first) <= level <= int(last))


def test_the_replay_ends_as_the_expert_did():
    env, _ = jaxenv.make("frozen_lake", observe=("pixels",), canvas=96)
    played = gallery.play(env, 0, 0)
    assert played.success
    assert len(played.frames) == len(played.replies) + 1
    assert not (played.frames[0] == played.frames[-1]).all()
