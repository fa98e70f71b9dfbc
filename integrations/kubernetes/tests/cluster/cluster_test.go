package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"reveza.io/kubernetes/internal/plugin"
	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/tests/support"
)

const class = "gpu.reveza.io"

// cluster is a control plane with one node and its plugin, which has the rights that the manifests give it.
type cluster struct {
	controlPlane
	ctx context.Context
}

func TestCluster(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c := cluster{startControlPlane(t, ctx), ctx}
	c.apply(t, ctx, manifests)
	c.addNode(t, ctx, "n1")
	node := support.NewNode(t, 1)
	client := c.as("reveza-system", "reveza-plugin")
	ended := make(chan error, 1)
	go func() { ended <- plugin.RunClaims(ctx, node.Options, client) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the plugin failed: %v", err)
		}
	})
	support.Eventually(t, "a ResourceSlice", func() bool {
		list, err := c.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 1
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, cluster)
	}{
		{"FourOf22GiBOnACardOf24AndAFifthWaits", fourOnOneCard},
		{"AClaimLargerThanTheCardWaitsForEver", largerThanTheCard},
		{"OldLimitsGetAWholeCard", extendedResource},
		{"AQuotaLimitsDevicesOfANamespace", quota},
		{"HigherPriorityNeedsALabelOfTheNamespace", forgedConfiguration},
		{"PodsCannotForgeTheirJob", forgedPod},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

func claimOf(name, memory, parameters string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class,
				Capacity: &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
					"memory": resource.MustParse(memory)}}}}}}}}
	if parameters != "" {
		claim.Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{DeviceConfiguration: resourceapi.DeviceConfiguration{
			Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: share.Driver, Parameters: runtime.RawExtension{
				Raw: []byte(`{"apiVersion":"gpu.reveza.io/v1alpha1","kind":"GpuPolicy",` + parameters + `}`)}}}}}
	}
	return claim
}

func podOf(name, claim string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
		ResourceClaims: []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}},
		Containers: []v1.Container{{Name: "c", Image: "x",
			Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "gpu"}}}}}}}
}

func (c cluster) create(t *testing.T, namespace string, claim *resourceapi.ResourceClaim, pod *v1.Pod) {
	t.Helper()
	if claim != nil {
		_, err := c.ResourceV1().ResourceClaims(namespace).Create(c.ctx, claim, metav1.CreateOptions{})
		must(t, err)
	}
	_, err := c.CoreV1().Pods(namespace).Create(c.ctx, pod, metav1.CreateOptions{})
	must(t, err)
}

// remove deletes a pod and its claim; the controller that would do the latter does not run here.
func (c cluster) remove(t *testing.T, namespace, pod, claim string) {
	t.Helper()
	must(t, c.CoreV1().Pods(namespace).Delete(c.ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	made, err := c.ResourceV1().ResourceClaims(namespace).Get(c.ctx, claim, metav1.GetOptions{})
	must(t, err)
	made.Status.ReservedFor, made.Status.Allocation = nil, nil
	made, err = c.ResourceV1().ResourceClaims(namespace).UpdateStatus(c.ctx, made, metav1.UpdateOptions{})
	must(t, err)
	made.Finalizers = nil
	_, err = c.ResourceV1().ResourceClaims(namespace).Update(c.ctx, made, metav1.UpdateOptions{})
	must(t, err)
	must(t, c.ResourceV1().ResourceClaims(namespace).Delete(c.ctx, claim, metav1.DeleteOptions{}))
}

// scheduling returns how many pods of a namespace have a node, and how many were found to fit nowhere.
func (c cluster) scheduling(t *testing.T, namespace string) (placed, waiting int) {
	t.Helper()
	list, err := c.CoreV1().Pods(namespace).List(c.ctx, metav1.ListOptions{})
	must(t, err)
	for _, pod := range list.Items {
		if pod.Spec.NodeName != "" {
			placed++
			continue
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable {
				waiting++
			}
		}
	}
	return placed, waiting
}

func fourOnOneCard(t *testing.T, c cluster) {
	c.addNamespace(t, c.ctx, "four", nil)
	for i := range 5 {
		name := fmt.Sprintf("p%d", i)
		c.create(t, "four", claimOf(name, "22Gi", ""), podOf(name, name))
	}
	support.Eventually(t, "four pods have a node, the fifth waits", func() bool {
		placed, waiting := c.scheduling(t, "four")
		return placed == 4 && waiting == 1
	})
	consumed := resource.Quantity{}
	gone := ""
	claims, err := c.ResourceV1().ResourceClaims("four").List(c.ctx, metav1.ListOptions{})
	must(t, err)
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		gone = claim.Name
		for _, result := range claim.Status.Allocation.Devices.Results {
			consumed.Add(result.ConsumedCapacity["memory"])
		}
	}
	if consumed.Value() != 88*support.GiB {
		t.Errorf("consumed: %s", consumed.String())
	}
	c.remove(t, "four", gone, gone)
	support.Eventually(t, "the fifth takes the place of one that has gone", func() bool {
		placed, waiting := c.scheduling(t, "four")
		return placed == 4 && waiting == 0
	})
	claims, err = c.ResourceV1().ResourceClaims("four").List(c.ctx, metav1.ListOptions{})
	must(t, err)
	for _, claim := range claims.Items {
		c.remove(t, "four", claim.Name, claim.Name)
	}
}

func largerThanTheCard(t *testing.T, c cluster) {
	c.addNamespace(t, c.ctx, "large", nil)
	c.create(t, "large", claimOf("large", "25Gi", ""), podOf("large", "large"))
	support.Eventually(t, "the pod waits", func() bool {
		_, waiting := c.scheduling(t, "large")
		return waiting == 1
	})
}

func extendedResource(t *testing.T, c cluster) {
	c.addNamespace(t, c.ctx, "old", nil)
	for i := range 4 {
		c.create(t, "old", nil, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "c", Image: "x", Resources: v1.ResourceRequirements{
				Limits: v1.ResourceList{"reveza.io/gpu": resource.MustParse("1")}}}}}})
	}
	// The 88 GiB behind it hold three whole cards.
	support.Eventually(t, "three pods have a node, the fourth waits", func() bool {
		placed, waiting := c.scheduling(t, "old")
		return placed == 3 && waiting == 1
	})
	claims, err := c.ResourceV1().ResourceClaims("old").List(c.ctx, metav1.ListOptions{})
	must(t, err)
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		memory := claim.Status.Allocation.Devices.Results[0].ConsumedCapacity["memory"]
		if memory.Value() != support.CardBytes {
			t.Errorf("%s consumes %s", claim.Name, memory.String())
		}
	}
}

// refused tries to create an object until it is refused with a text: policies and quotas need a moment.
func refused(t *testing.T, what, because string, create func(metav1.CreateOptions) error) {
	t.Helper()
	var err error
	support.Eventually(t, what+" is refused because of "+because, func() bool {
		err = create(metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), because)
	})
}

func quota(t *testing.T, c cluster) {
	c.addNamespace(t, c.ctx, "team", nil)
	hard := v1.ResourceList{class + ".deviceclass.resource.k8s.io/devices": resource.MustParse("1")}
	made, err := c.CoreV1().ResourceQuotas("team").Create(c.ctx, &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "gpus"},
		Spec: v1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{})
	must(t, err)
	// As the controller of quotas does.
	made.Status = v1.ResourceQuotaStatus{Hard: hard, Used: v1.ResourceList{
		class + ".deviceclass.resource.k8s.io/devices": resource.MustParse("0")}}
	_, err = c.CoreV1().ResourceQuotas("team").UpdateStatus(c.ctx, made, metav1.UpdateOptions{})
	must(t, err)
	claims := c.ResourceV1().ResourceClaims("team")
	two := claimOf("two", "1Gi", "")
	two.Spec.Devices.Requests[0].Exactly.Count = 2
	two.Spec.Devices.Requests[0].Exactly.AllocationMode = resourceapi.DeviceAllocationModeExactCount
	refused(t, "a claim of two devices", "exceeded quota: gpus", func(options metav1.CreateOptions) error {
		_, err := claims.Create(c.ctx, two, options)
		return err
	})
	_, err = claims.Create(c.ctx, claimOf("one", "1Gi", ""), metav1.CreateOptions{})
	must(t, err)
	refused(t, "a second claim", "exceeded quota: gpus", func(options metav1.CreateOptions) error {
		_, err := claims.Create(c.ctx, claimOf("second", "1Gi", ""), options)
		return err
	})
}

func forgedConfiguration(t *testing.T, c cluster) {
	c.addNamespace(t, c.ctx, "plain", nil)
	c.addNamespace(t, c.ctx, "urgent", map[string]string{"reveza.io/policy": "unrestricted"})
	for parameters, because := range map[string]string{
		`"priority":"high"`:   "priority: high",
		`"weight":50`:         "a weight above 1",
		`"weight":1.5`:        "a weight above 1",
		`"interactive":true`:  "interactive",
		`"request":"8Gi"`:     "request and class",
		`"class":"expensive"`: "request and class",
	} {
		claim := claimOf("forged", "1Gi", parameters)
		refused(t, "a claim with "+parameters, because, func(options metav1.CreateOptions) error {
			_, err := c.ResourceV1().ResourceClaims("plain").Create(c.ctx, claim, options)
			return err
		})
		refused(t, "a template with "+parameters, because, func(options metav1.CreateOptions) error {
			_, err := c.ResourceV1().ResourceClaimTemplates("plain").Create(c.ctx, &resourceapi.ResourceClaimTemplate{
				ObjectMeta: claim.ObjectMeta, Spec: resourceapi.ResourceClaimTemplateSpec{Spec: claim.Spec}}, options)
			return err
		})
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := c.ResourceV1().ResourceClaims("urgent").Create(c.ctx, claim, dryRun)
		must(t, err)
	}
	for _, parameters := range []string{"", `"weight":1`, `"weight":0.5`, `"priority":"low","limit":"512Mi"`} {
		_, err := c.ResourceV1().ResourceClaims("plain").Create(c.ctx, claimOf("allowed", "1Gi", parameters),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		must(t, err)
	}
}

func forgedPod(t *testing.T, c cluster) {
	pods := c.CoreV1().Pods("plain")
	variable := func(name string) *v1.Pod {
		pod := podOf("p", "x")
		pod.Spec.InitContainers = []v1.Container{{Name: "i", Image: "x", Env: []v1.EnvVar{{Name: name, Value: "1"}}}}
		return pod
	}
	folder := func(path string) *v1.Pod {
		pod := podOf("p", "x")
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path}}}}
		return pod
	}
	for what, pod := range map[string]*v1.Pod{"REVEZA_JOB": variable("REVEZA_JOB"), "REVEZA_POLICY": variable("REVEZA_POLICY"),
		"REVEZA_DISABLE": variable("REVEZA_DISABLE")} {
		refused(t, "a pod with "+what, "come from its claim", func(options metav1.CreateOptions) error {
			_, err := pods.Create(c.ctx, pod, options)
			return err
		})
	}
	refused(t, "a pod with the daemon's folder", "mounted by the plugin only", func(options metav1.CreateOptions) error {
		_, err := pods.Create(c.ctx, folder("/run/reveza"), options)
		return err
	})
	for _, pod := range []*v1.Pod{variable("REVEZA_QUIET"), variable("LD_PRELOAD"), folder("/data")} {
		_, err := pods.Create(c.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		must(t, err)
	}
}
