"""More than 200 engineer replies that are no configuration, by kind, each with the reason it must be given.

`{mark}` stands for a file that a reply would make if anything in it were ever executed.
"""

from train.engineering.config import SIZES

ROWS = dict.fromkeys(SIZES, "{data: 0.125, hole: 0.2, wait: 0.3}")
MEGABYTE = 1_000_000


def block(rows=ROWS, head="sizes:\n"):
    return head + "".join(f"  {size}: {row}\n" for size, row in rows.items())


def fenced(text):
    return f"I looked at the failures.\n```yaml\n{text}\n```\nGood luck!"


def with_row(row, size=5):
    """A reply whose size 5 has this row."""
    return fenced(block(ROWS | {size: row}))


def with_ratio(text, name="hole"):
    ratios = {"data": "0.125", "hole": "0.2", "wait": "0.3"} | {name: text}
    return with_row("{" + ", ".join(f"{key}: {value}" for key, value in ratios.items()) + "}")


def with_size(key):
    """A reply whose size 5 is called otherwise."""
    return fenced(block({key if size == 5 else size: row for size, row in ROWS.items()}))


def bomb(width, depth):
    lines = ["a0: &a0 [" + ", ".join(["lol"] * width) + "]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * width) + "]" for i in range(1, depth)]
    return fenced("\n".join(lines))


MALFORMED: dict[str, tuple[str, list[str]]] = {
    "no block": (
        r"^no YAML block with `sizes:`$",
        [
            "",
            " \n\t\n",
            "I would keep everything as it is.",
            "More data for size 7, please: sizes 7 and 8.",
            "```json\n" + '{"sizes": {"3": {"data": 1}}}' + "\n```",
            "```python\nimport os\nos.system('touch {mark}')\n```",
            "```\nconfig:\n  3: 0.1\n```",
            "```toml\n[sizes.3]\ndata = 0.1\n```",
            "size: 3\ndata: 0.1",
            "- 3\n- 4",
            "Sizes:\n" + block()[7:],
            "<think>" + fenced(block()) + "</think> I cannot decide.",
            "\ud83d half a surrogate",
            "\x00\x01\x02",
            "{'sizes': 3}",
            "<sizes><3>0.1</3></sizes>",
        ],
    ),
    "unfinished thinking": (
        r"^the reply ends inside <think>$",
        ["<think>", "<think>" + fenced(block()), "<think>a</think><think>" + block(), "So: <think>\n" * 50],
    ),
    "empty block": (
        r"^the YAML block is empty$",
        [fenced(""), fenced("# nothing"), "```yml\n\n\n```", "~~~yaml\n"],
    ),
    "not YAML": (
        r"^not YAML: .*block",
        [
            fenced("sizes: {3: {data: 0.1, hole: 0.2"),
            fenced("sizes:\n\t3: {data: 0.1}"),
            fenced("sizes: }"),
            fenced("sizes: @data"),
            fenced("sizes: 'open"),
            fenced("sizes: 3: 4"),
            fenced("sizes:\n  3: {}\n 4: {}"),
            fenced("sizes: %3"),
            fenced("sizes: \x07"),
            fenced('sizes: "\\U00110000"'),
            fenced('sizes: "\\UFFFFFFFF"'),
            fenced('sizes: "\\q"'),
            fenced("%YAML 9.9\n---\nsizes: 3"),
            fenced("sizes: \ud800"),
        ],
    ),
    "unknown top key": (
        r"unknown key '.*'; the one key is `sizes`$",
        [fenced(block(head=f"{key}:\n")) for key in ("size", "Sizes", "config", "boards", "sizes ;", "3")]
        + [fenced(block() + f"{key}: 1") for key in ("seed", "epochs", "reward", "<<", "agents", "code")],
    ),
    "no mapping": (
        r"must be a mapping, not ",
        [
            fenced(text)
            for text in ("sizes:", "sizes: 3", "sizes: none", "3", "~", "sizes: 'all'", "sizes: |\n  3: 1")
        ]
        + [with_row(row) for row in ("0.1", "'data: 0.1'", "", "true")],
    ),
    "unknown ratio": (
        r"^sizes\.5: unknown key '.*'; it takes data, hole, wait$",
        [
            with_row(f"{{data: 0.125, hole: 0.2, wait: 0.3, {key}: 0.1}}")
            for key in ("holes", "Data", "weight", "agents", "__class__", "<<", "x", "ratio")
        ],
    ),
    "missing ratio": (
        r"^sizes\.5: (data|hole|wait) is missing; it takes data, hole, wait$",
        [
            with_row(row)
            for row in (
                "{}",
                "{data: 0.1}",
                "{hole: 0.2, wait: 0.3}",
                "{data: 0.125, wait: 0.3}",
                "{wait: 1, hole: 0}",
            )
        ],
    ),
    "missing size": (
        r"^sizes: \d+ is missing; a size without data has data: 0$",
        [fenced(block({s: row for s, row in ROWS.items() if s != size})) for size in SIZES]
        + [fenced("sizes: {}"), block({3: ROWS[3]})],
    ),
    "size outside": (
        r"^sizes: .* is not a size in 3\.\.10$",
        [
            with_size(key)
            for key in ("0", "1", "2", "11", "12", "64", "-3", "-10", "100", "9" * 40, "-" + "9" * 500)
        ],
    ),
    "size no number": (
        r"^sizes: the key '.*' is not a whole number$",
        [
            with_size(key)
            for key in ("five", "5.0", "5x5", "05", "0x5", "5_0", "1e1", "null", "true", ".nan", "\u0665")
        ],
    ),
    "size in quotes": (
        r"^key '.*' is a string in quotes; write it plain$",
        [with_size(key) for key in ("'5'", '"5"', "'five'", '"\\x35"', "''")]
        + [fenced(block(head="'sizes':\n")), fenced('{"sizes": {"3": {"data": 1}}}')],
    ),
    "ratio in quotes": (
        r"^sizes\.5\.\w+: the string '.*'; write a plain number$",
        [with_ratio(text, name) for name in ("data", "hole", "wait") for text in ("'0.1'", '"0.1"')]
        + [with_ratio('""'), with_ratio('\'__import__("os").system("touch {mark}")\'')],
    ),
    "ratio a string": (
        r"^sizes\.5\.\w+: '.*' is a string, not a number$",
        [
            with_ratio(text)
            for text in (
                "a third",
                "10%",
                "1/8",
                "0.1.2",
                "0x1",
                "0_1",
                "1:30",
                "--0.1",
                "e5",
                ".",
                "\u0660",
                "2026-11-30",
            )
        ],
    ),
    "boolean": (
        r"^sizes\.5\.\w+: '.*' is a boolean, not a number$",
        [with_ratio(text) for text in ("true", "False", "yes", "No", "ON", "off")],
    ),
    "null": (
        r"^sizes\.5\.\w+: '.*' is empty, not a number$",
        [with_ratio(t) for t in ("null", "~", "", "NULL")],
    ),
    "not a number": (
        r"^sizes\.5\.\w+: '.*' is NaN, not a number$",
        [
            with_ratio(text, name)
            for text, name in ((".nan", "data"), (".NaN", "hole"), ("nan", "wait"), ("-nan", "hole"))
        ],
    ),
    "infinite": (
        r"^sizes\.5\.\w+: '.*' is infinite, not a number$",
        [with_ratio(text, "wait") for text in (".inf", "-.inf", "+.Inf", "inf", "Infinity")],
    ),
    "ratio outside": (
        r"^sizes\.5\.(data|hole|wait): \S+ is not in 0\.\.(1|0\.5)$",
        [with_ratio(text, "data") for text in ("-0.1", "1.01", "1e308", "1e999", "-1e999", "4000")]
        + [with_ratio(text, "hole") for text in ("-1e-9", "0.51", "1", "50", "9" * 4500)]
        + [with_ratio(text, "wait") for text in ("-1", "1.0001", "30", "1e5")],
    ),
    "wrong sum": (
        r"^data: the ratios sum to \S+; they must sum to 1 within 0\.05$",
        [with_ratio(text, "data") for text in ("0", "0.0", "0.5", "1", "0.2", "0.05")]
        + [fenced(block().replace("0.125", text)) for text in ("0", "1", "0.1", "0.2")],
    ),
    "twice": (
        r"^key '.*' appears twice$",
        [fenced(block() + block()), fenced("sizes: {}\nsizes: {}")]
        + [fenced(block() + f"  {size}: {ROWS[size]}") for size in (3, 7, 10)]
        + [
            with_row(f"{{data: 0.125, hole: 0.2, wait: 0.3, {key}: 0.1}}") for key in ("data", "hole", "wait")
        ],
    ),
    "anchor": (
        r"^anchor '.*': anchors are not read; write the ratios out$",
        [
            bomb(9, 9),
            bomb(30, 30),
            with_ratio("&x 0.1"),
            with_row("&row {data: 0.125, hole: 0.2, wait: 0.3}"),
            fenced("&all " + block(head="{") + "}"),
            fenced("sizes: &s\n  3: *s"),
            fenced("sizes: {&k 3: {data: 1}}"),
        ],
    ),
    "alias": (
        r"^alias '.*': aliases are not read; write the ratios out$",
        [
            with_ratio("*x"),
            with_row("*row"),
            fenced("sizes: *all"),
            fenced("sizes: {*k : 1}"),
            with_row("{<<: *row}"),
        ],
    ),
    "tag": (
        r"^tag '.*': tags are not read; write plain numbers$",
        [
            fenced("!!python/object/apply:os.system ['touch {mark}']"),
            fenced("sizes: !!python/object/apply:subprocess.check_call [[touch, '{mark}']]"),
            fenced("sizes: !!python/object/new:os.system ['touch {mark}']"),
            fenced("sizes: !!python/name:os.system"),
            fenced("sizes: !!python/module:antigravity"),
            with_ratio("!!python/object/apply:eval [\"open('{mark}', 'w')\"]"),
            with_ratio("!!float 0.1"),
            with_ratio("!!str 0.1"),
            with_ratio("! 0.1"),
            with_row("!row {data: 0.1}"),
            fenced("sizes: !<tag:a%0Ab> 3"),
            fenced("? !!binary aGk=\n: 3"),
        ],
    ),
    "list": (
        r"^a list; the block has mappings and numbers only$",
        [
            fenced("- 3\n- 4"),
            fenced("sizes: [3, 4]"),
            with_row("[0.1, 0.2, 0.3]"),
            with_ratio("[0.1]"),
            fenced("[" * 7000),
        ],
    ),
    "nested": (
        r"^mappings nested deeper than 3; a ratio is a number$",
        [
            with_ratio("{value: 0.1}"),
            with_ratio("{}"),
            fenced("{a: " * 1500),
            fenced("sizes: " + "{3: " * 900),
        ],
    ),
    "key no word": (
        r"^a mapping or list as key; keys are plain words and numbers$",
        [
            fenced("? {a: 1}\n: 2"),
            fenced("{" * 7000),
            fenced("? " * 3000 + "a"),
            fenced("sizes: {[3, 4]: 0.1}"),
        ],
    ),
    "several documents": (
        r"^several YAML documents; one is needed$",
        [
            fenced(block() + "---\n" + block()),
            fenced(block() + "...\n---\nsizes: 3"),
            fenced(block() + "---\n" * 20),
        ],
    ),
    "long block": (
        r"^the YAML has \d+ characters; at most 8000 are read$",
        [fenced(block() + "#" * 9000), fenced("[" * 100_000), fenced("&a " * 50_000), with_ratio("1" * 8000)],
    ),
    "a megabyte": (
        r"^the reply has \d+ characters; at most 200000 are read$",
        [
            text * (MEGABYTE // len(text))
            for text in (
                "a",
                "{",
                "```\n",
                "sizes:\n",
                " ",
                "\n",
                "<think>",
                "</think>",
                "```yaml\n",
                "\x00",
                "~~~",
                "é",
            )
        ]
        + [fenced(block()) + "\n" * MEGABYTE, bomb(300, 600)],
    ),
}
