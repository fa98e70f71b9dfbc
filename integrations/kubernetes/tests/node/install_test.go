package node_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reveza.io/kubernetes/tests/node/machine"
)

const (
	system  = "reveza-system"
	daemon  = "/opt/reveza/bin/revezad"
	plugin  = "/opt/reveza/bin/reveza-kubelet-plugin"
	release = "0.1.0" // the chart's
	next    = "0.1.1" // the same programs, with another libreveza.so
	values  = `
mode: %s
image: {tag: "%s"}
hostMemory: 1Gi
metrics: {dcgmNames: true}
revezad:
  env: {REVEZA_CONTEXT_ESTIMATE: 4MiB, REVEZA_SLICE_CEILING: 2s, REVEZA_LOG_LEVEL: debug}
`
)

// manifest renders the chart as `helm template` does.
func manifest(t *testing.T, mode, tag string) string {
	t.Helper()
	command := exec.Command(filepath.Join(*parts, "render"), filepath.Join(*parts, "chart"))
	command.Stdin = bytes.NewBufferString(fmt.Sprintf(values, mode, tag))
	text, err := command.Output()
	must(t, err)
	path := filepath.Join(machine.Folder, mode+"-"+tag+".yaml")
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

// install applies the chart and waits until its pods are ready.
func (n *node) install(t *testing.T, mode, tag string) {
	t.Helper()
	_, err := output("kubectl", "apply", "--filename="+manifest(t, mode, tag))
	must(t, err)
	n.waitForRollout(t)
}

func (n *node) waitForRollout(t *testing.T) {
	t.Helper()
	eventually(t, "both DaemonSets are ready", func() bool {
		sets, err := n.AppsV1().DaemonSets(system).List(n.ctx, metav1.ListOptions{})
		must(t, err)
		for _, set := range sets.Items {
			if set.Status.ObservedGeneration != set.Generation || set.Status.UpdatedNumberScheduled != 1 ||
				set.Status.NumberReady != 1 || set.Status.NumberAvailable != 1 {
				return false
			}
		}
		pods, err := n.CoreV1().Pods(system).List(n.ctx, metav1.ListOptions{})
		must(t, err)
		return len(sets.Items) == 2 && len(pods.Items) == 2
	})
}

// uninstall removes what install applied, and waits until its pods have gone.
func (n *node) uninstall(t *testing.T, mode, tag string) {
	t.Helper()
	_, err := output("kubectl", "delete", "--wait", "--filename="+manifest(t, mode, tag))
	must(t, err)
	eventually(t, "the pods of Reveza have gone", func() bool {
		pods, err := n.CoreV1().Pods(system).List(n.ctx, metav1.ListOptions{})
		must(t, err)
		return len(pods.Items) == 0
	})
}

// restarts returns how often a container of Reveza was started again.
func (n *node) restarts(t *testing.T, component string) int32 {
	t.Helper()
	pods, err := n.CoreV1().Pods(system).List(n.ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=" + component})
	must(t, err)
	if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
		t.Fatalf("%d pods of %s", len(pods.Items), component)
	}
	return pods.Items[0].Status.ContainerStatuses[0].RestartCount
}
