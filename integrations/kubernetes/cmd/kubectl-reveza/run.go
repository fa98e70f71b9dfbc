package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"reveza.io/kubernetes/internal/share"
)

const (
	daemonLabels = "app.kubernetes.io/name=reveza,app.kubernetes.io/component=revezad"
	reveza       = "/opt/reveza/bin/reveza"
)

// kubectl runs the program of that name.
type kubectl struct {
	global    []string // --context and --kubeconfig
	namespace string   // of the pod; empty: the context's
}

func (k kubectl) command(arguments ...string) *exec.Cmd {
	command := exec.Command("kubectl", slices.Concat(k.global, arguments)...)
	command.Stderr = os.Stderr
	return command
}

// get reads objects as JSON.
func (k kubectl) get(into any, arguments ...string) error {
	text, err := k.command(slices.Concat([]string{"get", "-o", "json"}, arguments)...).Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (k kubectl) inNamespace(arguments ...string) []string {
	if k.namespace == "" {
		return arguments
	}
	return append(arguments, "--namespace="+k.namespace)
}

func (r request) run() error {
	if r.command == "status" {
		daemons, err := r.kubectl.daemons(r.target)
		if err != nil {
			return err
		}
		for _, daemon := range daemons {
			fmt.Printf("node %s\n", daemon.Spec.NodeName)
			if err := r.kubectl.exec(daemon, "status"); err != nil {
				return err
			}
		}
		return nil
	}
	var pod v1.Pod
	if err := r.kubectl.get(&pod, r.kubectl.inNamespace("pod", r.target)...); err != nil {
		return err
	}
	jobs, err := r.kubectl.jobs(pod)
	if err != nil {
		return err
	}
	daemons, err := r.kubectl.daemons(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := r.kubectl.exec(daemons[0], slices.Concat([]string{r.command, job}, r.options)...); err != nil {
			return err
		}
	}
	return nil
}

// daemons returns the pods of revezad on a node, or on all.
func (k kubectl) daemons(node string) ([]v1.Pod, error) {
	arguments := []string{"pods", "--all-namespaces", "--selector=" + daemonLabels}
	if node != "" {
		arguments = append(arguments, "--field-selector=spec.nodeName="+node)
	}
	var list v1.PodList
	if err := k.get(&list, arguments...); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 && node != "" {
		return nil, fmt.Errorf("no daemon of Reveza runs on node %s", node)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no daemon of Reveza runs in this cluster (label %s)", daemonLabels)
	}
	return list.Items, nil
}

// jobs returns the jobs of the claims of a pod.
func (k kubectl) jobs(pod v1.Pod) ([]string, error) {
	if pod.Spec.NodeName == "" {
		return nil, fmt.Errorf("pod %s waits to be scheduled: kubectl describe pod %s says for what", pod.Name, pod.Name)
	}
	var names []string
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimName != nil {
			names = append(names, *claim.ResourceClaimName)
		}
	}
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.ResourceClaimName != nil && !slices.Contains(names, *status.ResourceClaimName) {
			names = append(names, *status.ResourceClaimName)
		}
	}
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		names = append(names, status.ResourceClaimName)
	}
	var jobs []string
	for _, name := range names {
		var claim resourceapi.ResourceClaim
		if err := k.get(&claim, "resourceclaim", name, "--namespace="+pod.Namespace); err != nil {
			return nil, err
		}
		ours := claim.Status.Allocation != nil && slices.ContainsFunc(claim.Status.Allocation.Devices.Results,
			func(result resourceapi.DeviceRequestAllocationResult) bool { return result.Driver == share.Driver })
		if ours {
			jobs = append(jobs, share.Job(string(claim.UID)))
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("pod %s has no claim of %s; of the device plugin, find the job with kubectl reveza "+
			"status and change it with `reveza` in the pod of revezad", pod.Name, share.Driver)
	}
	return jobs, nil
}

// exec runs `reveza` beside a daemon.
func (k kubectl) exec(daemon v1.Pod, arguments ...string) error {
	command := k.command(slices.Concat([]string{"exec", "--namespace=" + daemon.Namespace, daemon.Name,
		"--container=revezad", "--", reveza}, arguments)...)
	command.Stdout = os.Stdout
	return command.Run()
}
