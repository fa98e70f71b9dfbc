package dradriver

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/utils/ptr"

	"reveza.io/kubernetes/internal/cards"
	"reveza.io/kubernetes/internal/node"
)

const minMemory = 1 << 20 // bytes of a claim

// Resources returns the pool of a node: each card can be allocated many times, as long as card and
// host can hold together what was allocated, and to each claim at most what the card can hold.
// `defaultMemory` is what a claim gets that names no amount; 0: the whole card.
func Resources(node node.Node, defaultMemory int64) resourceslice.DriverResources {
	devices := []resourceapi.Device{}
	for _, card := range node.Cards {
		devices = append(devices, device(node, card, defaultMemory))
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		node.Name: {Slices: []resourceslice.Slice{{Devices: devices}}}}}
}

func device(all node.Node, card cards.Card, defaultMemory int64) resourceapi.Device {
	if defaultMemory <= 0 || defaultMemory > card.Total {
		defaultMemory = card.Total
	}
	return resourceapi.Device{
		Name:                     node.DeviceName(card),
		AllowMultipleAllocations: ptr.To(true),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"uuid":        {StringValue: &card.UUID},
			"productName": {StringValue: &card.Name},
			"index":       {IntValue: ptr.To(int64(card.Index))},
			// The size of the card itself, for selectors. Not a capacity: one without a request policy
			// would be consumed as a whole by the first claim.
			"memoryMiB": {IntValue: ptr.To(card.Total >> 20)},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			memory: {
				Value: bytes(all.Capacity(card)),
				RequestPolicy: &resourceapi.CapacityRequestPolicy{
					Default: ptr.To(bytes(defaultMemory)),
					ValidRange: &resourceapi.CapacityRequestPolicyRange{
						Min: ptr.To(bytes(minMemory)), Max: ptr.To(bytes(card.Total))},
				},
			},
		},
	}
}

func bytes(value int64) resource.Quantity { return *resource.NewQuantity(value, resource.BinarySI) }
