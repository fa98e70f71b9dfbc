"""What the checks of the project's files share."""

import pathlib
import subprocess
import sys
from collections.abc import Callable


def source_files(root: pathlib.Path) -> list[pathlib.Path]:
    """Returns the files that git tracks or would track.

    Without git (in an unpacked release, or a checkout of another user, which git rejects) returns all
    files outside build/.
    """
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


def check(violations: Callable[[pathlib.Path], tuple[list[str], int]], summary: str) -> None:
    """Runs `violations` on the tree named on the command line, by default this one, and exits.

    Prints the violations, or `summary` with the number of things checked if there are none."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    found, count = violations(root.resolve())
    print("\n".join(found) or summary.format(count))
    sys.exit(1 if found else 0)
