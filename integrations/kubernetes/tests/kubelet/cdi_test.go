package kubelet_test

import (
	"slices"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"reveza.io/kubernetes/tests/support"
)

// inject does what a container runtime does: applies CDI devices to the specification of a container.
func inject(t *testing.T, node *support.Node, environment []string, devices []kubecontainer.CDIDevice) *oci.Spec {
	t.Helper()
	cache, err := cdi.NewCache(cdi.WithSpecDirs(node.Options.CDIFolder), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Refresh(); err != nil {
		t.Fatalf("invalid specifications: %v", err)
	}
	var names []string
	for _, device := range devices {
		names = append(names, device.Name)
	}
	spec := &oci.Spec{Process: &oci.Process{Env: slices.Clone(environment)}}
	if _, err := cache.InjectDevices(spec, names...); err != nil {
		t.Fatalf("inject %v: %v", names, err)
	}
	return spec
}

// mounts returns the paths that a container sees of the host.
func mounts(spec *oci.Spec) map[string]bool {
	found := map[string]bool{}
	for _, mount := range spec.Mounts {
		found[mount.Destination] = true
	}
	return found
}
