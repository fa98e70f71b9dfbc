"""Jobs of `reveza jobs run --on kubernetes` on a real node; ../steps_test.go runs it there."""

import json
import os
import pathlib
import signal
import sys
import time
import unittest

import processes
from cluster import Cluster
from job_test import JobTest, StormTest

BUILD, FOLDER = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
CLUSTER = Cluster(BUILD, FOLDER)
OUT = FOLDER / "out"


def setUpModule():
    CLUSTER.start()


JobTest.cluster, JobTest.engine, JobTest.out = CLUSTER, "kubernetes", OUT


class KubernetesTest(JobTest):
    def why(self, text):
        CLUSTER.wait(lambda: text in CLUSTER.jobs("why", self.name).stdout, f"reason {text}")

    def test_steps_run_in_pods(self):
        line = "hostname >> LINES; echo out {n}"
        self.finish(CLUSTER.start_job(*self.words(line, "1..8")))
        self.assertEqual(len(set(self.written())), 8)
        self.assertEqual(CLUSTER.jobs("logs", self.name, "n=7").stdout, "out 7\n")
        self.assertEqual({row["state"] for row in CLUSTER.table(self.name)}, {"done"})
        self.finish(CLUSTER.start_job(*self.words(line, "1..8")))
        self.assertEqual(len(self.written()), 8)
        self.assertEqual(self.arrays(), 1)

    def test_a_killed_runner_at_home_loses_nothing(self):
        words = self.words("echo {n} >> LINES; sleep 3", "1..6")
        runner = CLUSTER.start_job(*words)
        self.await_lines(2)
        runner.kill()
        runner.wait()
        self.finish(CLUSTER.start_job(*words))
        self.assertEqual(sorted(map(int, self.written())), list(range(1, 7)))
        self.assertEqual(self.arrays(), 1)

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

    def test_cancel_ends_the_pods(self):
        words = self.words("echo {n} >> LINES; [ -e LINES.go ] || sleep 600", "1..4")
        runner = CLUSTER.start_job(*words)
        self.await_lines(4)
        self.assertEqual(CLUSTER.jobs("cancel", self.name).returncode, 0)
        self.finish(runner, 130)
        self.assertEqual(processes.with_words("run-task"), [])
        (OUT / f"{self.name}.go").touch()
        self.finish(CLUSTER.start_job(*words))

    def test_stop_lets_running_steps_finish(self):
        words = self.words("echo {n} >> LINES; sleep 6", "1..4", "--workers", "2")
        runner = CLUSTER.start_job(*words)
        self.await_lines(2)
        self.assertEqual(CLUSTER.jobs("stop", self.name).returncode, 0)
        self.finish(runner, 130)
        self.assertEqual(len(self.written()), 2)
        self.assertEqual([row["state"] for row in CLUSTER.table(self.name)].count("done"), 2)

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


class Storm(StormTest):
    targets = ["home", "home", "node", "node", "step", "step", "pod", "pod", "deleted", "forced", "kubelet", "kubelet",
               "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    seconds = 600

    def test_storm(self):
        self.run_storm()

    def mend(self):
        CLUSTER.mend()

    def strike(self, what, choose, runner):
        if what == "home":
            runner.kill()
            runner.wait()
        elif what == "node":  # the runner in a pod, alone
            self.kill_one(choose, processes.with_words("run-task"))
        elif what == "step":  # a supervisor with its step
            found = processes.with_words("reveza-supervisor")
            if found:
                processes.kill_tree(choose.choice(found))
        elif what == "pod":
            self.kill_one(choose, CLUSTER.containers())
        elif what in ("deleted", "forced"):
            found = CLUSTER.running()
            if found:
                force = ("--force", "--grace-period=0") if what == "forced" else ()
                CLUSTER.kubectl("delete", "pod", choose.choice(found), "--wait=false", *force)
        else:
            CLUSTER.kill(what)
            time.sleep(choose.uniform(0, 3))

    @staticmethod
    def kill_one(choose, found):
        if found:
            os.kill(choose.choice(found), signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(verbosity=2)
