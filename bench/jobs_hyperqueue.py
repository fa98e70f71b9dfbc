"""HyperQueue beside `reveza jobs run`: N steps of `true` on so many cores, outputs captured.

    PYTHON bench/jobs_hyperqueue.py STEPS WORKERS

where PYTHON has the package `hyperqueue` of PyPI, which brings server and worker with it. The last
line is the seconds from before the submission until all had ended; server and worker run by then.
"""

import pathlib
import sys
import tempfile
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig


def main():
    steps, workers = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=workers))
        client = cluster.client()
        outputs = pathlib.Path(folder)
        # The first job waits for the worker.
        warm = Job(folder)
        warm.program(["true"], stdout=None, stderr=None)
        client.wait_for_jobs([client.submit(warm)])
        begin = time.monotonic()
        job = Job(folder)
        for number in range(steps):
            job.program(["true", str(number)], stdout=outputs / f"{number}.out",
                        stderr=outputs / f"{number}.err")
        client.wait_for_jobs([client.submit(job)])
        print(time.monotonic() - begin)


if __name__ == "__main__":
    main()
