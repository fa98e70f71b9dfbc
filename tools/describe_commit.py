#!/usr/bin/env python3
"""Writes the commit of a tree, and whether the tree has other changes, as a C++ header.

  tools/describe_commit.py TREE HEADER

Writes nothing if the header would stay the same, so that nothing is built again. Files that Git
ignores do not count as changes, nor do new logs in bench/results.
"""

import os
import subprocess
import sys


def git(tree, *arguments):
    """Returns the output of a git command, or None if it fails or there is no git."""
    try:
        done = subprocess.run(["git", "--no-optional-locks", "-C", tree, *arguments],
                              capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def commit_of(tree):
    """Returns for example "1a2b3c4d5e6f, with uncommitted changes"; "unknown" outside Git."""
    root = git(tree, "rev-parse", "--show-toplevel")
    # A copy without its history may lie in a folder of another repository.
    if not root or not os.path.samefile(root, tree):
        return "unknown"
    commit = git(tree, "rev-parse", "--short=12", "HEAD")
    changes = git(tree, "status", "--porcelain", "--", ".", ":!bench/results")
    if not commit or changes is None:
        return "unknown"
    return f"{commit}, with uncommitted changes" if changes else commit


def main(tree, header):
    text = f'#pragma once\n#define REVEZA_COMMIT "{commit_of(tree)}"\n'
    try:
        with open(header, encoding="utf-8") as old:
            if old.read() == text:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(header), exist_ok=True)
    with open(header, "w", encoding="utf-8") as new:
        new.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
