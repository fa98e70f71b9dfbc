package dradriver

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"reveza.io/kubernetes/internal/share"
)

// Conditions of the devices in the status of a claim.
const (
	ready       = "Ready"       // prepared for the containers of its pods
	waitsForGPU = "WaitsForGPU" // its programs have not had the card for long
)

// condition returns one whose reason depends on its status.
func condition(name string, holds bool, reason, otherwise, message string) metav1.Condition {
	if holds {
		return metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	}
	return metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: otherwise, Message: message}
}

// setCondition writes a condition of all devices that a claim has of this driver. With `known`, only of those
// that have it already. That it cannot be written keeps nobody from the card: the log says it.
func (d *Driver) setCondition(ctx context.Context, claim *resourceapi.ResourceClaim, wanted metav1.Condition, known bool) {
	claims := d.Client.ResourceV1().ResourceClaims(claim.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if current.UID != claim.UID || !changeConditions(current, wanted, known) {
			return nil
		}
		_, err = claims.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "A condition is not written", "claim", klog.KObj(claim), "condition", wanted.Type)
	}
}

// changeConditions returns whether something changed.
func changeConditions(claim *resourceapi.ResourceClaim, wanted metav1.Condition, known bool) bool {
	if claim.Status.Allocation == nil {
		return false
	}
	wanted.ObservedGeneration = claim.Generation
	changed := false
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != share.Driver {
			continue
		}
		status := deviceStatus(claim, result, known)
		if status == nil || known && meta.FindStatusCondition(status.Conditions, wanted.Type) == nil {
			continue
		}
		changed = meta.SetStatusCondition(&status.Conditions, wanted) || changed
	}
	return changed
}

// deviceStatus returns that of an allocated device, which is added unless `known`.
func deviceStatus(claim *resourceapi.ResourceClaim, result resourceapi.DeviceRequestAllocationResult, known bool) *resourceapi.AllocatedDeviceStatus {
	wanted := resourceapi.AllocatedDeviceStatus{Driver: result.Driver, Pool: result.Pool, Device: result.Device}
	if result.ShareID != nil {
		id := string(*result.ShareID)
		wanted.ShareID = &id
	}
	devices := &claim.Status.Devices
	for i := range *devices {
		status := &(*devices)[i]
		if status.Driver == wanted.Driver && status.Pool == wanted.Pool && status.Device == wanted.Device &&
			(status.ShareID == nil) == (wanted.ShareID == nil) &&
			(status.ShareID == nil || *status.ShareID == *wanted.ShareID) {
			return status
		}
	}
	if known {
		return nil
	}
	*devices = append(*devices, wanted)
	return &(*devices)[len(*devices)-1]
}
