package dradriver

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"reveza.io/kubernetes/internal/share"
)

// containerOfPod is a container that uses a claim.
type containerOfPod struct {
	pod  *v1.Pod
	name string
}

// podsOf returns the pods of this node for which a claim is reserved.
func (d *Driver) podsOf(ctx context.Context, claim *resourceapi.ResourceClaim) ([]*v1.Pod, error) {
	var pods []*v1.Pod
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.Resource != "pods" || consumer.APIGroup != "" {
			continue
		}
		pod, err := d.Client.CoreV1().Pods(claim.Namespace).Get(ctx, consumer.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", consumer.Name, err)
		}
		if pod.UID == consumer.UID && pod.Spec.NodeName == d.Node.Name {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// containersWithOwnPreload returns the containers of a claim that set LD_PRELOAD in their
// specification. What ConfigMaps and images set is not seen.
func containersWithOwnPreload(pods []*v1.Pod, claim *resourceapi.ResourceClaim) []containerOfPod {
	var found []containerOfPod
	for _, pod := range pods {
		names := claimNames(pod, claim)
		extended := extendedContainers(pod, claim)
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			uses := slices.Contains(extended, container.Name) ||
				slices.ContainsFunc(container.Resources.Claims, func(used v1.ResourceClaim) bool {
					return slices.Contains(names, used.Name)
				})
			sets := slices.ContainsFunc(container.Env, func(variable v1.EnvVar) bool {
				return variable.Name == "LD_PRELOAD"
			})
			if uses && sets {
				found = append(found, containerOfPod{pod, container.Name})
			}
		}
	}
	return found
}

// claimNames returns the names that a pod gives to a claim.
func claimNames(pod *v1.Pod, claim *resourceapi.ResourceClaim) []string {
	var names []string
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err == nil && name != nil && *name == claim.Name {
			names = append(names, pod.Spec.ResourceClaims[i].Name)
		}
	}
	return names
}

// extendedContainers returns the containers for whose extended resources the scheduler made a claim.
func extendedContainers(pod *v1.Pod, claim *resourceapi.ResourceClaim) []string {
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil || status.ResourceClaimName != claim.Name {
		return nil
	}
	var names []string
	for _, mapping := range status.RequestMappings {
		names = append(names, mapping.ContainerName)
	}
	return names
}

// tellOwnPreload writes an Event for each container that sets LD_PRELOAD. A CDI device replaces
// variables of a container, so LD_PRELOAD is left out of the device.
func (d *Driver) tellOwnPreload(prepared share.Share, pods []*v1.Pod, claim *resourceapi.ResourceClaim) {
	if prepared.Policy.PreloadsByFile() {
		return
	}
	for _, container := range containersWithOwnPreload(pods, claim) {
		outcome := "stays as it is: no program of the claim %s takes turns unless LD_PRELOAD names %s, or the " +
			"claim's configuration has preload: file"
		if !prepared.OwnPreload {
			outcome = "is replaced: the claim %s was prepared for another pod, with LD_PRELOAD=%s"
		}
		d.Recorder.Eventf(container.pod, claim, v1.EventTypeWarning, "OwnPreload", "Prepare",
			"container %s sets LD_PRELOAD, which "+outcome, container.name, claim.Name, share.LibraryInContainer)
	}
}
