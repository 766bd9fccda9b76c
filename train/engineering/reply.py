"""An engineer's free text -> a configuration, or the reason why there is none.

A reply is foreign text: it is read, never loaded. PyYAML only splits the block into events, from which no
object is built; tags, anchors, aliases, lists and further documents end the reading where they are met. So no
text can call, expand or recurse, and its length is bounded before the first character is looked at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from train.engineering.config import LIMITS, SIZES, GeneratorConfig, normalised

MOST_CHARACTERS = 200_000  # of a reply, with its thinking
MOST_BLOCK_CHARACTERS = 8_000  # of the YAML in it; a config takes about 400
MOST_SUMMARY_CHARACTERS = 1_500
THOUGHT, THOUGHT_ENDS = "<think>", "</think>"
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^\s`]*)")
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
INFINITE = re.compile(r"[-+]?\.?inf(inity)?", re.IGNORECASE)
NOT_A_NUMBER = re.compile(r"[-+]?\.?nan", re.IGNORECASE)
BOOLEANS = ("true", "false", "yes", "no", "on", "off")
NULLS = ("", "~", "null")


@dataclass(frozen=True)
class Rejection:
    """Why a reply is no configuration: one line that names the place and what is expected there."""

    reason: str


def parse(reply: str) -> GeneratorConfig | Rejection:
    """The configuration in an engineer's reply. Never raises for any text.

    What counts is the last fenced block marked yaml, or unmarked with `sizes:` in it; without any, the last
    lines that start with `sizes:`. Thinking up to `</think>` does not count.
    """
    try:
        return read_config(_block(reply))
    except ValueError as error:
        return Rejection(str(error))


def read_config(text: str) -> GeneratorConfig:
    """The configuration that YAML text of the form `GeneratorConfig.to_yaml` states.

    Raises ValueError naming the place of what is wrong.
    """
    if len(text) > MOST_BLOCK_CHARACTERS:
        raise ValueError(f"the YAML has {len(text)} characters; at most {MOST_BLOCK_CHARACTERS} are read")
    top = _Reader(text).document()
    if set(top) != {"sizes"}:
        raise ValueError(f"{_wrong_keys(top, ('sizes',))}; the one key is `sizes`")
    sizes: dict[int, dict[str, float]] = {}
    for key, ratios in _mapping(top["sizes"], "sizes").items():
        size = _size(key)
        where = f"sizes.{size}"
        named = _mapping(ratios, where)
        if set(named) != set(LIMITS):
            raise ValueError(f"{where}: {_wrong_keys(named, tuple(LIMITS))}; it takes {', '.join(LIMITS)}")
        sizes[size] = {name: _ratio(named[name], f"{where}.{name}") for name in LIMITS}
    missing = [size for size in SIZES if size not in sizes]
    if missing:
        raise ValueError(f"sizes: {missing[0]} is missing; a size without data has data: 0")
    return normalised(*([sizes[size][name] for size in SIZES] for name in LIMITS))


def summary(reply: str) -> str:
    """What an engineer wrote before its configuration, without thinking, cut to 1,500 characters."""
    said = reply[-MOST_CHARACTERS:].rpartition(THOUGHT_ENDS)[2]
    prose = re.split(r"^[ \t]*(?:`{3,}|~{3,}|sizes:|<think>)", said, maxsplit=1, flags=re.MULTILINE)[0]
    return prose.strip()[:MOST_SUMMARY_CHARACTERS]


def _block(reply: str) -> str:
    if len(reply) > MOST_CHARACTERS:
        raise ValueError(f"the reply has {len(reply)} characters; at most {MOST_CHARACTERS} are read")
    said = reply.rpartition(THOUGHT_ENDS)[2]
    if THOUGHT in said:
        raise ValueError(f"the reply ends inside {THOUGHT}")
    lines = said.splitlines(keepends=True)
    fenced = list(_fenced(lines))
    if fenced:
        return fenced[-1]
    starts = [i for i, line in enumerate(lines) if line.startswith("sizes:")]
    if not starts:
        raise ValueError("no YAML block with `sizes:`")
    end = starts[-1] + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t}#"):
        end += 1
    return "".join(lines[starts[-1] : end])


def _fenced(lines: list[str]) -> Iterator[str]:
    """The blocks between fences that may hold a configuration; a fence left open ends with the text."""
    fence, kind, inside = "", "", []
    for line in [*lines, ""]:
        mark = FENCE.match(line)
        closes = not line or (mark is not None and not mark[2] and mark[1].startswith(fence))
        if fence and closes:
            block = "".join(inside)
            if kind in ("yaml", "yml") or (not kind and "sizes:" in block):
                yield block
            fence = ""
        elif fence:
            inside.append(line)
        elif mark:
            fence, kind, inside = mark[1], mark[2].lower(), []


@dataclass(frozen=True)
class _Scalar:
    """A word as it stands in the text; `quoted` ones are strings whatever they spell."""

    text: str
    quoted: bool

    def __str__(self) -> str:
        return repr(self.text if len(self.text) <= 40 else self.text[:40] + "...")


_Node = _Scalar | dict[str, "_Node"]


class _Reader:
    """Nested mappings of words from YAML's events."""

    DEPTH = 3  # the document, its sizes, a size's ratios

    def __init__(self, text: str) -> None:
        self._events = _events(text)

    def document(self) -> dict[str, _Node]:
        next(self._events)  # the stream starts
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise ValueError("the YAML block is empty")
        top = _mapping(self._node(next(self._events), depth=1), "the YAML block")
        next(self._events)  # the document ends
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            raise ValueError("several YAML documents; one is needed")
        return top

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        _refuse_references(event)
        if isinstance(event, yaml.ScalarEvent):
            return _Scalar(event.value, quoted=event.style is not None)
        if isinstance(event, yaml.SequenceStartEvent):
            raise ValueError("a list; the block has mappings and numbers only")
        if depth > self.DEPTH:
            raise ValueError(f"mappings nested deeper than {self.DEPTH}; a ratio is a number")
        found: dict[str, _Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = _key(event)
            if key in found:
                raise ValueError(f"key {key[:40]!r} appears twice")
            found[key] = self._node(next(self._events), depth + 1)
        return found


def _key(event: yaml.Event) -> str:
    _refuse_references(event)
    if not isinstance(event, yaml.ScalarEvent):
        raise ValueError("a mapping or list as key; keys are plain words and numbers")
    if event.style is not None:
        raise ValueError(f"key {event.value[:40]!r} is a string in quotes; write it plain")
    return event.value


def _refuse_references(event: yaml.Event) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise ValueError(f"alias {event.anchor[:40]!r}: aliases are not read; write the ratios out")
    if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
        raise ValueError(f"anchor {event.anchor[:40]!r}: anchors are not read; write the ratios out")
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
        raise ValueError(f"tag {event.tag[:40]!r}: tags are not read; write plain numbers")


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"not YAML: {str(error.problem)[:80]!r} in line {line} of the block") from None
    except (yaml.YAMLError, ValueError, OverflowError):  # the latter two: escapes beyond Unicode
        raise ValueError("not YAML: the block has a character that YAML does not allow") from None


def _mapping(node: _Node, where: str) -> dict[str, _Node]:
    if isinstance(node, _Scalar):
        raise ValueError(f"{where}: must be a mapping, not {node}")
    return node


def _wrong_keys(found: dict[str, _Node], allowed: tuple[str, ...]) -> str:
    unknown = [key for key in found if key not in allowed]
    if unknown:
        return f"unknown key {unknown[0][:40]!r}"
    return f"{next(name for name in allowed if name not in found)} is missing"


def _size(key: str) -> int:
    if not re.fullmatch(r"-?[1-9]\d*|0", key, re.ASCII):
        raise ValueError(f"sizes: the key {key[:40]!r} is not a whole number")
    if len(key) > 2 or int(key) not in SIZES:
        raise ValueError(f"sizes: {key[:40]} is not a size in {SIZES[0]}..{SIZES[-1]}")
    return int(key)


def _ratio(node: _Node, where: str) -> float:
    if not isinstance(node, _Scalar):
        raise ValueError(f"{where}: a mapping, not a number")
    if node.quoted:
        raise ValueError(f"{where}: the string {node}; write a plain number")
    if NUMBER.fullmatch(node.text):
        return float(node.text)
    word = node.text.lower()
    kinds = {
        "NaN": NOT_A_NUMBER.fullmatch(word),
        "infinite": INFINITE.fullmatch(word),
        "a boolean": word in BOOLEANS,
        "empty": word in NULLS,
    }
    kind = next((kind for kind, holds in kinds.items() if holds), "a string")
    raise ValueError(f"{where}: {node} is {kind}, not a number")
