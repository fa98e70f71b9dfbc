package deviceplugin

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socketName    = "reveza.sock"
	kubeletSocket = "kubelet.sock"
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
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	// The next instance may have replaced the socket by then.
	listener.SetUnlinkOnClose(false)
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	registered := make(chan error, 1)
	go func() { registered <- register(ctx, filepath.Join(folder, kubeletSocket)) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-registered:
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("kubelet refuses the registration: %w", err)
			}
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

// register waits for kubelet: its socket appears before it answers.
func register(ctx context.Context, kubelet string) error {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	request := &pluginapi.RegisterRequest{Version: pluginapi.Version, Endpoint: socketName, ResourceName: Resource,
		Options: &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}}
	for {
		_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, request, grpc.WaitForReady(true))
		if status.Code(err) != codes.Unavailable { // it ended in the middle
			return err
		}
	}
}
