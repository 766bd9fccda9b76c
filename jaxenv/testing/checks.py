"""One function for each clause of the contract; each raises AssertionError, saying what is wrong."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxenv import answers, text
from jaxenv.environment import OBSERVATIONS, Environment
from jaxenv.harness import NUM_HARNESS_LEVELS
from jaxenv.testing.subject import (
    CANVAS,
    OTHER_CANVAS,
    Subject,
    Turn,
    assert_close,
    equal_rows,
    fingerprint,
    leaves,
    one_row_a_level,
    one_step,
    row_of,
    scales,
    shown,
    turn_of,
)
from jaxenv.text import Text

STATE_BYTES = 256  # of one state; pools and replays keep many
WATCHED_TURNS = 8  # of the expert's play, in which pictures and texts are compared
REPLIES = 1000  # random replies, at least
SECTIONS = ("Board:\n", "State: ", "Hint: ", "Rules: ")  # taken away in this order
DTYPES = tuple(map(np.dtype, ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32")))

# --- what an environment says of itself, and its arrays ------------------------------------------------


def check_facts(subject: Subject) -> None:
    """The class variables are filled in and fit each other."""
    env = subject.env
    for name in ("id", "family", "task", "rules"):
        assert getattr(env, name).strip(), f"{name}: it must not be empty"
    assert "\n" not in env.task, f"task: it must be one line: {env.task!r}"
    assert env.abilities, "abilities: name at least one"
    assert min(env.max_turns) >= 1, f"max_turns: {env.max_turns} must be positive"
    known = {field.name for field in dataclasses.fields(subject.start[1].state)} if env.hidden else set()
    assert set(env.hidden) <= known, f"hidden: {env.hidden} are not all fields of the state {sorted(known)}"
    rates = len(env.expert_success)
    assert rates in (0, env.num_scales), f"expert_success: {rates} rates for {env.num_scales} scales"


def check_avals(subject: Subject) -> None:
    """reset and step give the same shapes, dtypes and weak types, none of them weak or 64 bits wide."""
    env, key = dataclasses.replace(subject.env, observe=OBSERVATIONS), jax.random.key(0)
    params = row_of(subject.params, 0)
    begun = jax.eval_shape(env.reset, key, params)
    action = jax.eval_shape(env.grammar.sample, key)
    stepped = jax.eval_shape(env.step, key, begun[1], action, params)
    spoken = jax.eval_shape(env.step_text, key, begun[1], text.encode("", 32), params)
    for name, result in (("step", stepped), ("step_text", spoken)):
        for (path, first), (_, after) in zip(leaves(begun), leaves(result[:2]), strict=True):
            same = (first.shape, first.dtype, first.weak_type) == (after.shape, after.dtype, after.weak_type)
            assert same, f"reset gives {first} for {path}, but {name} gives {after}: each call would compile"
    for path, leaf in leaves((begun, stepped, action)):
        assert not leaf.weak_type, f"{path} is weakly typed; give it a dtype"
        assert leaf.dtype in DTYPES, f"{path} is {leaf.dtype}; states and results are at most 32 bits wide"


def check_state_bytes(subject: Subject) -> None:
    """A state is small."""
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(subject.start[1].state)) // subject.rows
    assert size <= STATE_BYTES, f"a state has {size} bytes; at most {STATE_BYTES} are allowed"


def check_compile_seconds(subject: Subject) -> None:
    """reset, step and expert compile in reasonable time."""
    for name in ("reset", "step", "expert"):
        getattr(subject, name)  # compiles it
    seconds = sum(subject.seconds[name] for name in ("reset", "step", "expert"))
    allowed = subject.env.compile_seconds
    assert seconds <= allowed, f"compiling took {seconds:.0f} s, over {allowed:.0f} s"


def check_pictures(subject: Subject) -> None:
    """Pictures are uint8[canvas, canvas, 3] for any canvas, and not blank; `symbolic` is uint8."""
    arrays = subject.look(subject.start[1].state)[0]
    for name, canvas in (("pixels", CANVAS), ("other_pixels", OTHER_CANVAS)):
        image, shape = np.asarray(arrays[name]), (canvas, canvas, 3)
        assert image.dtype == np.uint8, f"draw gives {image.dtype}, not uint8"
        assert image.shape[1:] == shape, f"draw gives {image.shape[1:]} for a canvas of {canvas}, not {shape}"
        assert (image != image[:, :1, :1]).any((1, 2, 3)).all(), "a picture is blank"
    assert arrays["symbolic"].dtype == np.uint8, f"symbolic is {arrays['symbolic'].dtype}, not uint8"


# --- JAX: the same result however it is called ----------------------------------------------------------


def check_determinism(subject: Subject) -> None:
    """Equal keys give equal results; other keys give other instances at every scale."""
    obs, episode = jax.device_get(subject.start)
    again = subject.reset(subject.keys(0), subject.params)
    assert equal_rows((obs, episode), again).all(), "the same key gave two different instances"
    for scale, rows in scales(subject):
        distinct = len(
            np.unique(fingerprint(jax.tree.map(lambda leaf, rows=rows: leaf[rows], episode.state)))
        )
        assert distinct > 1, f"scale {scale}: {subject.rows_a_scale} keys gave one and the same instance"
    action = subject.sample(subject.keys(1))[0]
    first, second = (subject.step(subject.keys(2), episode, action, subject.params) for _ in range(2))
    assert equal_rows(first, second).all(), "the same step with the same key gave two different results"


def check_single(subject: Subject) -> None:
    """One instance alone, jitted, gives what its row of the batch gives, by one program for all levels."""
    whole = dataclasses.replace(subject.env, observe=OBSERVATIONS)
    reset, step = jax.jit(whole.reset), jax.jit(subject.env.step)
    actions, results = one_step(subject)
    arrays, _, prompts = subject.look(subject.start[1].state)
    for row in one_row_a_level(subject):
        params = row_of(subject.params, row)
        begun = reset(subject.keys(0)[row], params)
        prompt = row_of(row_of(prompts, row), row % NUM_HARNESS_LEVELS)
        seen = {"symbolic": arrays["symbolic"][row], "pixels": arrays["pixels"][row], "text": prompt}
        wanted = seen, row_of(subject.start[1], row)
        assert_close(begun, wanted, f"reset, row {row}: vmap differs from a loop")
        stepped = step(subject.keys(3)[row], begun[1], actions[row], params)
        assert_close(stepped, row_of(results, row), f"step, row {row}: vmap differs from a loop")
        step(subject.keys(4)[row], stepped[1], actions[row], params)
    for name, function in (("reset", reset), ("step", step)):
        programs = function._cache_size()  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]
        assert programs == 1, f"{name} compiled {programs} programs for one environment; levels must be data"


def check_eager(subject: Subject) -> None:
    """An instance a scale, without jit, gives what it gives with it. (Texts are left to `check_single`.)"""
    actions, results = one_step(subject)
    pixels = subject.look(subject.start[1].state)[0]["pixels"]
    for scale, rows in scales(subject):
        row, params = rows.start, row_of(subject.params, rows.start)
        begun = subject.env.reset(subject.keys(0)[row], params)
        assert_close(begun, row_of(subject.start, row), f"reset at scale {scale}: jit differs from eager")
        stepped = subject.env.step(subject.keys(3)[row], begun[1], actions[row], params)
        assert_close(stepped, row_of(results, row), f"step at scale {scale}: jit differs from eager")
        image = subject.env.draw(begun[1].state, CANVAS)
        assert_close(image, pixels[row], f"draw at scale {scale}: jit differs from eager")


# --- the game -----------------------------------------------------------------------------------------


def check_expert(subject: Subject) -> None:
    """The expert succeeds with a return of 1, always or as often as `expert_success` states."""
    turns = subject.expert_play
    success = np.any([turn.info["success"] for turn in turns], axis=0)
    paid = np.sum([turn.reward for turn in turns], axis=0)
    accepted = np.all([turn.before.done | (turn.info["verdict"] == 0) for turn in turns], axis=0)
    assert accepted.all(), f"rows {np.flatnonzero(~accepted).tolist()}: the expert gave an invalid answer"
    full = success & (np.abs(paid - 1) < 1e-6)
    wanted = subject.env.expert_success or (1.0,) * subject.env.num_scales
    for scale, rows in scales(subject):
        rate = full[rows].mean()
        assert rate >= wanted[scale], f"scale {scale}: the expert has full marks in {rate:.0%} of episodes"


def check_turns(subject: Subject) -> None:
    """Rewards, clock and end of every turn that expert and random play made; see `_check_turn`."""
    limit = np.asarray(subject.env.max_turns)[np.asarray(subject.params.level.scale)]
    for name, turns in (("expert", subject.expert_play), ("random", subject.random_play)):
        for number, turn in enumerate(turns):
            _check_turn(turn, limit, f"{name} play, turn {number}")
        paid = np.sum([turn.reward for turn in turns], axis=0)
        assert (paid <= 1 + 1e-6).all(), f"{name} play: a return of {paid.max()} is over 1"
    assert subject.random_play[-2].after.done.all(), "episodes go on after the last turn"


def check_abilities(subject: Subject) -> None:
    """Where the environment tells which abilities an action exercises, it tells of its own alone, and each of
    them is exercised by the expert or by chance."""
    env = subject.env
    if type(env).exercised is Environment.exercised:
        return
    ever = np.zeros(len(env.abilities), bool)
    for turns, act in (
        (subject.expert_play, lambda t, state: subject.expert(subject.keys(100 + t), state)[0]),
        (subject.random_play, lambda t, state: subject.sample(subject.keys(1000 + t))[0]),
    ):
        for t, turn in enumerate(turns):
            before, after, info = turn.before.state, turn.after.state, turn.info
            told = subject.exercised(before, act(t, before), after, info["verdict"], info["success"])
            ever |= np.asarray(told)[~turn.before.done].any(0)
    never = [name for name, once in zip(env.abilities, ever, strict=True) if not once]
    assert not never, f"abilities: neither the expert nor chance exercises {', '.join(never)}"
    action, result = one_step(subject)
    strange = set(jax.eval_shape(jax.vmap(env.exercised), subject.start[1].state, action, result[1].state))
    strange -= set(env.abilities)
    assert not strange, f"exercised: {', '.join(sorted(strange))} are not among the abilities"


def check_short_clock(subject: Subject) -> None:
    """params.max_turns of 1 ends every episode after a turn."""
    params = dataclasses.replace(subject.params, max_turns=jnp.ones(subject.rows, jnp.int32))
    action = subject.sample(subject.keys(5))[0]
    turn = turn_of(subject.start[1], subject.step(subject.keys(6), subject.start[1], action, params))
    _check_turn(turn, np.ones(subject.rows, int), "max_turns of 1")
    assert turn.after.done.all(), "params.max_turns does not shorten the episode"


def _check_turn(turn: Turn, limit: np.ndarray, where: str) -> None:
    """The rewards are in 0..1, only the clock truncates, and after the end nothing happens."""
    before, after, over = turn.before, turn.after, turn.before.done
    assert np.isfinite(turn.reward).all(), f"{where}: a reward is not finite"
    assert ((turn.reward >= 0) & (turn.reward <= 1)).all(), f"{where}: a reward is outside 0..1"
    for path, leaf in leaves(after.state):
        assert leaf.dtype.kind != "f" or np.isfinite(leaf).all(), f"{where}: {path} is not finite"
    still = equal_rows(before, after) & (turn.reward == 0) & ~turn.terminated & ~turn.truncated
    assert still[over].all(), f"{where}: a step after the end changed or paid something"
    assert (after.turn == before.turn + ~over).all(), f"{where}: the clock did not count one turn"
    late = ~over & (after.turn >= limit)
    assert (turn.truncated == late).all(), f"{where}: truncated is not what the clock says"
    assert (after.done == (over | turn.terminated | turn.truncated)).all(), f"{where}: done is wrong"
    won = turn.terminated & (turn.reward >= 1)
    assert (turn.info["success"] == won).all(), f"{where}: success is not a termination that pays 1"
    refused = turn.info["verdict"] != answers.ACCEPTED
    idle = equal_rows(before.state, after.state) & (turn.reward == 0) & ~turn.terminated
    assert idle[refused].all(), f"{where}: a reply that was not accepted changed or paid something"


# --- replies --------------------------------------------------------------------------------------------


def check_round_trip(subject: Subject) -> None:
    """Actions of the expert and random ones, formatted and parsed, are what they were."""
    for name, spoken in (
        ("expert", subject.expert(subject.keys(7), subject.start[1].state)),
        ("random", subject.sample(subject.keys(8))),
    ):
        action, back, valid, _ = jax.device_get(spoken)
        same = equal_rows(action, back) & valid
        wrong = action[~same][:1].tolist()
        assert same.all(), f"{name} actions: {wrong} is not the same after format and parse"


def check_replies(subject: Subject) -> None:
    """Random bytes, bare, in answer tags or in a valid reply: no refused one does anything but cost a
    turn; each verdict that can occur does (`ILLEGAL` when the environment has a rule for it)."""
    limit = np.asarray(subject.env.max_turns)[np.asarray(subject.params.level.scale)]
    episode, verdicts = subject.start[1], set()
    for number, replies in enumerate(_random_replies(subject)):
        rows = [np.frombuffer(reply[: subject.reply_capacity], np.uint8) for reply in replies]
        padded = np.stack([np.pad(row, (0, subject.reply_capacity - len(row))) for row in rows])
        texts = Text(jnp.asarray(padded), jnp.asarray([len(row) for row in rows], jnp.int32))
        turn = turn_of(
            episode, subject.step_text(subject.keys(2000 + number), episode, texts, subject.params)
        )
        _check_turn(turn, limit, "random replies")
        verdicts |= set(turn.info["verdict"].tolist())
    verdicts |= {verdict for turn in subject.random_play for verdict in turn.info["verdict"].tolist()}
    verdicts |= {verdict for turn in subject.expert_play for verdict in turn.info["verdict"].tolist()}
    can = {answers.ACCEPTED, answers.NO_TAG, answers.NOT_IN_GRAMMAR}
    if type(subject.env).legal is not Environment.legal:
        can.add(answers.ILLEGAL)
    missing = [answers.VERDICTS[verdict] for verdict in sorted(can - verdicts)]
    assert not missing, f"no reply of many was judged: {', '.join(missing)}"


def _random_replies(subject: Subject) -> Iterator[list[bytes]]:
    """Batches of replies: bare bytes, bytes in tags, and the expert's with some bytes cut or changed."""
    noise = np.random.default_rng(0)
    experts = jax.device_get(subject.expert(subject.keys(9), subject.start[1].state)[3])
    valid = [data[:length].tobytes() for data, length in zip(experts.data, experts.length, strict=True)]
    room = subject.reply_capacity - len(answers.OPEN + answers.CLOSE)
    for number in range(max(3, -(-REPLIES // subject.rows))):
        junk = [noise.bytes(int(noise.integers(0, room + 1))) for _ in range(subject.rows)]
        if number % 3 == 0:
            yield junk
        elif number % 3 == 1:
            yield [answers.OPEN.encode() + one + answers.CLOSE.encode() for one in junk]
        else:
            yield [_mutated(noise, reply) for reply in valid]


def _mutated(noise: np.random.Generator, reply: bytes) -> bytes:
    """The reply with a byte changed, left out or doubled, or its end cut off."""
    at = int(noise.integers(len(reply)))
    change = (noise.bytes(1), b"", reply[at : at + 1] * 2, b"")[kind := int(noise.integers(4))]
    return reply[:at] + change + (b"" if kind == 3 else reply[at + 1 :])


# --- what is seen ---------------------------------------------------------------------------------------


def check_observations_follow(subject: Subject) -> None:
    """Picture, symbols and words (observation and state) tell instances apart, and change when an expert's
    step changes the state."""
    seen = _seen(subject, subject.start[1].state)
    for scale, rows in scales(subject):
        differ = np.diff(seen["symbolic"][rows]) != 0
        assert differ.any(), f"scale {scale}: `symbolic` is the same for all instances"
        for name in ("pixels", "text"):
            unseen = differ & (np.diff(seen[name][rows]) == 0)
            assert not unseen.any(), f"scale {scale}: `{name}` is the same for two different instances"
    for turn in subject.expert_play[:WATCHED_TURNS]:
        changed = ~equal_rows(shown(subject, turn.before.state), shown(subject, turn.after.state))
        after = _seen(subject, turn.after.state)
        for name in OBSERVATIONS:
            unseen = changed & (seen[name] == after[name])
            assert not unseen.any(), f"`{name}` stays the same though the state changes"
        seen = after


def _seen(subject: Subject, state: Any) -> dict[str, np.ndarray]:
    """A fingerprint int64[N] of each observation."""
    arrays, texts, _ = subject.look(state)
    seen = {
        "symbolic": arrays["symbolic"],
        "pixels": arrays["pixels"],
        "text": (texts.observation, texts.state),
    }
    return {name: fingerprint(leaf) for name, leaf in seen.items()}


def check_harness(subject: Subject) -> None:
    """The prompt of each level is the task and the sections that are left, in plain Python."""
    _, texts, prompts = jax.device_get(subject.look(subject.start[1].state))
    for row in one_row_a_level(subject):
        bodies = [text.decode(row_of(part, row)) for part in (texts.observation, texts.state, texts.hint)]
        bodies.append(subject.env.rules)
        for harness in range(NUM_HARNESS_LEVELS):
            kept = list(zip(SECTIONS, bodies, strict=True))[harness:]
            wanted = subject.env.task + "".join(f"\n{title}{body}" for title, body in kept if body)
            found = text.decode(Text(prompts.data[row, harness], prompts.length[row, harness]))
            assert found == wanted, f"harness {harness} says\n{found}\nbut should say\n{wanted}"
    for name, part in (("prompt", prompts), *((name, getattr(texts, name)) for name in _TEXTS)):
        beyond = np.arange(part.data.shape[-1]) >= part.length[..., None]
        assert (part.data[beyond] == 0).all(), f"{name}: bytes after the text are not zero"
        assert (part.length <= part.data.shape[-1]).all(), f"{name}: the text is longer than its capacity"


_TEXTS = ("observation", "state", "hint")


def check_hidden(subject: Subject) -> None:
    """Picture, symbols, observation and state in words do not depend on the fields in `hidden`: with those
    of other instances they stay the same. (A hint may depend on them.)"""
    state = subject.start[1].state
    by_scale = (subject.env.num_scales, subject.rows_a_scale)
    swap = lambda leaf: jnp.roll(leaf.reshape(*by_scale, *leaf.shape[1:]), 1, 1).reshape(leaf.shape)  # noqa: E731
    for name in subject.env.hidden:
        other = dataclasses.replace(state, **{name: jax.tree.map(swap, getattr(state, name))})
        assert not equal_rows(state, other).all(), f"hidden field {name} is the same in all instances"
        (arrays, texts, _), (others, other_texts, _) = subject.look(state), subject.look(other)
        ours = (arrays, texts.observation, texts.state)
        leaks = ~equal_rows(ours, (others, other_texts.observation, other_texts.state))
        assert not leaks.any(), f"what is shown depends on the hidden field {name}"


CHECKS: tuple[Callable[[Subject], None], ...] = (
    check_avals,
    check_facts,
    check_state_bytes,
    check_compile_seconds,
    check_pictures,
    check_determinism,
    check_single,
    check_eager,
    check_expert,
    check_turns,
    check_abilities,
    check_short_clock,
    check_round_trip,
    check_replies,
    check_observations_follow,
    check_harness,
    check_hidden,
)
