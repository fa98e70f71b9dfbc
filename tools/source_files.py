"""Which files of a checkout belong to the project."""

import pathlib
import subprocess


def source_files(root: pathlib.Path) -> list[pathlib.Path]:
    """What git tracks or would track. All but build/ where git does not say: in an unpacked
    release, or in a checkout of another user, which git refuses."""
    listed = None
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=False, capture_output=True)
    if listed is not None and listed.returncode == 0:
        files = [root / name for name in listed.stdout.decode().split("\0") if name]
    else:
        files = [file for file in root.rglob("*")
                 if file.relative_to(root).parts[0] not in ("build", ".git")
                 and "__pycache__" not in file.parts]
    return sorted(file for file in files if file.is_file() and not file.is_symlink())


def report(violations: list[str], what: str) -> int:
    """Prints them, or one line that all is well; returns the exit status."""
    for violation in violations:
        print(violation)
    if not violations:
        print(what)
    return 1 if violations else 0
