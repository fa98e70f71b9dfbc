#!/usr/bin/env python3
"""Checks relative links in Markdown files, including their #section.

  tools/check_links.py [ROOT]
"""

import pathlib
import re
import urllib.parse

from check_text import headings
from source_files import check, source_files

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def without_code(text: str) -> str:
    """Returns the text with code replaced by spaces; line numbers are kept."""
    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match.group(0))

    text = re.sub(r"^\s*(```+|~~~+).*?^\s*\1", blank, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)[^`\n]+\1", blank, text)


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub generates for the headings of a page."""
    found: set[str] = set()
    for _, words in headings(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        unique, number = name, 0
        while unique in found:
            number += 1
            unique = f"{name}-{number}"
        found.add(unique)
    return found | set(re.findall(r'<a\s+(?:id|name)="([^"]+)"', text))


def violations(root: pathlib.Path) -> tuple[list[str], int]:
    found = []
    count = 0
    for path in source_files(root):
        if path.suffix != ".md":
            continue
        text = without_code(path.read_text("utf-8"))
        for match in [*LINK.finditer(text), *DEFINITION.finditer(text)]:
            link = match.group(1)
            if ELSEWHERE.match(link):
                continue
            count += 1
            place = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start(1)) + 1}"
            file, _, section = urllib.parse.unquote(link).partition("#")
            base = root if file.startswith("/") else path.parent
            target = (base / file.lstrip("/")).resolve() if file else path
            if not target.exists():
                found.append(f"{place}: {link} does not exist")
            elif not target.is_relative_to(root):
                found.append(f"{place}: {link} points outside the project")
            elif section and target.suffix == ".md" and section not in anchors(
                    target.read_text("utf-8")):
                found.append(f"{place}: {link}: no such section")
    return found, count


if __name__ == "__main__":
    check(violations, "links: {} links are valid")
