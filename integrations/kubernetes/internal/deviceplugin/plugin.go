// Package deviceplugin serves the device plugin API v1beta1, for clusters without Dynamic Resource
// Allocation: each card appears as several equal devices.
package deviceplugin

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/util/uuid"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"reveza.io/kubernetes/internal/node"
	"reveza.io/kubernetes/internal/share"
)

// Resource is the name of the extended resource.
const Resource = "reveza.io/gpu"

// Plugin implements pluginapi.DevicePluginServer. Thread-safe.
type Plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	node    node.Node
	policy  share.Policy
	cdi     bool
	devices []device

	mutex   sync.Mutex
	healthy bool
	changed chan struct{} // closed when `healthy` changes
}

// New returns a plugin for the cards of a node. `policy` is that of all its containers; its limit is
// the memory of a device, by default the whole card. With `cdi`, mounts come from CDI devices.
func New(node node.Node, policy share.Policy, cdi bool) (*Plugin, error) {
	plugin := &Plugin{node: node, policy: policy, cdi: cdi, healthy: true, changed: make(chan struct{})}
	for _, card := range node.Cards {
		memory := card.Total
		if policy.Limit != nil {
			memory = min(memory, policy.Limit.Value())
		}
		for i := range node.Capacity(card) / memory {
			plugin.devices = append(plugin.devices, device{card.UUID, i})
		}
	}
	if !cdi {
		return plugin, nil
	}
	var uuids []string
	for _, card := range node.Cards {
		uuids = append(uuids, card.UUID)
	}
	return plugin, node.Store.WriteCards(uuids, node.Files)
}

// SetHealthy says whether the daemon can serve the devices; kubelet is told of changes.
func (p *Plugin) SetHealthy(healthy bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.healthy == healthy {
		return
	}
	p.healthy = healthy
	close(p.changed)
	p.changed = make(chan struct{})
}

// GetDevicePluginOptions announces GetPreferredAllocation.
func (p *Plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

// ListAndWatch sends all devices, and again when their health changes.
func (p *Plugin) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	for {
		response, changed := p.list()
		if err := stream.Send(response); err != nil {
			return err
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-changed:
		}
	}
}

func (p *Plugin) list() (*pluginapi.ListAndWatchResponse, <-chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	health := pluginapi.Unhealthy
	if p.healthy {
		health = pluginapi.Healthy
	}
	response := &pluginapi.ListAndWatchResponse{}
	for _, device := range p.devices {
		response.Devices = append(response.Devices, &pluginapi.Device{ID: device.String(), Health: health})
	}
	return response, p.changed
}

// GetPreferredAllocation spreads containers over cards, and the devices of one container over different
// cards: two devices of the same card are no more than one to it.
func (p *Plugin) GetPreferredAllocation(_ context.Context, request *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	response := &pluginapi.PreferredAllocationResponse{}
	for _, container := range request.ContainerRequests {
		chosen, err := prefer(container.AvailableDeviceIDs, container.MustIncludeDeviceIDs, int(container.AllocationSize))
		if err != nil {
			return nil, err
		}
		response.ContainerResponses = append(response.ContainerResponses,
			&pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return response, nil
}

// Allocate makes each container a job of its own: the request does not name its pod.
func (p *Plugin) Allocate(ctx context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	if err := p.node.Daemon.Check(ctx); err != nil {
		return nil, err
	}
	response := &pluginapi.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		allocated, err := p.allocate(container.DevicesIds)
		if err != nil {
			return nil, err
		}
		response.ContainerResponses = append(response.ContainerResponses, allocated)
	}
	return response, nil
}

func (p *Plugin) allocate(ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	settings := p.node.Store.Settings
	id := string(uuid.NewUUID())
	given := share.Share{ID: id, Name: "container-" + id[:8], Files: p.node.Files}
	memory := int64(0)
	for _, id := range ids {
		device, err := parseDevice(id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(p.devices, device) {
			return nil, fmt.Errorf("node %s has no device %q", p.node.Name, id)
		}
		given.Devices = append(given.Devices, share.Device{UUID: device.card})
		for _, card := range p.node.Cards {
			if card.UUID == device.card && (memory == 0 || card.Total < memory) {
				memory = card.Total
			}
		}
	}
	policy := p.policy
	if policy.Limit != nil && policy.Limit.Value() > memory {
		policy.Limit = nil
	}
	var err error
	if given.Policy, err = p.node.Classes.Resolve(policy, memory); err != nil {
		return nil, err
	}
	if err := p.node.Given.Put(ids, share.Job(id)); err != nil {
		return nil, err
	}
	response := &pluginapi.ContainerAllocateResponse{Envs: settings.Environment(given)}
	if p.cdi {
		for _, uuid := range given.UUIDs() {
			for _, name := range settings.CardCDIDevices(uuid) {
				response.CdiDevices = append(response.CdiDevices, &pluginapi.CDIDevice{Name: name})
			}
		}
		return response, nil
	}
	for _, mount := range settings.Mounts(given) {
		response.Mounts = append(response.Mounts, &pluginapi.Mount{
			HostPath: mount.Host, ContainerPath: mount.Container, ReadOnly: !mount.Writable})
	}
	return response, nil
}
