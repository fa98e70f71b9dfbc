package dradriver

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/internal/waiting"
)

// TellWaiting writes an Event for the pods of each claim whose programs have waited for the GPU since the
// last call.
func (d *Driver) TellWaiting(ctx context.Context, watch *waiting.Watch) {
	text, err := d.Node.Daemon.Status(ctx)
	if err != nil {
		return // Prepare says it to those who need the daemon
	}
	programs, err := waiting.Parse(text)
	if err == nil {
		err = d.tellWaiting(ctx, watch.Observe(programs))
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Pods that wait for the GPU are not told")
	}
}

func (d *Driver) tellWaiting(ctx context.Context, programs []waiting.Program) error {
	if len(programs) == 0 {
		return nil
	}
	shares, err := d.Node.Store.All()
	if err != nil {
		return err
	}
	for _, program := range programs {
		for _, prepared := range shares {
			if share.Job(prepared.ID) != program.Job {
				continue
			}
			if err := d.tellPods(ctx, prepared, program); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Driver) tellPods(ctx context.Context, prepared share.Share, program waiting.Program) error {
	namespace, name, _ := strings.Cut(prepared.Name, "/")
	claim, err := d.Client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("claim %s: %w", prepared.Name, err)
	}
	pods, err := d.podsOf(ctx, claim)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		d.Recorder.Eventf(pod, claim, v1.EventTypeNormal, "WaitsForGPU", "Wait", "%s", program.Why)
	}
	return nil
}
