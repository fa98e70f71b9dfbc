package node_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	someSteps = 50 // enough for a fault to come in between
	manySteps = 80 // enough for two DaemonSets to be replaced
)

// test is one that runs on a node with Reveza, in one of its two ways.
type test struct {
	name string
	run  func(t *testing.T, n *node, claimMiB int)
}

func TestClaims(t *testing.T) {
	run(t, "dra", cardMiB, []test{
		{"pods together compute what they do alone", together},
		{"a fifth pod waits, with an Event, for one that ends", fifth},
		{"a pod over its limit is out of memory, alone", overLimit},
		{"a pod pays for what is swapped out, not the daemon", chargedMemory},
		{"a pod without memory for it is not swapped out", noRoom},
		{"a pod waits, with an Event, while the driver is missing", missingDriver},
		{"a pod of another user shares the card", anotherUser},
		{"a pod with the extended resource shares the card", extendedResource},
		{"an image that cannot load the library is refused with an Event", refusedImages},
		{"kubectl reveza shows and changes the job of a pod", kubectlReveza},
		{"a killed pod leaves the others alone", killedPod},
		{"a killed daemon is followed by one that adopts the programs", killedDaemon},
		{"a killed plugin is followed by one that prepares claims", killedPlugin},
		{"pods compute through an upgrade", upgrade},
	})
}

func TestDevicePlugin(t *testing.T) {
	run(t, "device-plugin", 0, []test{
		{"pods together compute what they do alone", together},
		{"a fifth pod waits, with an Event, for one that ends", fifth},
		{"a pod of another user shares the card", anotherUser},
		{"an image that cannot load the library is refused with an Event", refusedImages},
		{"a killed pod leaves the others alone", killedPod},
		{"a killed daemon is followed by one that adopts the programs", killedDaemon},
		{"a killed plugin is followed by one that prepares claims", killedPlugin},
		{"pods compute through an upgrade", upgrade},
	})
}

// run installs Reveza, runs tests one after the other, and removes it.
func run(t *testing.T, mode string, claimMiB int, tests []test) {
	created, err := output("kubectl", "get", "runtimeclass,namespace", "--output=name")
	must(t, err)
	if !strings.Contains(created, "/"+system) {
		_, err := output("kubectl", "create", "namespace", system)
		must(t, err)
		_, err = output("kubectl", "create", "--filename="+writeRuntimeClass(t))
		must(t, err)
	}
	the.install(t, mode, release)
	t.Logf("%s: ready %.1f s after the node was started", mode, time.Since(the.started).Seconds())
	for _, test := range tests {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, the, claimMiB) }) {
			t.Logf("%s", the.describe())
			the.removeAll(t)
		}
	}
	the.uninstall(t, mode, next)
}

func writeRuntimeClass(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/class.yaml"
	must(t, os.WriteFile(path, []byte("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia}\nhandler: nvidia\n"), 0o600))
	return path
}

// removeAll removes the pods and claims that a failed test has left.
func (n *node) removeAll(t *testing.T) {
	t.Helper()
	_, err := output("kubectl", "delete", "--wait", "--all", "pods,resourceclaims", "--namespace="+namespace)
	must(t, err)
}

// rounds counts the calls of four.
var rounds int

// four returns programs of which one fits on the card. Names are not used twice: the scheduler may still have the
// claim that had the name before, and then makes a pod wait.
func four(steps, claimMiB int) []program {
	rounds++
	var programs []program
	for i := range 4 {
		programs = append(programs, program{name: fmt.Sprintf("p%d-%d", rounds, i), seed: 1 + i, steps: steps,
			claimMiB: claimMiB})
	}
	return programs
}

func together(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)
	started := time.Now()
	for _, program := range programs {
		program.alone(t)
	}
	t.Logf("native, one after the other: %.1f s", time.Since(started).Seconds())
	started = time.Now()
	for _, program := range four(someSteps, claimMiB) {
		n.start(t, program)
		if status, text := n.wait(t, program.name); status != 0 {
			t.Fatalf("%s: status %d: %s", program.name, status, text)
		}
		n.remove(t, program)
	}
	t.Logf("pods, one after the other: %.1f s", time.Since(started).Seconds())
	started = time.Now()
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	if claimMiB > 0 {
		n.expectReady(t, programs)
	}
	n.expectMetrics(t, programs)
	for _, program := range programs {
		n.wait(t, program.name)
	}
	t.Logf("pods, together: %.1f s", time.Since(started).Seconds())
	n.finish(t, programs)
}

// expectMetrics waits until the plugin's metrics name each pod, with most of its memory on the card or beside it.
func (n *node) expectMetrics(t *testing.T, programs []program) {
	t.Helper()
	pods, err := n.CoreV1().Pods(system).List(n.ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=plugin"})
	must(t, err)
	if len(pods.Items) != 1 {
		t.Fatalf("%d plugins", len(pods.Items))
	}
	text := ""
	eventually(t, "metrics of all pods", func() bool {
		answer, err := http.Get("http://" + pods.Items[0].Status.PodIP + ":9788/metrics")
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		text = string(body)
		return !slices.ContainsFunc(programs, func(program program) bool {
			return heldIn(t, text, program.name) < programMiB/2*mib
		})
	})
	if !strings.Contains(text, "\nDCGM_FI_DEV_FB_USED{") {
		t.Errorf("no names of dcgm-exporter:\n%s", text)
	}
}

// heldIn returns the bytes of a pod in metrics, on cards and beside them.
func heldIn(t *testing.T, metrics, pod string) int64 {
	t.Helper()
	held := int64(0)
	labels := fmt.Sprintf(`namespace="%s",pod="%s",container="c"} `, namespace, pod)
	for _, line := range strings.Split(metrics, "\n") {
		if name, value, found := strings.Cut(line, labels); found && strings.Contains(name, "_bytes{") {
			bytes, err := strconv.ParseFloat(value, 64)
			must(t, err)
			held += int64(bytes)
		}
	}
	return held
}

// expectReady fails if a claim's status does not say that its device is ready.
func (n *node) expectReady(t *testing.T, programs []program) {
	t.Helper()
	for _, program := range programs {
		claim, err := n.ResourceV1().ResourceClaims(namespace).Get(n.ctx, program.name, metav1.GetOptions{})
		must(t, err)
		if len(claim.Status.Devices) != 1 || !meta.IsStatusConditionTrue(claim.Status.Devices[0].Conditions, "Ready") {
			t.Errorf("claim %s: %+v", program.name, claim.Status.Devices)
		}
	}
}

func fifth(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)
	programs[0].steps = someSteps / 2
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	last := program{name: programs[0].name + "-fifth", seed: 5, steps: someSteps, claimMiB: claimMiB}
	n.start(t, last)
	eventually(t, "an Event says why the fifth waits", func() bool {
		events, err := n.CoreV1().Events(namespace).List(n.ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=" + last.name + ",reason=FailedScheduling"})
		must(t, err)
		for _, event := range events.Items {
			t.Logf("Event: %s", event.Message)
		}
		return len(events.Items) > 0
	})
	n.finish(t, append([]program{programs[0], last}, programs[1:]...))
}

func overLimit(t *testing.T, n *node, claimMiB int) {
	others := four(someSteps, claimMiB)[:2]
	large := program{name: others[0].name + "-large", seed: 1, steps: someSteps, claimMiB: programMiB / 2}
	n.startAll(t, append(others, large))
	status, text := n.wait(t, large.name)
	if status != 1 || !strings.Contains(text, "CUDA_ERROR_OUT_OF_MEMORY") {
		t.Errorf("status %d: %s", status, text)
	}
	n.remove(t, large)
	n.finish(t, others)
}

func anotherUser(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)
	programs[1].user = 1000
	programs[2].user = 1001
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	n.finish(t, programs)
}

func killedPod(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	must(t, syscall.Kill(n.clientOf(t, programs[2]).PID, syscall.SIGKILL))
	if status, text := n.wait(t, programs[2].name); status != 128+int32(syscall.SIGKILL) {
		t.Errorf("status %d: %s", status, text)
	}
	n.remove(t, programs[2])
	programs[2].name += "-again"
	n.start(t, programs[2]) // its place is free at once
	n.finish(t, programs)
}

func killedDaemon(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)
	before := n.restarts(t, "revezad")
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	kill(t, daemon)
	eventually(t, "the daemon's container was started again", func() bool { return n.restarts(t, "revezad") == before+1 })
	n.finish(t, programs)
	n.waitForRollout(t)
}

func killedPlugin(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)
	before := n.restarts(t, "plugin")
	n.startAll(t, programs[:3])
	n.waitForTurns(t, 3)
	kill(t, plugin)
	n.startAsJob(t, programs[3])
	eventually(t, "the plugin's container was started again", func() bool { return n.restarts(t, "plugin") == before+1 })
	n.finish(t, programs)
	n.waitForRollout(t)
}

func upgrade(t *testing.T, n *node, claimMiB int) {
	mode := "dra"
	if claimMiB == 0 {
		mode = "device-plugin"
	}
	programs := four(manySteps, claimMiB)
	n.startAll(t, programs[:3])
	n.waitForTurns(t, 3)
	old := processes(t, daemon)
	n.install(t, mode, next)
	if now := processes(t, daemon); len(old) != 1 || len(now) != 1 || now[0] == old[0] {
		t.Errorf("daemons: %v, then %v", old, now)
	}
	if left := len(n.clients()); left != 3 {
		t.Errorf("%d programs of 3 run after the upgrade: it came too late to matter", left)
	}
	n.startAsJob(t, programs[3]) // with the new library, beside the old one
	n.finish(t, programs)
	folders, err := os.ReadDir("/var/lib/reveza/files")
	must(t, err)
	if len(folders) != 2 {
		t.Errorf("%d folders of libraries, not those of two images", len(folders))
	}
}
