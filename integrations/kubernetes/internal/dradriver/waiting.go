package dradriver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/internal/waiting"
)

// TellWaiting tells of each claim whose programs have waited for the GPU since the last call: by an Event of its
// pods, and by a condition until it has had the GPU.
func (d *Driver) TellWaiting(ctx context.Context, watch *waiting.Watch) {
	text, err := d.Node.Daemon.Status(ctx)
	if err != nil {
		return // Prepare says it to those who need the daemon
	}
	programs, err := waiting.Parse(text)
	if err == nil {
		waits, resumed := watch.Observe(programs)
		err = d.tellChanges(ctx, waits, resumed)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Pods that wait for the GPU are not told")
	}
}

func (d *Driver) tellChanges(ctx context.Context, programs []waiting.Program, resumed []string) error {
	if len(programs) == 0 && len(resumed) == 0 {
		return nil
	}
	shares, err := d.Node.Store.All()
	if err != nil {
		return err
	}
	for _, prepared := range shares {
		job := share.Job(prepared.ID)
		waits := slices.IndexFunc(programs, func(program waiting.Program) bool { return program.Job == job })
		if waits < 0 && !slices.Contains(resumed, job) {
			continue
		}
		namespace, name, _ := strings.Cut(prepared.Name, "/")
		claim, err := d.Client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("claim %s: %w", prepared.Name, err)
		}
		if waits < 0 {
			d.setCondition(ctx, claim, condition(waitsForGPU, false, "", "TakesTurns", ""), true)
			continue
		}
		d.setCondition(ctx, claim, condition(waitsForGPU, true, "Waiting", "", programs[waits].Why), false)
		if err := d.tellPods(ctx, claim, programs[waits]); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) tellPods(ctx context.Context, claim *resourceapi.ResourceClaim, program waiting.Program) error {
	pods, err := d.podsOf(ctx, claim)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		d.Recorder.Eventf(pod, claim, v1.EventTypeNormal, "WaitsForGPU", "Wait", "%s", program.Why)
	}
	return nil
}
