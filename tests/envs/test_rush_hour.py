"""rush_hour against driving cell by cell on boards read from the words, and reasoning-gym's board."""

from collections import deque

import play
import pytest
import rollouts
from make_rush_hour import mask, moves
from reasoning_gym.games.rush_hour import Board

import jaxenv

ENV = jaxenv.make("rush_hour")[0]
FEWEST, MOST = (3, 7, 12), (5, 10, 16)
STEPS = (-4, -3, -2, -1, 1, 2, 3, 4)
TURNS, COUNT, SOLVED = 20, 60, 20
Rows = tuple[str, ...]


def read(words: str) -> Rows:
    return tuple(line.replace(" ", "") for line in words.split("\n"))


def turned(rows: Rows) -> Rows:
    return tuple(map("".join, zip(*rows, strict=True)))


def drive(rows: Rows, letter: str, step: int) -> Rows | None:
    """The board after a move, None when it is not possible; cell by cell."""
    if any(letter * 2 in line for line in rows):
        ahead = step > 0
        for _ in range(abs(step)):
            (row,) = (line for line in rows if letter in line)
            size = row.count(letter)
            before, after = (letter * size + ".", "." + letter * size)
            was, then = (before, after) if ahead else (after, before)
            if was not in row:
                return None
            rows = tuple(line.replace(was, then) if line is row else line for line in rows)
        return rows
    if any(letter * 2 in line for line in turned(rows)):
        found = drive(turned(rows), letter, step)
        return found and turned(found)
    return None


def is_out(rows: Rows) -> bool:
    return any(line.endswith("AA") for line in rows)


def moves_left(rows: Rows) -> int:
    places: dict[str, list[tuple[int, int]]] = {}
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            places.setdefault(letter, []).append((r, c))
    vehicles = [places[letter] for letter in sorted(set(places) - {"."})]
    down = [cells[0][1] == cells[1][1] for cells in vehicles]
    lanes = [(v, cells[0][v], len(cells)) for v, cells in zip(down, vehicles, strict=True)]
    at = tuple(cells[0][not v] for v, cells in zip(down, vehicles, strict=True))
    masks = [[mask(lane, start) for start in range(7 - lane[2])] for lane in lanes]
    away, queue = {at: 0}, deque([at])
    while queue[0][0] != 4:
        here = queue.popleft()
        for then in moves(masks, here):
            if then not in away:
                away[then] = away[here] + 1
                queue.append(then)
    return away[queue[0]]


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read(words) for words in play.observations(ENV, states)]


def test_boards_are_crowded_and_differ(batch):
    scale, states, boards = batch
    for rows, lane in zip(boards, states.lane[:, 0].tolist(), strict=True):
        assert "AA" in rows[lane]
        assert lane in (2, 3)
        assert not is_out(rows)
        letters = sorted({letter for row in rows for letter in row} - {"."})
        assert letters == list("ABCDEFGHIJKL"[: len(letters)])
        for letter in letters:
            lines = [line for line in (*rows, *turned(rows)) if letter * 2 in line]
            assert len(lines) == 1
            assert "".join(rows).count(letter) == lines[0].count(letter) in (2, 3)
            assert letter * lines[0].count(letter) in lines[0]
    assert len(set(boards)) > 1900
    assert set(states.depth.tolist()) == set(range(FEWEST[scale], MOST[scale] + 1))


def test_every_way_leads_out(batch):
    """Driven cell by cell, for all instances."""
    _, states, boards = batch
    for rows, way, depth in zip(boards, states.way.tolist(), states.depth.tolist(), strict=True):
        for move in way[:depth][::-1]:
            assert not is_out(rows)
            rows = drive(rows, "ABCDEFGHIJKL"[move // 8], STEPS[move % 8])
        assert is_out(rows)


def test_no_fewer_moves_will_do(batch):
    _, states, boards = batch
    for rows, depth in zip(boards[:SOLVED], states.depth.tolist(), strict=False):
        assert moves_left(rows) == depth


@pytest.mark.peer("reasoning-gym", "rush_hour")
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_vehicles_drive_over_free_cells(batch, share):
    scale, states, boards = batch
    played = rollouts.roll(ENV, play.first(states, COUNT), TURNS, share)
    lengths, refused = played.length(), 0
    words = [play.observations(ENV, state) for state in played.states]
    for i, rows in enumerate(boards[:COUNT]):
        theirs = Board("".join(rows).replace(".", "o"))
        for t in range(min(TURNS, lengths[i])):
            letter, step = "ABCDEFGHIJKL"[played.actions[t, i] // 8], STEPS[played.actions[t, i] % 8]
            after = drive(rows, letter, step)
            refused += after is None
            assert (played.verdicts[t, i] == 3) == (after is None)
            rows = after or rows
            assert read(words[t + 1][i]) == rows
            if after is not None:
                theirs.perform_moves(f"{letter}{step:+d}")
            assert theirs.board_str().strip() == "\n".join(rows)
            assert played.terminated[t, i] == is_out(rows) == played.rewards[t, i]
    if share == 1.0:
        assert (lengths == states.depth[:COUNT]).all()
        assert lengths.max() <= ENV.max_turns[scale]
    assert (refused == 0) == (share == 1.0)


def test_the_expert_finds_back_from_other_moves(batch):
    _, states, _ = batch
    mixed = rollouts.roll(ENV, play.first(states, COUNT), TURNS, 0.0, seed=1)
    wandered, depth = mixed.states[8], states.depth[:COUNT]
    assert (wandered.depth != depth).mean() > 0.3
    ended = rollouts.roll(ENV, wandered, TURNS, 1.0).length()
    still = (mixed.length() > 8) & (wandered.depth <= TURNS)
    assert still.any()
    assert (ended == wandered.depth)[still].mean() > 0.9
    assert (ended <= wandered.depth)[still].all()


def test_the_picture_shows_the_vehicles_and_the_exit(batch):
    _, states, boards = batch
    for rows, picture in zip(boards, play.tiles(ENV, play.first(states, 100)), strict=False):
        for r, row in enumerate(rows):
            for c, letter in enumerate(row):
                if letter == ".":
                    assert picture[r][c] == "street"
                    continue
                heading, line, at = (
                    ("across", row, c) if row.count(letter) > 1 else ("down", turned(rows)[c], r)
                )
                first, last = line.index(letter), line.rindex(letter)
                part = {first: "first", last: "last"}.get(at, "middle")
                assert picture[r][c] == f"street vehicle:{letter}-{heading}-{part}"
            assert picture[r][6] == ("street forward" if "AA" in row else "wall")
