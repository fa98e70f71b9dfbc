// Package node_test runs Reveza's own pods on a real node: kubelet, containerd and runc below a real control
// plane, on a machine of namespaces without network. What the node lacks is a GPU: fakecuda is its card, which
// comes into containers as NVIDIA's driver does, by CDI and by the runtime class `nvidia`.
//
// Run by ../../node_test.sh, which builds what it needs. The tests depend on each other's order.
package node_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"reveza.io/kubernetes/tests/node/machine"
)

var (
	parts = flag.String("parts", "", "`folder` with kubenode, containerd, images and manifests")
	build = flag.String("build", "", "`folder`: the build tree of Reveza")
	the   *node // that all tests run on
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *parts == "" || *build == "" {
		fmt.Println("skipped: run by node_test.sh")
		os.Exit(0)
	}
	os.Exit(machine.Run(func() int {
		var err error
		if the, err = startNode(); err != nil {
			fmt.Fprintf(os.Stderr, "the node does not start: %v\nits logs are in %s\n", err, logFolder())
			return 1
		}
		return m.Run()
	}))
}

func logFolder() string { return filepath.Join(*parts, "log") }
