"""Reveza's plugin in a Slurm of one node; integrations/slurm/node_test.sh runs it in namespaces of its own."""

import pathlib
import sys
import unittest

from node import Node

BUILD = pathlib.Path(sys.argv.pop(1))
FOLDER = pathlib.Path(sys.argv.pop(1))
NODE = Node(BUILD, FOLDER)
WORKER = str(FOLDER / "reveza-build/tests/clients/worker")


def setUpModule():
    NODE.start()
    unittest.addModuleCleanup(NODE.stop)


def worker(mib, seed, steps=30):
    return [WORKER, "--bytes", f"{mib}MiB", "--steps", str(steps), "--step-ms", "20", "--seed", str(seed), "--json"]


class SlurmTest(unittest.TestCase):
    def setUp(self):
        NODE.plugin()

    def srun(self, *words, user="ana", status=0):
        done = NODE.run("srun", "--quit-on-interrupt", *words, user=user)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}{done.stderr}{NODE.logs()}")
        return done

    def environment(self, *words, user="ana"):
        lines = self.srun(*words, "env", user=user).stdout.splitlines()
        return dict(line.split("=", 1) for line in lines if line.startswith(("REVEZA_", "LD_PRELOAD", "SLURM_JOB_ID")))

    def submit(self, user, *words):
        done = NODE.run("sbatch", "--parsable", *words, user=user)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def wait_for_jobs(self):
        NODE.wait(lambda: NODE.run("squeue", "-h").stdout == "", "end of all jobs")


class Claims(SlurmTest):
    def test_environment_of_tasks(self):
        found = self.environment("--reveza=20MiB", "--reveza-weight=2", "--reveza-priority=low")
        job = int(found["SLURM_JOB_ID"])
        self.assertEqual(found, {
            "SLURM_JOB_ID": str(job), "REVEZA_JOB": f"51ce0000{job:08x}", "REVEZA_NAME": f"slurm-{job}",
            "REVEZA_SOCKET": str(NODE.socket), "REVEZA_REQUIRE_DAEMON": "1",
            "REVEZA_POLICY": "weight=200,priority=0,request=0,limit=20971520",
            "LD_PRELOAD": str(FOLDER / "reveza-build/lib/libreveza.so")})

    def test_tasks_and_steps_of_a_job_are_one(self):
        lines = self.srun("--ntasks=2", "--reveza", "sh", "-c", "echo $SLURM_PROCID $REVEZA_JOB").stdout.split()
        self.assertEqual(sorted(lines[::2]), ["0", "1"])
        self.assertEqual(lines[1], lines[3])
        script = FOLDER / "out/steps.sh"
        script.write_text("#!/bin/sh\necho $REVEZA_JOB\nsrun sh -c 'echo $REVEZA_JOB'\n")
        script.chmod(0o755)
        self.submit("bia", "--reveza", "--output", str(FOLDER / "out/steps"), str(script))
        self.wait_for_jobs()
        steps = (FOLDER / "out/steps").read_text().split()
        self.assertEqual((len(steps), len(set(steps))), (2, 1), " ".join(steps))

    def test_jobs_without_the_option_are_left_alone(self):
        self.assertEqual(list(self.environment()), ["SLURM_JOB_ID"])

    def test_a_claim_without_memory_is_all_of_a_card(self):
        self.assertNotIn("REVEZA_POLICY", self.environment("--reveza"))

    def test_shards_are_memory_and_weight(self):
        found = self.environment("--gres=shard:2")
        self.assertEqual(found["REVEZA_POLICY"], "weight=200,request=0,limit=14680064")
        found = self.environment("--gres=shard:2", "--reveza=10MiB", "--reveza-weight=5")
        self.assertEqual(found["REVEZA_POLICY"], "weight=500,request=0,limit=10485760")
        done = self.srun("--gres=shard:2", "--reveza=15MiB", "true", status=4)
        self.assertIn("2 shards", done.stderr)
        NODE.plugin(shard=None)
        self.assertEqual(list(self.environment("--gres=shard:2")), ["SLURM_JOB_ID"])

    def test_memory_is_a_limit(self):
        done = self.srun("--reveza=20MiB", *worker(40, 1), status=1)
        self.assertIn("OUT_OF_MEMORY", done.stderr)
        self.srun("--reveza=50MiB", *worker(40, 1))


class Mistakes(SlurmTest):
    def test_wrong_options_are_refused_before_the_job(self):
        for option, named in (("--reveza=lots", "lots"), ("--reveza=-1", "-1"), ("--reveza=1", "0.0625 GiB"),
                              ("--reveza-weight=0", "weight=0"), ("--reveza-weight=2x", "2x"),
                              ("--reveza-priority=top", "top")):
            for command in (("srun",), ("sbatch", "--wrap")):
                with self.subTest(option=option, command=command):
                    done = NODE.run(command[0], option, *command[1:], "true", user="ana")
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(named, done.stderr)

    def test_node_without_a_daemon(self):
        NODE.plugin(start=None)
        NODE.reveza("stop", "--force")
        done = self.srun("--reveza=20MiB", "true", status=7)
        self.assertIn("no daemon runs on node", done.stderr)
        NODE.plugin()
        self.srun("--reveza=20MiB", "true")
        NODE.wait(NODE.is_idle, "node that is still in service")

    def test_user_who_may_not_use_the_daemon(self):
        self.srun("--reveza", "true")  # the daemon runs
        self.srun("--reveza=20MiB", "true", user="eva", status=5)

    def test_daemon_of_another_version(self):
        other = FOLDER / "reveza-of-another-version"
        other.write_text('#!/bin/sh\necho "reveza: the daemon speaks version 9" >&2\nexit 6\n')
        other.chmod(0o755)
        NODE.plugin(reveza=other)
        done = self.srun("--reveza", "true", status=6)
        self.assertIn("version 9", done.stderr)
        NODE.plugin(reveza="/no/such/program")
        self.srun("--reveza", "true", status=127)

    def test_wrong_plugstack(self):
        for setting in ({"sockett": "/run/x"}, {"card": "many"}, {"shard": "0"}):
            with self.subTest(setting=setting):
                NODE.plugin(**setting)
                done = NODE.run("srun", "true", user="ana")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"'{next(iter(setting))}=", done.stderr)


class Sharing(SlurmTest):
    def test_arrays_of_two_users_share_a_card(self):
        alone = {seed: self.hash_of(NODE.run(*worker(40, seed)).stdout) for seed in (1, 2)}
        for number, user in enumerate(("ana", "bia"), 1):
            script = FOLDER / f"out/{user}.sh"
            script.write_text(f"#!/bin/sh\nexec {' '.join(worker(40, number))}\n")
            script.chmod(0o755)
        arrays = {user: self.submit(user, "--array=1-3", "--reveza=50MiB", "--output", str(FOLDER / f"out/{user}-%a"),
                                    str(FOLDER / f"out/{user}.sh")) for user in ("ana", "bia")}
        together = [0]

        def done():
            users = {NODE.user_of(one["pid"]) for one in NODE.programs().values()} - {None}
            together[0] = max(together[0], len(users))
            return NODE.run("squeue", "-h").stdout == ""

        NODE.wait(done, "end of all jobs", 120)
        self.assertEqual(together[0], 2)
        for number, user in enumerate(("ana", "bia"), 1):
            for task in (1, 2, 3):
                self.assertEqual(self.hash_of((FOLDER / f"out/{user}-{task}").read_text()), alone[number])
        moved = []
        for user, array in arrays.items():
            for task in (1, 2, 3):
                NODE.wait(lambda number=f"{array}_{task}": NODE.job(number)["AdminComment"], "AdminComment")
                comment = NODE.job(f"{array}_{task}")["AdminComment"]
                self.assertRegex(comment, r"^reveza: gpu_s=\d+\.\d{3} wait_s=\d+\.\d{3} turns=\d+ "
                                          r"bytes_out=\d+ bytes_in=\d+$")
                counts = dict(word.split("=") for word in comment.split()[1:])
                self.assertGreater(int(counts["turns"]), 0)
                self.assertGreater(float(counts["gpu_s"]), 0)
                moved.append(int(counts["bytes_out"]))
        self.assertGreaterEqual(sum(moved), 40 << 20)

    def test_names_of_programs_do_not_change_what_is_counted(self):
        before = int(self.environment("--reveza")["SLURM_JOB_ID"])
        name = f'x,"y"\n51ce0000{before + 2:08x},9,9,9,9,9,9,9,9,9'  # the number of the job after the next
        script = FOLDER / "out/name.py"
        script.write_text(f"import os\nos.environ['REVEZA_NAME'] = {name!r}\n"
                          f"os.execv({WORKER!r}, {worker(20, 1)!r})\n")
        job = self.submit("ana", "--reveza", "--output=/dev/null", "--wrap", f"exec python3 {script}")
        self.assertEqual(int(job), before + 1)
        self.wait_for_jobs()
        self.assertRegex(NODE.job(job)["AdminComment"],
                         r"gpu_s=[\d.]+ wait_s=[\d.]+ turns=1 bytes_out=0 bytes_in=0$")
        after = self.environment("--reveza")["SLURM_JOB_ID"]
        self.assertEqual(int(after), before + 2)
        self.assertEqual(NODE.job(after)["AdminComment"], "")

    def hash_of(self, text):
        found = [line for line in text.splitlines() if '"hash"' in line]
        self.assertEqual(len(found), 1, text + NODE.logs())
        return found[0].split('"hash":"')[1][:16]

    def start_escaping(self):
        """Submits a job with a process that has left it, and returns when that uses the card."""
        script = FOLDER / "out/escape.sh"
        script.write_text(f"#!/bin/sh\nsetsid -f {' '.join(worker(40, 1, 100000))} >/dev/null 2>&1\nsleep 600\n")
        script.chmod(0o755)
        job = self.submit("ana", "--reveza=50MiB", "--output=/dev/null", str(script))
        NODE.wait(lambda: f"slurm-{job}" in NODE.programs(), "program on the card")
        return job

    def test_the_epilog_ends_what_a_job_left(self):
        job = self.start_escaping()
        process = NODE.programs()[f"slurm-{job}"]["pid"]
        self.assertEqual(NODE.run("scancel", job, user="ana").returncode, 0)
        self.wait_for_jobs()
        NODE.wait(lambda: not NODE.programs(), "empty card", 20)
        self.assertRegex(NODE.logs(), rf"job {job}: reveza: gpu_s=[\d.]+ ")
        self.assertTrue(NODE.ended(process))

    def test_the_epilog_needs_no_daemon(self):
        job = self.start_escaping()
        process = NODE.programs()[f"slurm-{job}"]["pid"]
        self.assertEqual(NODE.reveza("stop", "--force").returncode, 0)
        NODE.run("scancel", job)
        self.wait_for_jobs()
        NODE.wait(lambda: NODE.ended(process), "end of the process", 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
