// Package plugin puts the parts together that serve the kubelet of a node.
package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"reveza.io/kubernetes/internal/cards"
	"reveza.io/kubernetes/internal/deviceplugin"
	"reveza.io/kubernetes/internal/dradriver"
	"reveza.io/kubernetes/internal/node"
	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/internal/waiting"
)

// configuration is the file of -config.
type configuration struct {
	Classes share.Classes     `json:"classes"`
	Env     map[string]string `json:"env"`    // for all containers
	Mounts  map[string]string `json:"mounts"` // host path to container path, read-only
}

func readConfiguration(path string) (configuration, error) {
	var read configuration
	if path == "" {
		return read, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return read, err
	}
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		return read, fmt.Errorf("%s: %w", path, err)
	}
	for name, class := range read.Classes {
		if class.Class != nil {
			return read, fmt.Errorf("%s: class %s: it cannot name another class", path, name)
		}
		if err := class.Validate(); err != nil {
			return read, fmt.Errorf("%s: class %s: %w", path, name, err)
		}
	}
	return read, nil
}

// Run serves until the context ends, or something fails that retrying does not solve.
func Run(ctx context.Context, options Options) error {
	if options.Mode == ModeDevicePlugin {
		return run(ctx, options, nil)
	}
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return RunClaims(ctx, options, client)
}

// RunClaims is Run with -mode=dra and a client of the API server.
func RunClaims(ctx context.Context, options Options, client kubernetes.Interface) error {
	return run(ctx, options, client)
}

func run(ctx context.Context, options Options, client kubernetes.Interface) error {
	this, defaultMemory, err := prepareNode(ctx, options)
	if err != nil {
		return err
	}
	if err := this.Store.Restore(); err != nil {
		klog.FromContext(ctx).Error(err, "Some of what was prepared before cannot be restored")
	}
	if options.MetricsListen != "" {
		stop, err := serveMetrics(ctx, options, this)
		if err != nil {
			return err
		}
		defer stop()
	}
	if options.Mode == ModeDevicePlugin {
		return serveDevices(ctx, options, this, defaultMemory)
	}
	err = serveClaims(ctx, options, client, this, defaultMemory)
	if ctx.Err() != nil {
		return nil // told to end while it started
	}
	return err
}

// prepareNode reads what the node has. Returns the memory of a share by default, too.
func prepareNode(ctx context.Context, options Options) (node.Node, int64, error) {
	configuration, err := readConfiguration(options.Configuration)
	if err != nil {
		return node.Node{}, 0, err
	}
	amounts := map[string]int64{}
	for flag, text := range map[string]string{"host-memory": options.HostMemory,
		"default-memory": options.DefaultMemory, "gpu-budget": options.GPUBudget} {
		if amounts[flag], err = parseMemory(text); err != nil {
			return node.Node{}, 0, fmt.Errorf("-%s: %w", flag, err)
		}
	}
	found, err := cards.Reader{Program: options.Reveza}.Read(ctx)
	if err != nil {
		return node.Node{}, 0, err
	}
	if budget := amounts["gpu-budget"]; budget > 0 {
		for i := range found {
			found[i].Total = min(found[i].Total, budget)
		}
	}
	files, err := share.Install(options.Image, options.Host)
	if err != nil {
		return node.Node{}, 0, err
	}
	settings := share.Settings{Socket: options.Socket, Group: uint32(options.Group), GPUBudget: amounts["gpu-budget"],
		Runtime: options.Driver == DriverRuntime, ExtraEnv: configuration.Env, ExtraMount: configuration.Mounts}
	if options.Driver == DriverCDI {
		settings.DriverCDI = options.DriverKind
	}
	return node.Node{
		Name: options.Node, Cards: found, Host: amounts["host-memory"], Classes: configuration.Classes,
		Files: files, Daemon: cards.Daemon{Socket: options.Socket, Program: options.Reveza},
		Store: share.Store{Folder: filepath.Join(options.dataFolder(), "shares"), CDIFolder: options.CDIFolder,
			Settings: settings},
		Given: share.Containers{Folder: filepath.Join(filepath.Dir(options.Host), "containers")},
	}, amounts["default-memory"], nil
}

func (o Options) dataFolder() string { return filepath.Join(o.Kubelet, "plugins", share.Driver) }

func parseMemory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Value() <= 0 {
		return 0, fmt.Errorf("%q is not an amount of memory like 64Gi", text)
	}
	return quantity.Value(), nil
}

func serveDevices(ctx context.Context, options Options, this node.Node, defaultMemory int64) error {
	var policy share.Policy
	if defaultMemory > 0 {
		policy.Limit = resource.NewQuantity(defaultMemory, resource.BinarySI)
	}
	plugin, err := deviceplugin.New(this, policy, !options.NoCDI)
	if err != nil {
		return err
	}
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := this.Daemon.Check(ctx)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Devices are unhealthy")
		}
		plugin.SetHealthy(err == nil)
	}, options.HealthInterval)
	return plugin.Serve(ctx, filepath.Join(options.Kubelet, "device-plugins"))
}

func serveClaims(ctx context.Context, options Options, client kubernetes.Interface, this node.Node, defaultMemory int64) error {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	failed := make(chan error, 1)
	driver := &dradriver.Driver{Node: this, Client: client,
		Recorder: broadcaster.NewRecorder(scheme.Scheme, share.Driver),
		Fatal: func(err error) {
			select {
			case failed <- err:
			default: // the first one counts
			}
		}}
	if err := os.MkdirAll(options.dataFolder(), 0o750); err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, driver, kubeletplugin.DriverName(share.Driver),
		kubeletplugin.NodeName(options.Node), kubeletplugin.KubeClient(client),
		kubeletplugin.RollingUpdate(types.UID(options.PodUID)),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(options.Kubelet, "plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(options.dataFolder()))
	if err != nil {
		return err
	}
	defer helper.Stop()
	if err := helper.PublishResources(ctx, dradriver.Resources(this, defaultMemory)); err != nil {
		return err
	}
	var watch waiting.Watch
	go wait.UntilWithContext(ctx, func(ctx context.Context) { driver.TellWaiting(ctx, &watch) }, options.WaitInterval)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
