"""flat_pack against the rules in plain Python: blocks as sets of cells."""

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("flat_pack")[0]
SIDES, COUNTS = ((5, 5), (5, 7), (7, 7)), (4, 6, 9)
TURNS, COUNT = 13, 60
Cells = frozenset[tuple[int, int]]


def at_corner(cells: Cells) -> Cells:
    top, left = min(r for r, _ in cells), min(c for _, c in cells)
    return frozenset((r - top, c - left) for r, c in cells)


def turned(cells: Cells, quarters: int) -> Cells:
    """Clockwise: what was on top comes to the right."""
    for _ in range(quarters):
        cells = frozenset((c, -r) for r, c in cells)
    return at_corner(cells)


def hangs_together(cells: Cells) -> bool:
    found = queue = {min(cells)}
    while queue:
        near = {(r + dr, c + dc) for r, c in queue for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))}
        queue = (near & cells) - found
        found = found | queue
    return found == cells


def read_text(words: str, scale: int) -> tuple[list[str], dict[int, Cells]]:
    """The board and the blocks left."""
    lines = words.split("\n")
    rows = SIDES[scale][0]
    assert len(lines) == rows + COUNTS[scale]
    blocks = {}
    for line in lines[rows:]:
        number, *frame = line.split(" ")
        cells = frozenset((r, c) for r, row in enumerate(frame) for c, mark in enumerate(row) if mark == "#")
        if cells:
            blocks[int(number)] = cells
    return lines[:rows], blocks


def put(board: list[str], blocks: dict[int, Cells], action: list[int]) -> list[str] | None:
    """The board with one more block, None if it cannot be put there."""
    number, quarters, row, col = action
    if number not in blocks or not 0 <= quarters <= 3 or row < 1 or col < 1:
        return None
    cells = {(r + row - 1, c + col - 1) for r, c in turned(blocks[number], quarters)}
    free = {(r, c) for r, line in enumerate(board) for c, mark in enumerate(line) if mark == "."}
    if not cells <= free:
        return None
    return [
        "".join(str(number) if (r, c) in cells else mark for c, mark in enumerate(line))
        for r, line in enumerate(board)
    ]


def anything_fits(board: list[str], blocks: dict[int, Cells]) -> bool:
    return any(
        put(board, {number: cells}, [number, quarters, row, col])
        for number, cells in blocks.items()
        for quarters in range(4)
        for row in range(1, len(board) + 1)
        for col in range(1, len(board[0]) + 1)
    )


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [read_text(w, request.param) for w in play.observations(ENV, states)]


def test_every_board_is_cut_into_its_blocks(batch):
    scale, states, puzzles = batch
    rows, cols = SIDES[scale]
    assert play.distinct(states) > (1950, 1990, 1999)[scale]
    sizes, quarters = set(), [0] * 4
    for plan, (board, blocks) in zip(states.plan, puzzles, strict=True):
        assert board == ["." * cols] * rows
        assert sorted(blocks) == list(range(1, COUNTS[scale] + 1))
        assert (plan[:rows, :cols] > 0).all()
        assert (plan > 0).sum() == rows * cols == sum(map(len, blocks.values()))
        for number, cells in blocks.items():
            cut = at_corner(frozenset(map(tuple, np.argwhere(plan == number).tolist())))
            assert at_corner(cells) == cells
            assert hangs_together(cells)
            ways = [turned(cells, way) == cut for way in range(4)]
            assert any(ways)
            quarters[ways.index(True)] += 1
            sizes.add(len(cells))
    # A block in a corner of the board keeps at least four cells.
    assert min(sizes) <= (4, 3, 3)[scale]
    assert max(sizes) >= 8
    assert min(quarters) > 0.15 * sum(quarters)


@pytest.mark.parametrize("kind", ["expert", "astray", "random"])
def test_games_follow_the_rules(batch, kind):
    """Played by the expert, by the expert with the plan of another board, and at random."""
    scale, states, puzzles = batch
    some = play.first(states, COUNT)
    if kind == "astray":
        some = some.replace(plan=np.roll(some.plan, 1, axis=0))
    played = rollouts.roll(ENV, some, TURNS, 0.0 if kind == "random" else 1.0)
    lengths = played.length()
    now = puzzles[:COUNT]
    placed = refused = stuck = 0
    for t in range(TURNS):
        then = [read_text(words, scale) for words in play.observations(ENV, played.states[t + 1])]
        for i in np.flatnonzero(lengths > t):
            board, blocks = now[i]
            action = played.actions[t, i].tolist()
            wanted = put(board, blocks, action)
            assert (played.verdicts[t, i] == 0) == (wanted is not None)
            left = {n: cells for n, cells in blocks.items() if wanted is None or n != action[0]}
            assert then[i] == (wanted or board, left)
            placed, refused = placed + (wanted is not None), refused + (wanted is None)
            full = "." not in "".join(wanted or board)
            over = wanted is not None and (full or not anything_fits(wanted, left))
            share = 1 - "".join(wanted or board).count(".") / len("".join(board))
            paid = 0.0 if not over else 1.0 if full else 0.5 * share
            assert played.terminated[t, i] == over
            assert played.rewards[t, i] == pytest.approx(paid)
            stuck += over and not full
        now = then
    if kind == "expert":
        assert (lengths == COUNTS[scale]).all()
        assert (played.rewards.sum(0) == 1).all()
    elif kind == "astray":
        assert stuck > COUNT / 4
        assert placed > COUNT
    else:
        assert refused > 10 * placed


def test_the_expert_wins_every_game(batch):
    scale, states, _ = batch
    played = rollouts.roll(ENV, play.first(states, 500), TURNS, 1.0, seed=3)
    assert (played.rewards.sum(0) == 1).all()
    assert (played.length() == COUNTS[scale]).all()


def test_answers_in_words(batch):
    _, states, _ = batch
    some = play.first(states, play.SOME)
    actions = play.experts(ENV, some).tolist()
    verdict, _ = play.read(ENV, some, [f"{a}, {b} {c} {d}" for a, b, c, d in actions])
    assert (verdict == 0).all()
    short, _ = play.read(ENV, some, [f"{a} {b} {c}" for a, b, c, _ in actions])
    assert (short == 3).all()


def test_the_picture_shows_board_and_blocks_left(batch):
    scale, states, _ = batch
    rows, cols = SIDES[scale]
    some = play.first(states, COUNT)
    later = rollouts.roll(ENV, some, TURNS, 1.0).states[2]
    for words, picture in zip(play.observations(ENV, later), play.tiles(ENV, later), strict=True):
        board, blocks = read_text(words, scale)
        names = [[play.layers(name) for name in row] for row in picture]
        colours = {"."}
        for r, c in np.ndindex(rows, cols):
            name = names[r + 1][c + 1]
            assert ("floor" in name) == (board[r][c] == ".")
            colours.add(name.get("coloured", "."))
        assert [name.get("glyph") for name in names[0][1 : cols + 1]] == [str(c + 1) for c in range(cols)]
        assert [row[0].get("glyph") for row in names[1 : rows + 1]] == [str(r + 1) for r in range(rows)]
        assert len(colours) == len(set("".join(board)) | {"."})
        for number in range(1, COUNTS[scale] + 1):
            # The block's frame is on the right of its label.
            label = {"letter": f"grey-{number}"}
            ((top, left),) = [(r, c) for r, c in np.ndindex(16, 16) if names[r][c] == label]
            frame = {(r, c): names[top + r][left + 1 + c].get("coloured") for r in range(3) for c in range(3)}
            shown = {cell for cell, colour in frame.items() if colour}
            assert shown == blocks.get(number, frozenset())
            assert len(set(filter(None, frame.values()))) <= 1
