"""caesar_cipher against str.translate and reasoning-gym."""

import re
import string

import numpy as np
import play
import pytest
from reasoning_gym.algorithmic.caesar_cipher import CaesarCipherConfig, CaesarCipherDataset

import jaxenv
from envs_jax.text_symbolic.words import FIVE_LETTERS

ENV = jaxenv.make("caesar_cipher")[0]
ALPHABET = string.ascii_uppercase
KNOWN = {word.upper() for word in FIVE_LETTERS}


def decode(words: str, secret: str, plain: str) -> str:
    """The words when one letter stands for another."""
    shift = ALPHABET.index(secret) - ALPHABET.index(plain)
    return words.translate(str.maketrans(ALPHABET[shift:] + ALPHABET[:shift], ALPHABET))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    """Scale, states, and of each the words as shown, the two letters of the pair and the words as meant."""
    states, read = play.instances(ENV, request.param), []
    for words in play.observations(ENV, states):
        shown, secret, plain = re.fullmatch(r"((?:[A-Z]{5}\n)+)([A-Z]) stands for ([A-Z])", words).groups()
        shown = shown.split()
        read.append((shown, secret, plain, [decode(word, secret, plain) for word in shown]))
    return request.param, states, read


def test_every_text_is_words_and_they_differ(batch):
    scale, _, read = batch
    for shown, secret, plain, meant in read:
        assert len(shown) == scale + 1
        assert set(meant) <= KNOWN
        assert secret != plain
    assert len({"".join(shown) for shown, *_ in read}) > (1800, 1990, 1990)[scale]
    assert {secret for _, secret, _, _ in read} == set(ALPHABET)
    shifts = {(ALPHABET.index(secret) - ALPHABET.index(plain)) % 26 for _, secret, plain, _ in read}
    assert shifts == set(range(1, 26))


def test_the_expert_decodes_and_is_a_success(batch):
    _, states, read = batch
    actions = play.experts(ENV, states)
    for action, (_, _, _, meant) in zip(actions.tolist(), read, strict=True):
        assert "".join(ALPHABET[letter] for letter in action if letter >= 0) == "".join(meant)
    legal, reward = play.judge(ENV, states, actions)
    assert legal.all()
    assert (reward == 1).all()


def test_partly_right_pays_half_the_share(batch):
    scale, states, _ = batch
    count = 5 * (scale + 1)
    rng = np.random.default_rng(0)
    right = play.experts(ENV, states)
    wrong = (rng.random(right.shape) < rng.random((len(right), 1))) & (np.arange(15) < count)
    tried = np.where(wrong, (right + rng.integers(1, 26, right.shape)) % 26, right)
    legal, reward = play.judge(ENV, states, tried)
    share = 1 - wrong.sum(1) / count
    assert legal.all()
    np.testing.assert_allclose(reward, np.where(share == 1, 1, share / 2), atol=1e-6)


def test_another_length_is_refused(batch):
    scale, states, _ = batch
    for count in set(range(1, 16)) - {5 * (scale + 1)}:
        letters = np.where(np.arange(15) < count, 3, -1)
        assert not play.judge(ENV, states, np.broadcast_to(letters, (len(states.shift), 15)))[0].any()


def test_the_picture_shows_the_words_and_what_letters_stand_for(batch):
    scale, states, read = batch
    rows, cols = ((8, 9), (5, 5), (6, 5))[scale]
    for (shown, secret, plain, _), picture in zip(
        read, play.tiles(ENV, play.first(states, 100)), strict=False
    ):
        names = [[play.layers(name) for name in row[:cols]] for row in picture[:rows]]
        secrets = [[name.get("letter", "").removeprefix("green-") for name in row] for row in names]
        plains = [[name.get("glyph", "") for name in row] for row in names]
        assert ["".join(row) for row in secrets[: scale + 1]] == shown
        assert not any(map(any, plains[: scale + 2]))
        assert not any(secrets[scale + 1])
        pairs = {}
        for above, below in zip(secrets[scale + 2 :: 2], plains[scale + 3 :: 2], strict=True):
            pairs |= {a: b for a, b in zip(above, below, strict=True) if a or b}
        if scale:
            assert pairs == {secret: plain}
        else:
            assert pairs == {letter: decode(letter, secret, plain) for letter in ALPHABET}


@pytest.mark.peer("reasoning-gym", "caesar_cipher")
def test_agrees_with_reasoning_gym(batch):
    _, states, read = batch
    dataset = CaesarCipherDataset(CaesarCipherConfig(size=1, seed=0))
    for (shown, _, _, meant), shift in zip(read, states.shift.tolist(), strict=True):
        assert dataset._caesar_encrypt(" ".join(meant), shift) == " ".join(shown)
    some = play.first(states, play.SOME)
    entries = [{"answer": " ".join(meant)} for *_, meant in read[: play.SOME]]
    rights = [entry["answer"] for entry in entries]
    wrongs = [right[:-1] + ("A" if right[-1] != "A" else "B") for right in rights]
    for replies, solved in ((rights, True), (wrongs, False)):
        verdict, reward = play.read(ENV, some, replies)
        assert (verdict == 0).all()
        assert ((reward == 1) == solved).all()
        theirs = [dataset.score_answer(r, e) for r, e in zip(replies, entries, strict=True)]
        assert ((np.array(theirs) == 1) == solved).all()
