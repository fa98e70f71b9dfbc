package kubelet_test

import (
	"context"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"reveza.io/kubernetes/internal/deviceplugin"
	"reveza.io/kubernetes/internal/plugin"
	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/tests/support"
)

type allReady struct{}

func (allReady) AddSource(string) {}
func (allReady) AllReady() bool   { return true }

// deviceManager is kubelet's, with the pods that it believes to run.
type deviceManager struct {
	*devicemanager.ManagerImpl
	pods []*v1.Pod
}

func startDeviceManager(t *testing.T) *deviceManager {
	t.Helper()
	manager := &deviceManager{}
	var err error
	if manager.ManagerImpl, err = devicemanager.NewManagerImpl(nil, topologymanager.NewFakeManager()); err != nil {
		t.Fatal(err)
	}
	if err := manager.Start(klog.Background(), func() []*v1.Pod { return manager.pods }, allReady{},
		containermap.NewContainerMap(), sets.New[string]()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = manager.Stop(klog.Background())
		_ = os.Remove(pluginapi.DevicePluginPath + "kubelet_internal_checkpoint")
	})
	return manager
}

func (m *deviceManager) allocatable() int64 {
	_, allocatable, _ := m.GetCapacity()
	quantity := allocatable[deviceplugin.Resource]
	return quantity.Value()
}

func (m *deviceManager) allocate(t *testing.T, name string, count string) (*devicemanager.DeviceRunContainerOptions, error) {
	t.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name), Name: name, Namespace: "default"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Limits: v1.ResourceList{deviceplugin.Resource: resource.MustParse(count)}}}}}}
	m.pods = append(m.pods, pod)
	if err := m.Allocate(pod, &pod.Spec.Containers[0]); err != nil {
		return nil, err
	}
	return m.GetDeviceRunContainerOptions(context.Background(), pod, &pod.Spec.Containers[0])
}

func environment(options *devicemanager.DeviceRunContainerOptions) map[string]string {
	values := map[string]string{}
	for _, variable := range options.Envs {
		values[variable.Name] = variable.Value
	}
	return values
}

func startPlugin(t *testing.T, node *support.Node) (stop func()) {
	t.Helper()
	node.Options.Mode = plugin.ModeDevicePlugin
	node.Options.Kubelet = "/var/lib/kubelet"
	return start(t, func(ctx context.Context) error { return plugin.Run(ctx, node.Options) })
}

func TestContainersOfTheDevicePluginBecomeJobs(t *testing.T) {
	node := support.NewNode(t, 1)
	manager := startDeviceManager(t)
	startPlugin(t, node)
	// 88 GiB of the host are three whole cards.
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
	first, err := manager.allocate(t, "a", "1")
	if err != nil {
		t.Fatal(err)
	}
	values := environment(first)
	if values["LD_PRELOAD"] != share.LibraryInContainer || values["REVEZA_SOCKET"] != node.Options.Socket ||
		values["REVEZA_POLICY"] != "request=0,limit=25769803776" || len(values["REVEZA_JOB"]) != 16 {
		t.Errorf("environment: %v", values)
	}
	second, err := manager.allocate(t, "b", "1")
	if err != nil {
		t.Fatal(err)
	}
	if job := environment(second)["REVEZA_JOB"]; job == values["REVEZA_JOB"] || job == "" {
		t.Errorf("two containers have the same job %q", job)
	}
	spec := inject(t, node, nil, first.CDIDevices[:1])
	if !mounts(spec)[share.LibraryInContainer] {
		t.Errorf("the library is not mounted: %+v", spec.Mounts)
	}
	if name := first.CDIDevices[1].Name; name != "nvidia.com/gpu="+support.UUID(0) {
		t.Errorf("the driver's device is %q", name)
	}
	if _, err := manager.allocate(t, "c", "2"); err == nil {
		t.Error("four devices of three were given out")
	}
}

func TestWithoutCDITheDevicePluginAnswersWithMounts(t *testing.T) {
	node := support.NewNode(t, 1)
	node.Options.NoCDI, node.Options.Driver = true, plugin.DriverRuntime
	manager := startDeviceManager(t)
	startPlugin(t, node)
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
	options, err := manager.allocate(t, "a", "1")
	if err != nil {
		t.Fatal(err)
	}
	writable := map[string]bool{}
	for _, mount := range options.Mounts {
		writable[mount.ContainerPath] = !mount.ReadOnly
	}
	if len(options.CDIDevices) != 0 || len(writable) != 2 || writable[share.LibraryInContainer] {
		t.Errorf("CDI %v, mounts %v", options.CDIDevices, writable)
	}
	if uuids := environment(options)["NVIDIA_VISIBLE_DEVICES"]; uuids != support.UUID(0) {
		t.Errorf("NVIDIA_VISIBLE_DEVICES=%q", uuids)
	}
}

func TestDevicesOfOneContainerAreOnDifferentCards(t *testing.T) {
	node := support.NewNode(t, 2)
	manager := startDeviceManager(t)
	startPlugin(t, node)
	support.Eventually(t, "six devices", func() bool { return manager.allocatable() == 6 })
	for _, name := range []string{"a", "b"} {
		if _, err := manager.allocate(t, name, "2"); err != nil {
			t.Fatal(err)
		}
		cards := map[string]bool{}
		for _, instances := range manager.GetDevices(name, "c") {
			for id := range instances {
				card, _, _ := strings.Cut(id, "::")
				cards[card] = true
			}
		}
		if len(cards) != 2 {
			t.Errorf("pod %s has its two devices on %v", name, cards)
		}
	}
}

func TestDevicesAreUnhealthyWhileNoDaemonAnswers(t *testing.T) {
	node := support.NewNode(t, 1)
	manager := startDeviceManager(t)
	startPlugin(t, node)
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
	node.StopDaemon()
	support.Eventually(t, "no healthy device", func() bool { return manager.allocatable() == 0 })
	node.StartDaemon(t)
	support.Eventually(t, "three devices again", func() bool { return manager.allocatable() == 3 })
}

func TestThePluginRegistersAgainWithARestartedKubelet(t *testing.T) {
	node := support.NewNode(t, 1)
	manager := startDeviceManager(t)
	startPlugin(t, node)
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
	if err := manager.Stop(klog.Background()); err != nil {
		t.Fatal(err)
	}
	restarted := startDeviceManager(t)
	support.Eventually(t, "three devices", func() bool { return restarted.allocatable() == 3 })
}

func TestARestartedPluginRegistersAgain(t *testing.T) {
	node := support.NewNode(t, 1)
	manager := startDeviceManager(t)
	stop := startPlugin(t, node)
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
	stop()
	support.Eventually(t, "no devices", func() bool { return manager.allocatable() == 0 })
	startPlugin(t, node)
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
}

// An instance that ends after the next has started does not take its socket away.
func TestAnInstanceThatEndsLeavesTheNextAlone(t *testing.T) {
	node := support.NewNode(t, 1)
	manager := startDeviceManager(t)
	stopOld := startPlugin(t, node)
	support.Eventually(t, "three devices", func() bool { return manager.allocatable() == 3 })
	node.Options.DefaultMemory = "11Gi" // 88 GiB are eight devices
	startPlugin(t, node)
	support.Eventually(t, "eight devices", func() bool { return manager.allocatable() == 8 })
	stopOld()
	if _, err := os.Stat(pluginapi.DevicePluginPath + "reveza.sock"); err != nil {
		t.Error(err)
	}
}
