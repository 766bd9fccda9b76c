"""memory_pairs against the rules in plain Python."""

from collections import Counter

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("memory_pairs")[0]
ROWS, COLS = (2, 3, 4), (3, 4, 6)
COUNT = 150
Cell = tuple[int, int]


def read_text(words: str) -> list[list[str]]:
    return [line.split(" ") for line in words.split("\n")]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    return request.param, play.instances(ENV, request.param)


def layout(scale: int, cards: np.ndarray) -> dict[Cell, int]:
    grid = cards.reshape(4, 6).tolist()
    return {(r, c): grid[r][c] for r in range(ROWS[scale]) for c in range(COLS[scale])}


def test_every_card_has_one_partner_and_all_symbols_and_places_occur(batch):
    scale, states = batch
    places = ROWS[scale] * COLS[scale]
    symbols, opened = Counter(), Counter()
    for i in range(play.MANY):
        cards = layout(scale, states.cards[i])
        assert set(Counter(cards.values()).values()) == {2}
        symbols.update(set(cards.values()))
        opened.update(np.flatnonzero(states.shown[i]).tolist())
        assert (np.flatnonzero(states.shown[i]) == np.flatnonzero(states.seen[i])).all()
    assert set(symbols) == set(range(12))
    np.testing.assert_allclose(np.array(list(symbols.values())) / play.MANY, places / 24, atol=0.05)
    assert len(opened) == places
    np.testing.assert_allclose(np.array(list(opened.values())) / play.MANY, 2 / places, atol=0.05)
    assert play.distinct(states) > 1900


def names(scale: int, cards: dict[Cell, int], opened: set[Cell], found: set[Cell]) -> list[list[str]]:
    """The board in words, from the rules."""
    shapes = [f"{c}-{s}" for s in ("disc", "square", "triangle", "plus") for c in ("red", "blue", "black")]
    words = {cell: f"found:{shapes[card]}" if cell in found else shapes[card] for cell, card in cards.items()}
    seen = opened | found
    return [
        [words[r, c] if (r, c) in seen else "back" for c in range(COLS[scale])] for r in range(ROWS[scale])
    ]


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_cards_are_opened_found_and_turned_back(batch, share):
    scale, states = batch
    turns = ENV.max_turns[2]
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, turns, share)
    refused = matches = 0
    for i, words in enumerate(play.observations(ENV, some)):
        cards = layout(scale, some.cards[i])
        start = {cell for cell in cards if read_text(words)[cell[0]][cell[1]] != "back"}
        found = start if len({cards[cell] for cell in start}) == 1 else set()
        assert read_text(words) == names(scale, cards, start, found)
        opened = start
        for t in range(turns):
            numbers = played.actions[t, i].tolist()
            cells = [tuple(n - 1 for n in numbers[:2]), tuple(n - 1 for n in numbers[2:])]
            legal = len(set(cells)) == 2 and all(cell in cards and cell not in found for cell in cells)
            assert (played.verdicts[t, i] == 0) == legal
            refused += not legal
            if legal:
                opened = set(cells)
                if cards[cells[0]] == cards[cells[1]]:
                    found = found | opened
                    matches += 1
            shown = rollouts.one(played.states[t + 1], i).shown.reshape(4, 6)
            for cell, card in cards.items():
                assert shown[cell] == (13 + card if cell in found else 1 + card if cell in opened else 0)
            won = len(found) == len(cards)
            assert played.terminated[t, i] == won == played.rewards[t, i]
            if won:
                break
    assert matches > COUNT
    assert (refused == 0) == (share == 1.0)


def test_the_expert_remembers_and_does_not_peek(batch):
    """It takes each pair it has seen, else opens unseen cards, and needs fewer turns than there are cards."""
    scale, states = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, ENV.max_turns[2], 1.0)
    lengths = played.length()
    assert lengths.max() < ROWS[scale] * COLS[scale] == ENV.max_turns[scale]
    lucky = tries = 0
    for i in range(COUNT):
        cards = layout(scale, some.cards[i])
        seen = {cell for cell in cards if some.shown[i].reshape(4, 6)[cell]}
        found = set(seen) if len({cards[cell] for cell in seen}) == 1 else set()
        for t in range(lengths[i]):
            row, col, row2, col2 = (played.actions[t, i] - 1).tolist()
            first, second = (row, col), (row2, col2)
            known = [cards[cell] for cell in seen - found]
            equal = cards[first] == cards[second]
            if len(known) > len(set(known)):
                assert equal
            else:
                fresh = {first, second} - seen
                assert len(fresh) == min(2, len(set(cards) - seen))
                tries, lucky = tries + 1, lucky + (equal and len(set(cards) - seen) > 2)
            seen |= {first, second}
            found |= {first, second} if equal else set()
    assert lucky < 0.5 * tries


@pytest.mark.parametrize("canvas", [96, 256])
def test_backs_look_alike_and_faces_do_not(batch, canvas):
    scale, states = batch
    side = canvas // COLS[scale]
    top, left = (canvas - ROWS[scale] * side) // 2, (canvas - COLS[scale] * side) // 2
    looks: dict[int, set[bytes]] = {}
    images = play.pictures(ENV, play.first(states, 100), canvas)
    for image, shown in zip(images, states.shown.reshape(-1, 4, 6), strict=False):
        for r in range(ROWS[scale]):
            for c in range(COLS[scale]):
                cell = image[top + r * side : top + (r + 1) * side, left + c * side : left + (c + 1) * side]
                looks.setdefault(int(shown[r, c]), set()).add(cell.tobytes())
    assert all(len(look) == 1 for look in looks.values())
    assert len(set.union(*looks.values())) == len(looks) > 12
