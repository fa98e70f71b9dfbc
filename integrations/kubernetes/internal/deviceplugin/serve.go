package deviceplugin

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socketName     = "reveza.sock"
	kubeletSocket  = "kubelet.sock"
	registerWithin = 10 * time.Second
)

// Serve serves and registers in the folder of kubelet's device plugins until the context ends.
// Registers again whenever kubelet makes its socket anew, for it forgets plugins when it restarts and
// removes their sockets.
func (p *Plugin) Serve(ctx context.Context, folder string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(folder); err != nil {
		return fmt.Errorf("kubelet's folder of device plugins, %s: %w", folder, err)
	}
	for ctx.Err() == nil {
		if err := p.serveOnce(ctx, folder, watcher); err != nil {
			return err
		}
	}
	return nil
}

// serveOnce returns when kubelet has made its socket anew.
func (p *Plugin) serveOnce(ctx context.Context, folder string, watcher *fsnotify.Watcher) error {
	socket := filepath.Join(folder, socketName)
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Stop()
	if err := register(ctx, filepath.Join(folder, kubeletSocket)); err != nil {
		klog.FromContext(ctx).Error(err, "kubelet does not take the registration; waiting for its next start")
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return fmt.Errorf("%s: %w", socket, err)
		case err := <-watcher.Errors:
			return err
		case event := <-watcher.Events:
			if event.Has(fsnotify.Create) && filepath.Base(event.Name) == kubeletSocket {
				return nil
			}
		}
	}
}

func register(ctx context.Context, kubelet string) error {
	ctx, cancel := context.WithTimeout(ctx, registerWithin)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: socketName, ResourceName: Resource,
		Options: &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}})
	return err
}
