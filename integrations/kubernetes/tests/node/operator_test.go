package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// awaitFailure waits until an Event of a program's pod says why its container does not start.
func (n *node) awaitFailure(t *testing.T, p program, cause string) {
	t.Helper()
	eventually(t, "an Event of "+p.name+" with: "+cause, func() bool {
		events, err := n.CoreV1().Events(namespace).List(n.ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=" + p.name + ",reason=Failed"})
		must(t, err)
		for _, event := range events.Items {
			if strings.Contains(event.Message, cause) {
				t.Logf("Event: %s", event.Message)
				return true
			}
		}
		return false
	})
}

// missingDriver takes away what NVIDIA's container toolkit writes.
func missingDriver(t *testing.T, n *node, claimMiB int) {
	specification := filepath.Join(cdiFolder, "nvidia.json")
	must(t, os.Rename(specification, specification+".away"))
	lone := four(someSteps, claimMiB)[0]
	n.start(t, lone)
	n.awaitFailure(t, lone, "unresolvable CDI devices nvidia.com/gpu="+cardUUID)
	must(t, os.Rename(specification+".away", specification))
	n.finish(t, []program{lone})
}

// refusedImages starts programs that libreveza.so cannot be loaded into.
func refusedImages(t *testing.T, n *node, claimMiB int) {
	for image, cause := range map[string]string{"reveza.local/musl:1": "needs musl", "reveza.local/pause:1": "is linked statically"} {
		program := four(someSteps, claimMiB)[0]
		program.image = image
		n.start(t, program)
		n.awaitFailure(t, program, cause)
		pod, err := n.CoreV1().Pods(namespace).Get(n.ctx, program.name, metav1.GetOptions{})
		must(t, err)
		for _, container := range pod.Status.ContainerStatuses {
			if container.State.Running != nil {
				t.Errorf("%s runs", image)
			}
		}
		n.remove(t, program)
	}
}

// kubectlReveza changes the job of a pod from outside of the node.
func kubectlReveza(t *testing.T, n *node, claimMiB int) {
	programs := four(manySteps, claimMiB)[:2]
	n.startAll(t, programs)
	clients := n.waitForTurns(t, len(programs))
	reveza := func(arguments ...string) string {
		t.Helper()
		text, err := output("kubectl", append([]string{"reveza"}, arguments...)...)
		must(t, err)
		return text
	}
	status := reveza("status", nodeName)
	for _, client := range clients {
		if !strings.Contains(status, client.Name) {
			t.Errorf("no %s in the status:\n%s", client.Name, status)
		}
	}
	reveza("pause", programs[0].name)
	eventually(t, "the paused program has left the card", func() bool {
		paused := n.clientOf(t, programs[0])
		return paused.Policy.Paused && paused.Footprint.Resident == 0
	})
	turns := n.clientOf(t, programs[0]).Turns
	reveza("set", programs[0].name, "--weight", "2")
	n.finish(t, programs[1:])
	if paused := n.clientOf(t, programs[0]); paused.Turns != turns || paused.Policy.Weight != 2 {
		t.Errorf("paused with %d turns, and then: %+v", turns, paused)
	}
	reveza("resume", programs[0].name)
	n.finish(t, programs[:1])
}

// extendedResource shows that old limits get a claim, made by the scheduler.
func extendedResource(t *testing.T, n *node, claimMiB int) {
	programs := four(someSteps, claimMiB)[:2]
	programs[1].claimMiB = 0
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	n.finish(t, programs)
}
