package dradriver

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"reveza.io/kubernetes/internal/node"
	"reveza.io/kubernetes/internal/share"
)

const memory = resourceapi.QualifiedName("memory") // the capacity of a card

// ShareOf returns what a claim asks of this driver: its cards and its policy.
func ShareOf(claim *resourceapi.ResourceClaim, node node.Node) (share.Share, error) {
	wanted := share.Share{ID: string(claim.UID), Name: claim.Namespace + "/" + claim.Name}
	var first *resourceapi.DeviceRequestAllocationResult
	var policy share.Policy
	allocation := claim.Status.Allocation.Devices
	for i := range allocation.Results {
		result := &allocation.Results[i]
		if result.Driver != share.Driver {
			continue
		}
		card, err := node.CardOf(result.Device)
		if err != nil {
			return share.Share{}, fmt.Errorf("request %s: %w", result.Request, err)
		}
		device := share.Device{UUID: card.UUID, Name: result.Device, Pool: result.Pool, Request: result.Request}
		if result.ShareID != nil {
			device.ShareID = string(*result.ShareID)
		}
		wanted.Devices = append(wanted.Devices, device)
		asked, err := policyOf(allocation.Config, *result, node.Classes)
		if err != nil {
			return share.Share{}, fmt.Errorf("request %s: %w", result.Request, err)
		}
		if first == nil {
			first, policy = result, asked
		} else if !policy.Equal(asked) {
			return share.Share{}, fmt.Errorf("requests %s and %s differ in memory or configuration; a claim is "+
				"one job with one policy: give both the same, or use two claims", first.Request, result.Request)
		}
	}
	if first == nil {
		return share.Share{}, fmt.Errorf("nothing of the driver %s is allocated", share.Driver)
	}
	wanted.Policy = policy
	return wanted, nil
}

// policyOf merges the configurations of a result: those of the claim before those of its class, later
// ones before earlier ones, and the memory that was allocated.
func policyOf(configurations []resourceapi.DeviceAllocationConfiguration, result resourceapi.DeviceRequestAllocationResult, classes share.Classes) (share.Policy, error) {
	var policy share.Policy
	for _, source := range []resourceapi.AllocationConfigSource{
		resourceapi.AllocationConfigSourceClass, resourceapi.AllocationConfigSourceClaim} {
		for _, configuration := range resourceclaim.ConfigForResult(configurations, result) {
			if configuration.Source != source || configuration.Opaque.Driver != share.Driver {
				continue
			}
			parsed, err := share.ParsePolicy(configuration.Opaque.Parameters.Raw)
			if err != nil {
				return share.Policy{}, fmt.Errorf("configuration %s: %w", source, err)
			}
			policy = parsed.Over(policy)
		}
	}
	capacity, limited := result.ConsumedCapacity[memory]
	if !limited {
		return classes.Resolve(policy, 0)
	}
	return classes.Resolve(policy, capacity.Value())
}
