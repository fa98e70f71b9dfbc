"""Measures HyperQueue: STEPS steps of a program, `true`, on WORKERS cores, outputs captured.

    PYTHON bench/jobs_hyperqueue.py STEPS WORKERS [PROGRAM ARGUMENTS...]

PYTHON needs the package `hyperqueue` of PyPI, which includes server and worker. Prints the seconds
from submission to the end of the last step; server and worker run before. A step gets its number as the last argument.
"""

import pathlib
import sys
import tempfile
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig


def main():
    steps, workers = int(sys.argv[1]), int(sys.argv[2])
    program = sys.argv[3:] or ["true"]
    with tempfile.TemporaryDirectory() as folder, LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=workers))
        client = cluster.client()
        outputs = pathlib.Path(folder)
        # A first job waits until the worker is ready.
        warm = Job(folder)
        warm.program(["true"], stdout=None, stderr=None)
        client.wait_for_jobs([client.submit(warm)])
        begin = time.monotonic()
        job = Job(folder)
        for number in range(1, steps + 1):
            job.program([*program, str(number)], stdout=outputs / f"{number}.out",
                        stderr=outputs / f"{number}.err")
        client.wait_for_jobs([client.submit(job)])
        print(time.monotonic() - begin)


if __name__ == "__main__":
    main()
