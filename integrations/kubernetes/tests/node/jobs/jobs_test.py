"""Jobs of `reveza jobs run --on kubernetes` on a real node; ../steps_test.go runs it there."""

import json
import os
import pathlib
import sys
import time
import unittest

import job_test
from cluster import Cluster

BUILD, FOLDER = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
CLUSTER = Cluster(BUILD, FOLDER)
OUT = FOLDER / "out"


def setUpModule():
    CLUSTER.start()


job_test.JobTest.cluster, job_test.JobTest.engine, job_test.JobTest.out = CLUSTER, "kubernetes", OUT


class KubernetesTest(job_test.EngineTest):
    slots, limit, place = 4, ("--workers", "4"), "hostname"

    def expect_places(self, places):
        self.assertEqual(len(set(places)), self.slots, "as many pods")

    def why(self, text):
        CLUSTER.wait(lambda: text in CLUSTER.jobs("why", self.name).stdout, f"reason {text}")

    def test_a_step_out_of_memory_gets_more(self):
        # Faster than the runner of the task looks, so that the kernel ends it.
        line = "echo {n} >> LINES; python3 -c 'len(bytearray(300 << 20))'"
        self.finish(CLUSTER.start_job(*self.words(line, "1..1", "--memory", "150MiB")))
        limits = [job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
                  for job in self.manifests()]
        self.assertEqual(len(self.written()), len(limits))
        self.assertGreater(len(limits), 1)
        self.assertEqual(sorted(map(int, limits)), list(map(int, limits)))

    def manifests(self):
        arrays = sorted((OUT / "shared" / self.name).glob("array-*/job.json"))
        return [json.loads(file.read_text()) for file in arrays]

    def test_why_says_what_the_scheduler_says(self):
        runner = CLUSTER.start_job(*self.words("true {n}", "1..2", "--cpus", "640"))
        self.why("Unschedulable: 0/1 nodes are available: 1 Insufficient cpu")
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)
        self.assertEqual(CLUSTER.kubectl("get", "jobs", "--output=name").stdout, "")

    def test_why_says_that_there_is_no_image(self):
        runner = CLUSTER.start_job(*self.words("true {n}", "1..1", "--image", "reveza.local/none:1"))
        self.why("ImagePull")
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)

    def test_why_says_that_a_quota_is_exceeded(self):
        CLUSTER.wait(lambda: CLUSTER.kubectl("create", "quota", "small", "--hard=pods=1").returncode == 0, "quota")
        CLUSTER.wait(lambda: '"pods":"1"' in CLUSTER.kubectl("get", "quota", "small", "--output=jsonpath={.status.hard}").stdout,
                     "quota in force")
        runner = CLUSTER.start_job(*self.words("sleep 600 {n}", "1..3"))
        self.why("exceeded quota: small")
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)

    def test_what_is_refused_is_said(self):
        for user, expected in (("system-kube-scheduler", "an administrator can allow it"), ("nobody", "it knows no cluster")):
            configuration = pathlib.Path(os.environ["KUBECONFIG"]).with_name(f"{user}.kubeconfig")
            self.finish(CLUSTER.start_job(*self.words("true {n}", "1..1"), KUBECONFIG=str(configuration)), 2)
            self.assertIn(expected, self.log())
        self.assertEqual(self.arrays(), 0)

    def test_an_evicted_pod_and_a_deleted_job_run_again(self):
        words = self.words("echo start >> LINES; [ -e LINES.go ] || sleep 600; echo end >> LINES", "1..3")
        runner = CLUSTER.start_job(*words)
        self.await_lines(3)
        (OUT / f"{self.name}.go").touch()
        pods = CLUSTER.running()
        eviction = FOLDER / "eviction.json"
        eviction.write_text('{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "%s"}}' % pods[0])
        made = CLUSTER.kubectl("create", f"--raw=/api/v1/namespaces/default/pods/{pods[0]}/eviction",
                               f"--filename={eviction}")
        self.assertEqual(made.returncode, 0, made.stderr)
        CLUSTER.kubectl("delete", "jobs", "--all", "--wait=false")
        self.finish(runner, seconds=300)
        self.assertEqual(self.written().count("end"), 3)


class Storm(job_test.StormTest):
    targets = ["home", "home", "runner", "runner", "step", "step", "pod", "pod", "deleted", "forced", "kubelet", "kubelet",
               "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    seconds = 600

    def strike(self, what, choose):
        if what == "pod":
            self.kill_one(choose, CLUSTER.containers())
        elif what in ("deleted", "forced"):
            found = CLUSTER.running()
            if found:
                force = ("--force", "--grace-period=0") if what == "forced" else ()
                CLUSTER.kubectl("delete", "pod", choose.choice(found), "--wait=false", *force)
        else:
            CLUSTER.kill(what)
            time.sleep(choose.uniform(0, 3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
