package kubelet_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"

	"reveza.io/kubernetes/internal/plugin"
	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/tests/support"
)

const deviceName = "gpu-00000000-0000-0000-0000-000000000000" // of support.UUID(0)

// draKubelet is kubelet's DRA manager and plugin manager, beside the plugin, on an API of the test.
type draKubelet struct {
	*dra.Manager
	node   *support.Node
	client *fake.Clientset
	pods   []*v1.Pod
	stop   func() // of the plugin
}

func startDRA(t *testing.T, node *support.Node, objects ...runtime.Object) *draKubelet {
	t.Helper()
	kubelet := &draKubelet{node: node}
	objects = append(objects, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}})
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok {
			kubelet.pods = append(kubelet.pods, pod)
		}
	}
	kubelet.client = fake.NewClientset(objects...)
	kubelet.startManager(t)
	kubelet.startPlugin(t)
	return kubelet
}

func (k *draKubelet) startManager(t *testing.T) {
	t.Helper()
	state := support.Folder(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel) // before its folder is removed
	manager, err := dra.NewManager(klog.Background(), k.client, state)
	if err != nil {
		t.Fatal(err)
	}
	getNode := func(ctx context.Context) (*v1.Node, error) {
		return k.client.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
	}
	if err := manager.Start(ctx, func() []*v1.Pod { return k.pods }, getNode, allReady{}); err != nil {
		t.Fatal(err)
	}
	plugins := pluginmanager.NewPluginManager(filepath.Join(k.node.Options.Kubelet, "plugins_registry"),
		record.NewFakeRecorder(100))
	plugins.AddHandler(registerapi.DRAPlugin, manager.GetWatcherHandler())
	go plugins.Run(ctx, allReady{}, ctx.Done())
	k.Manager = manager
}

func (k *draKubelet) startPlugin(t *testing.T) {
	t.Helper()
	k.stop = start(t, func(ctx context.Context) error {
		return plugin.RunClaims(ctx, k.node.Options, k.client)
	})
}

// prepare retries while the plugin is not registered yet or ends, as kubelet does.
func (k *draKubelet) prepare(t *testing.T, pod *v1.Pod) error {
	t.Helper()
	var err error
	support.Eventually(t, "the plugin is registered", func() bool {
		err = k.PrepareResources(context.Background(), pod)
		return err == nil || !strings.Contains(err.Error(), "not registered") &&
			!strings.Contains(err.Error(), "code = Unavailable") && !strings.Contains(err.Error(), "code = Canceled")
	})
	return err
}

// environment returns what the first container of a pod gets, beside what its image sets.
func (k *draKubelet) environment(t *testing.T, pod *v1.Pod, own ...string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, variable := range k.container(t, pod, own).Process.Env {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	return values
}

// mountSource returns the path of the host that a container sees at a path.
func (k *draKubelet) mountSource(t *testing.T, pod *v1.Pod, path string) string {
	t.Helper()
	for _, mount := range k.container(t, pod, nil).Mounts {
		if mount.Destination == path {
			return mount.Source
		}
	}
	t.Fatalf("%s is not mounted", path)
	return ""
}

// container returns the first container of a pod with our CDI devices, not the driver's.
func (k *draKubelet) container(t *testing.T, pod *v1.Pod, own []string) *oci.Spec {
	t.Helper()
	info, err := k.GetResources(pod, &pod.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	return inject(t, k.node, own, slices.DeleteFunc(slices.Clone(info.CDIDevices),
		func(device kubecontainer.CDIDevice) bool { return !strings.HasPrefix(device.Name, share.ClaimKind) }))
}

// condition returns that of the only device of a claim, nil if it has none.
func (k *draKubelet) condition(t *testing.T, claim, name string) *metav1.Condition {
	t.Helper()
	found, err := k.client.ResourceV1().ResourceClaims("default").Get(context.Background(), claim, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Status.Devices) != 1 {
		return nil
	}
	return meta.FindStatusCondition(found.Status.Devices[0].Conditions, name)
}

// claim is one of `memory` on the first card, allocated and reserved for pods.
func claim(name, memory, parameters string, pods ...string) *resourceapi.ResourceClaim {
	allocation := resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{
		Request: "gpu", Driver: share.Driver, Pool: "n1", Device: deviceName, ShareID: new(types.UID("share-" + name)),
		ConsumedCapacity: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}}}
	if parameters != "" {
		allocation.Config = []resourceapi.DeviceAllocationConfiguration{configuration(
			resourceapi.AllocationConfigSourceClaim, parameters)}
	}
	made := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("claim-" + name)},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{
			{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu.reveza.io"}}}}},
		Status: resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{Devices: allocation}}}
	for _, pod := range pods {
		made.Status.ReservedFor = append(made.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{
			Resource: "pods", Name: pod, UID: types.UID(pod)})
	}
	return made
}

func configuration(source resourceapi.AllocationConfigSource, parameters string) resourceapi.DeviceAllocationConfiguration {
	return resourceapi.DeviceAllocationConfiguration{Source: source, DeviceConfiguration: resourceapi.DeviceConfiguration{
		Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: share.Driver,
			Parameters: runtime.RawExtension{Raw: []byte(parameters)}}}}
}

// policy is an opaque configuration with these fields.
func policy(fields string) string {
	return `{"apiVersion":"gpu.reveza.io/v1alpha1","kind":"GpuPolicy",` + fields + `}`
}

func pod(name, claim string, environment ...v1.EnvVar) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{NodeName: "n1",
			ResourceClaims: []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}},
			Containers: []v1.Container{{Name: "c", Env: environment,
				Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "gpu"}}}}}}}
}

func mustPrepare(t *testing.T, kubelet *draKubelet, pods ...*v1.Pod) {
	t.Helper()
	for _, pod := range pods {
		if err := kubelet.prepare(t, pod); err != nil {
			t.Fatal(err)
		}
	}
}
