// Package dradriver serves Dynamic Resource Allocation: cards in ResourceSlices, and the preparation
// of claims.
package dradriver

import (
	"context"
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"

	"reveza.io/kubernetes/internal/node"
)

// Driver implements kubeletplugin.DRAPlugin. Thread-safe through the helper, which serialises calls.
type Driver struct {
	Node     node.Node
	Client   kubernetes.Interface
	Recorder events.EventRecorder
	Fatal    func(error) // an error that retrying does not solve
}

// PrepareResourceClaims makes the CDI devices of each claim. An error of one does not touch the others.
func (d *Driver) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		devices, err := d.prepare(ctx, claim)
		message := ""
		if err != nil {
			message = err.Error()
		}
		d.setCondition(ctx, claim, condition(ready, err == nil, "Prepared", "PreparationFailed", message), false)
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices, Err: err}
	}
	return results, nil
}

// UnprepareResourceClaims forgets claims. Running programs are not affected: kubelet has ended them.
func (d *Driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		results[claim.UID] = d.Node.Store.Remove(string(claim.UID))
	}
	return results, nil
}

// HandleError is called for failures in the background.
func (d *Driver) HandleError(ctx context.Context, err error, message string) {
	utilruntime.HandleErrorWithContext(ctx, err, message)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) && d.Fatal != nil {
		d.Fatal(fmt.Errorf("%s: %w", message, err))
	}
}

func (d *Driver) prepare(ctx context.Context, claim *resourceapi.ResourceClaim) ([]kubeletplugin.Device, error) {
	wanted, err := ShareOf(claim, d.Node)
	if err != nil {
		return nil, err
	}
	pods, err := d.podsOf(ctx, claim)
	if err != nil {
		return nil, err
	}
	wanted.OwnPreload = len(containersWithOwnPreload(pods, claim)) > 0
	prepared, err := d.Node.Prepare(ctx, wanted)
	if err != nil {
		return nil, err
	}
	d.tellOwnPreload(prepared, pods, claim)
	klog.FromContext(ctx).Info("Prepared", "claim", klog.KObj(claim), "cards", prepared.UUIDs())
	var devices []kubeletplugin.Device
	for _, device := range prepared.Devices {
		devices = append(devices, kubeletplugin.Device{
			Requests: []string{device.Request}, PoolName: device.Pool, DeviceName: device.Name,
			ShareID:      shareID(device.ShareID),
			CDIDeviceIDs: d.Node.Store.Settings.CDIDevices(prepared, device.UUID)})
	}
	return devices, nil
}

func shareID(id string) *types.UID {
	if id == "" {
		return nil
	}
	uid := types.UID(id)
	return &uid
}
