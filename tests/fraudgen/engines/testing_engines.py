"""What tests of fraudgen on engines share: the rows that the program writes, and a digest of rows."""

import hashlib
import io
import os
import pathlib
import subprocess
import sys

import pyarrow
import pyarrow.csv
import pyarrow.ipc

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PACKAGES = BUILD / "lib/python"
sys.path.insert(0, str(PACKAGES))
# Workers import the package too.
os.environ["PATH"] = f"{BUILD / 'bin'}:{os.environ['PATH']}"
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH")]))

# Several blocks, so that no shard is empty: at least 125,000 rows each.
ROWS = 400_000
SHARDS = 3
SETTINGS = {"rows": ROWS, "model": "classic", "seed": 7}


def program_shard(index, shards=SHARDS, **settings):
    """Returns what the program writes for a shard, counted from 0, without dictionaries."""
    options = [word for name, value in (settings or SETTINGS).items()
               for word in ("--" + name.replace("_", "-"), str(value))]
    done = subprocess.run([BUILD / "bin/fraudgen", "--shard", f"{index + 1}/{shards}", "-o", "-", "--format", "arrow",
                           "--threads", "1", "--quiet", *options], capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return plain(pyarrow.ipc.open_stream(done.stdout).read_all())


def plain(table):
    """Returns a table with values in place of dictionaries."""
    for at, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
    return table


def digest(table):
    """Returns a hash of the values of all rows, in their order."""
    text = io.BytesIO()
    pyarrow.csv.write_csv(plain(table), text)
    return hashlib.sha256(text.getvalue()).hexdigest()
