"""Finds an expression of C++ in a function, whatever the layout of the text and wherever it lies.

Code is compared token by token, without white space and comments. A function is found by its name,
`Name` or `Class::Name`, among the definitions in the files of a room.
"""

import pathlib
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                              # comments
      |R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"             # raw strings
      |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'          # strings and characters
      |(?:0[xX][\da-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)\w*
      |\w+|::|->|<<=|<=>|[-+*/%&|^=!<>]=|&&|\|\||\+\+|--|<<|[^\s\w]""",
    re.VERBOSE | re.DOTALL)


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    return [Token(match.group(), match.start(), match.end()) for match in TOKEN.finditer(text)
            if not match.group().startswith(("//", "/*"))]


def closing(code: list[Token], index: int) -> int:
    """The index of the bracket that closes the one at `index`; the end if there is none."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opens, closes = code[index].text, pairs[code[index].text]
    depth = 0
    for place in range(index, len(code)):
        depth += (code[place].text == opens) - (code[place].text == closes)
        if depth == 0:
            return place
    return len(code) - 1


def body_after(code: list[Token], index: int) -> tuple[int, int] | None:
    """The body of a function whose parameters open at `index`; None for a call or declaration."""
    place = closing(code, index) + 1
    while place < len(code) and code[place].text not in (";", "{", "}", ")", ","):
        if code[place].text == ":":  # members are initialised before the body
            place += 1
            while place < len(code) and code[place].text != ";":
                if code[place].text in ("(", "{"):
                    after = closing(code, place) + 1
                    if code[place].text == "{" and code[place - 1].text in (")", "}"):
                        break
                    place = after
                else:
                    place += 1
            break
        if code[place].text in ("(", "["):
            place = closing(code, place)
        elif code[place].text == "=":
            return None
        place += 1
    if place < len(code) and code[place].text == "{":
        return index, closing(code, place)
    return None


def class_bodies(code: list[Token], name: str) -> list[tuple[int, int]]:
    found = []
    for index, token in enumerate(code[:-2]):
        if token.text in ("class", "struct") and name in (code[index + 1].text, code[index + 2].text):
            place = index + 1
            while place < len(code) and code[place].text not in (";", "{", "(", ")", ">"):
                place += 1
            if place < len(code) and code[place].text == "{":
                found.append((place, closing(code, place)))
    return found


def definitions(code: list[Token], function: str) -> list[tuple[int, int]]:
    """First and last token of each definition of the function, parameters included."""
    owner, _, name = function.rpartition("::")
    destructor = name.startswith("~")
    name = name.removeprefix("~")
    inside = class_bodies(code, owner) if owner else []
    found = []
    for index in range(len(code) - 1):
        if code[index].text != name or code[index + 1].text != "(":
            continue
        start = index - destructor
        if destructor != (index > 0 and code[index - 1].text == "~"):
            continue
        qualified = start >= 2 and code[start - 1].text == "::"
        if owner:
            if not (qualified and code[start - 2].text == owner
                    or any(first < index < last for first, last in inside)):
                continue
        elif qualified:
            continue
        body = body_after(code, index + 1)
        if body:
            found.append(body)
    return found


@dataclass(frozen=True)
class Place:
    """Where an expression stands: a file, and a part of its text."""
    path: pathlib.Path
    start: int
    end: int


def room_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """The code of a room and of the folders in it; a file stands for itself. No tests."""
    if folder.is_file():
        return [folder]
    files = [path for path in folder.rglob("*") if path.suffix in (".cc", ".h", ".cuh", ".cu", ".S")]
    return sorted(path for path in files
                  if not re.search(r"_test\.|/testing", path.relative_to(folder.parent).as_posix()))


def find(folder: pathlib.Path, function: str, expression: str) -> list[Place]:
    """Each place of `expression` in `function`, or anywhere in the room if that is empty."""
    wanted = [token.text for token in tokens(expression)]
    places = set()
    for path in room_files(folder):
        text = path.read_text("utf-8")
        if function and function.rpartition("::")[2] not in text:
            continue
        code = tokens(text)
        parts = definitions(code, function) if function else [(0, len(code) - 1)]
        texts = [token.text for token in code]
        for first, last in parts:
            for index in range(first, last + 2 - len(wanted)):
                if texts[index] == wanted[0] and texts[index:index + len(wanted)] == wanted:
                    places.add(Place(path, code[index].start, code[index + len(wanted) - 1].end))
    return sorted(places, key=lambda place: (place.path, place.start))
