"""recipe_crafting against TextCraft's rules in plain Python, played in words."""

import re
from collections import Counter

import numpy as np
import play
import pytest
import rollouts

import jaxenv

ENV = jaxenv.make("recipe_crafting")[0]
RECIPES, RAWS, DEPTHS = (4, 7, 10), (3, 4, 5), (2, 3, 5)
LETTERS, MOST = "ABCDEFGHIJVWXYZ", 9
VOCABULARY = ("get", "craft", "using", *"123456789", *LETTERS.lower())
TURNS, COUNT = 30, 60
ACCEPTED, NOT_IN_GRAMMAR, ILLEGAL = 0, 2, 3


class TextCraft:
    """Recipes read from the words of an observation, a bag, and commands in words."""

    def __init__(self, words: str) -> None:
        self.bag: Counter[str] = Counter()
        self.recipes: dict[str, tuple[int, Counter[str]]] = {}
        head, *lines = words.split("\n")
        self.goal = head.split()[1]
        self.shown = [word for line in lines for word in line.split() if word[0] == "["]
        making = ""
        for word in " ".join(lines).split():
            if word[0].isdigit():
                count, item = int(word[0]), word[1]
                if word.endswith(":"):
                    making = item
                    self.recipes[making] = count, Counter()
                else:
                    self.recipes[making][1][item] = count
        used = {item for _, takes in self.recipes.values() for item in takes}
        self.raws = used - set(self.recipes)

    def act(self, command: str) -> bool:
        """Whether the command was carried out."""
        if found := re.fullmatch(r"get ([0-9]+) (.*)", command):
            item, takes, gives = found[2].upper(), Counter[str](), int(found[1])
            if item not in self.raws:
                return False
        else:
            found = re.fullmatch(r"craft (.*) using (.*)", command)
            assert found
            item, takes = found[1].upper(), Counter[str]()
            for count, taken in re.findall(r"([0-9]+) (\w)", found[2]):
                takes[taken.upper()] += int(count)
            if takes - self.bag or item not in self.recipes or self.recipes[item][1] != takes:
                return False
            gives = self.recipes[item][0]
        after = Counter(self.bag)
        after.subtract(takes)
        after[item] += gives
        if max(after.values()) > MOST:
            return False
        self.bag = +after
        return True

    def depth(self, item: str) -> int:
        return 1 + max(map(self.depth, self.recipes[item][1])) if item in self.recipes else 0

    def fewest_turns(self) -> int:
        """By making each thing when it is lacking; leftovers are used, so no way crafts less. One turn gets
        all that is needed of a raw item."""
        bag, got, crafted = Counter[str](), Counter[str](), 0

        def have(item: str, count: int) -> None:
            nonlocal crafted
            while bag[item] < count:
                if item not in self.recipes:
                    bag[item] += 1
                    got[item] += 1
                    continue
                gives, takes = self.recipes[item]
                while takes - bag:
                    for taken, amount in takes.items():
                        have(taken, amount)
                bag.subtract(takes)
                bag[item] += gives
                crafted += 1
                assert bag[item] <= MOST

        have(self.goal, 1)
        assert max(got.values()) <= MOST
        return crafted + len(got)


def said(action: np.ndarray) -> str:
    return " ".join(VOCABULARY[word] for word in action if word >= 0)


def bag_of(row: np.ndarray) -> Counter[str]:
    return +Counter(dict(zip(LETTERS, row.tolist(), strict=True)))


@pytest.fixture(scope="module", params=range(3))
def batch(request):
    states = play.instances(ENV, request.param)
    return request.param, states, [TextCraft(words) for words in play.observations(ENV, states)]


def test_trees_have_their_depth_and_can_be_made_in_time(batch):
    scale, states, games = batch
    goals, lengths = Counter(), []
    for game, inputs, yields in zip(games, states.inputs, states.yields, strict=True):
        assert sorted(game.recipes) == list(LETTERS[: RECIPES[scale]])
        assert game.raws <= set(LETTERS[10 : 10 + RAWS[scale]])
        for item, (gives, takes) in game.recipes.items():
            assert 1 <= gives <= 3
            assert gives == yields[LETTERS.index(item)]
            assert 1 <= len(takes) <= 3
            assert all(1 <= count <= 3 for count in takes.values())
            assert takes == bag_of(inputs[LETTERS.index(item)])
        assert game.depth(game.goal) == max(map(game.depth, game.recipes)) == DEPTHS[scale]
        goals[game.goal] += 1
        lengths.append(game.fewest_turns())
    assert len(goals) == RECIPES[scale]
    assert max(lengths) + 2 <= ENV.max_turns[scale]
    assert play.distinct(states) > 1900


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_commands_do_what_they_do_in_textcraft(batch, share):
    _, states, games = batch
    some = play.first(states, COUNT)
    played = rollouts.roll(ENV, some, TURNS, share)
    lengths = played.length()
    for i, game in enumerate(games[:COUNT]):
        game.bag = Counter()
        for t in range(min(TURNS, lengths[i])):
            done = game.act(said(played.actions[t, i]))
            assert (played.verdicts[t, i] == ACCEPTED) == done
            assert bag_of(played.states[t + 1].bag[i]) == game.bag
            assert played.terminated[t, i] == (game.bag[game.goal] > 0)
            assert played.rewards[t, i] == played.terminated[t, i]
        assert share < 1 or lengths[i] == game.fewest_turns()
    verdicts = set(played.verdicts[np.arange(TURNS)[:, None] < lengths].tolist())
    assert verdicts == ({ACCEPTED} if share == 1 else {ACCEPTED, ILLEGAL})


def test_a_recipe_takes_its_very_ingredients_in_any_order(batch):
    _, states, games = batch
    some = play.first(states, play.SOME)
    some = some.replace(bag=np.full_like(some.bag, 3))
    right, more, fewer, lone = [], [], [], []
    for game in games[: play.SOME]:
        item, (_, takes) = max(game.recipes.items(), key=lambda recipe: len(recipe[1][1]))
        listed = [f"{count} {taken}" for taken, count in takes.items()]
        right.append(f"Craft {item} using {', '.join(reversed(listed))}")
        count, taken = listed[0].split()
        more.append(f"craft {item} using {', '.join([f'{int(count) % 3 + 1} {taken}', *listed[1:]])}")
        fewer.append(f"craft {item} using {', '.join(listed[1:] or ['3 Z'])}")
        lone.append(f"craft {taken} using {', '.join(listed)}")
    assert (play.read(ENV, some, right)[0] == ACCEPTED).all()
    for wrong in (more, fewer, lone):
        assert (play.read(ENV, some, wrong)[0] == ILLEGAL).all()
    emptied = some.replace(bag=np.zeros_like(some.bag))
    assert (play.read(ENV, emptied, right)[0] == ILLEGAL).all()
    raws = [min(game.raws) for game in games[: play.SOME]]
    assert (play.read(ENV, some, [f"GET 6, {raw}" for raw in raws])[0] == ACCEPTED).all()
    assert (play.read(ENV, some, [f"get 7 {raw}" for raw in raws])[0] == ILLEGAL).all()


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("get 3 a", ILLEGAL),
        ("GET, 3 A", ILLEGAL),
        ("get 0 v", NOT_IN_GRAMMAR),
        ("get 10 v", NOT_IN_GRAMMAR),
        ("get v", NOT_IN_GRAMMAR),
        ("get 1 v 2 w", NOT_IN_GRAMMAR),
        ("craft a", NOT_IN_GRAMMAR),
        ("craft a using v", NOT_IN_GRAMMAR),
        ("craft a using 1 v 1 w 1 x 1 b", NOT_IN_GRAMMAR),
        ("using", NOT_IN_GRAMMAR),
    ],
)
def test_replies_have_the_form_of_a_command(batch, reply, verdict):
    some = play.first(batch[1], play.SOME)
    assert (play.read(ENV, some, [reply] * play.SOME)[0] == verdict).all()


def test_the_picture_shows_recipes_and_bag(batch):
    scale, states, games = batch
    some = play.first(states, COUNT)
    bags = np.random.default_rng(0).integers(0, MOST + 1, some.bag.shape).astype(np.uint8)
    some = some.replace(bag=bags)
    for game, picture, bag in zip(games, play.tiles(ENV, some), bags, strict=False):
        names = [[play.layers(name) for name in row] for row in picture]
        assert "flag" in names[0][0]
        assert names[0][1]["glyph"] == game.goal
        read: dict[str, tuple[int, Counter[str]]] = {}
        held = Counter()
        for row in names[1:]:
            made = ""
            for name in row:
                count, item = name.get("glyph", "0 ")
                if "header" in name:
                    read[made := item] = int(count), Counter()
                elif "coloured" in name:
                    held[item] += int(count)
                elif item != " ":
                    assert ("crate" in name) == (item in "VWXYZ")
                    read[made][1][item] = int(count)
        assert read == game.recipes
        there = [*range(RECIPES[scale]), *range(10, 10 + RAWS[scale])]
        assert +held == bag_of(bag * np.isin(np.arange(15), there))
