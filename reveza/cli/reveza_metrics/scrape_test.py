#!/usr/bin/env python3
"""A real Prometheus scrapes `reveza metrics` beside programs that share a card of fakecuda, and answers every query of
the dashboard for Grafana.

  scrape_test.py BUILD PROMETHEUS

PROMETHEUS is a folder that may have the program; else that of the PATH is used. Ends with 77 (skipped) without any.
"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "reveza/cli/reveza_web"))
from testing_chromium import Failure, expect  # noqa: E402
from testing_world import World  # noqa: E402

SKIPPED = 77
CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs: [{{job_name: reveza, static_configs: [{{targets: ["{target}"]}}]}}]
rule_files: [rules.yml]
"""
# The alert of docs/metrics.md, among others.
RULES = """
groups:
  - name: reveza
    rules:
{alert}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    def __init__(self, program: str, world: World, target: str):
        folder = world.folder / "prometheus"
        folder.mkdir()
        (folder / "prometheus.yml").write_text(CONFIGURATION.format(target=target))
        alert = re.search(r"```yaml\n(- alert:.*?)```", (ROOT / "docs/metrics.md").read_text(), re.DOTALL)
        assert alert
        (folder / "rules.yml").write_text(RULES.format(
            alert="".join(f"      {line}\n" for line in alert[1].splitlines())))
        self._url = f"http://127.0.0.1:{free_port()}"
        self._process = world.start(
            program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={self._url.removeprefix('http://')}")

    def query(self, expression: str) -> list[dict]:
        """Returns the series of an instant query; none while the server starts."""
        expect(self._process.poll() is None, "Prometheus has ended")
        where = f"{self._url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        try:
            with urllib.request.urlopen(where, timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []
            raise Failure(f"{expression}: {error.read().decode()}") from error
        except OSError:
            return []

    def await_series(self, expression: str, count: int = 1) -> list[dict]:
        until = time.monotonic() + 120
        while len(found := self.query(expression)) < count:
            expect(time.monotonic() < until, f"no {count} series of {expression}, but {found}")
            time.sleep(0.2)
        return found


def value(series: dict) -> float:
    return float(series["value"][1])


def dashboard_queries() -> list[str]:
    found = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            if "expr" in node:
                found.append(node["expr"])
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(json.loads((ROOT / "deploy/grafana/reveza.json").read_text()))
    return [re.sub(r"\$__\w+", "1m", re.sub(r"\$\{?\w+\}?(?=\")", ".*", query)) for query in found]


def check(prometheus: Prometheus) -> None:
    (up,) = prometheus.await_series('up{job="reveza"} == 1')
    expect(value(up) == 1, "the scrape failed")
    prometheus.await_series("reveza_daemon_up == 1")
    used = prometheus.await_series("reveza_program_gpu_seconds_total > 0", 2)
    expect({one["metric"]["program"] for one in used} == {"train", "infer"}, f"GPU seconds of {used}")
    prometheus.await_series("reveza_program_waited_seconds_total > 0", 2)
    # Both compute, so both counters grow.
    prometheus.await_series("increase(reveza_program_gpu_seconds_total[1m]) > 0", 2)
    for series in prometheus.await_series("DCGM_FI_DEV_FB_USED", 3):
        labels = series["metric"]
        expect(labels["device"] == "nvidia0" and labels["UUID"].startswith("GPU-") and labels["modelName"],
               f"labels {labels}")
    programs = {one["metric"].get("program", "") for one in prometheus.query("DCGM_FI_DEV_FB_USED")}
    expect(programs == {"train", "infer", ""}, f"memory of {programs}")
    # Used and free memory add up to the card's.
    prometheus.await_series("abs(sum by (gpu) (DCGM_FI_DEV_FB_USED) + sum by (gpu) (DCGM_FI_DEV_FB_FREE)"
                            " - sum by (gpu) (DCGM_FI_DEV_FB_TOTAL)) < 1")
    queries = dashboard_queries()
    expect(len(queries) > 10, "the dashboard has no queries")
    for query in queries:
        prometheus.query(query)  # an error of the query is a Failure


def main(arguments: list[str]) -> int:
    build, folder = map(pathlib.Path, arguments)
    program = shutil.which("prometheus", path=folder) or shutil.which("prometheus")
    if program is None:
        print("skipped: there is no Prometheus (tools/setup.sh test fetches it)")
        return SKIPPED
    with World(build.resolve()) as world:
        world.start_daemon()
        world.start_worker("train", 56)
        world.start_worker("infer", 40)
        server = world.start(world.program("reveza"), "metrics", "--dcgm-names", "--listen", "127.0.0.1:0",
                             stdout=subprocess.PIPE, text=True)
        line = server.stdout.readline()
        found = re.search(r"http://([\d.:]+)/metrics", line)
        expect(found is not None, f"reveza metrics printed {line!r}")
        assert found
        check(Prometheus(str(pathlib.Path(program).resolve()), world, found[1]))
    print("Prometheus has scraped the metrics")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
