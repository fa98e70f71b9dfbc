// Package metrics serves what the pods of a node use of its cards, for Prometheus.
package metrics

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Container is one of a pod. Fields are empty where several have the same job.
type Container struct {
	Namespace, Pod, Name string
}

// Holder is a container with what it was given.
type Holder struct {
	Container
	Devices []string // of the device plugin
	Claims  []string // NAMESPACE/NAME
}

// Kubelet is asked by its socket which pods have what.
type Kubelet struct {
	Socket   string
	Resource string // name of the device plugin's devices
}

// Holders returns the containers of this node that have devices or claims.
func (k Kubelet) Holders(ctx context.Context) ([]Holder, error) {
	connection, err := grpc.NewClient("unix://"+k.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	list, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("kubelet does not say which pods have which devices (%s): %w", k.Socket, err)
	}
	var holders []Holder
	for _, pod := range list.PodResources {
		for _, container := range pod.Containers {
			holder := Holder{Container: Container{pod.Namespace, pod.Name, container.Name}}
			for _, devices := range container.Devices {
				if devices.ResourceName == k.Resource {
					holder.Devices = append(holder.Devices, devices.DeviceIds...)
				}
			}
			for _, claim := range container.DynamicResources {
				holder.Claims = append(holder.Claims, claim.ClaimNamespace+"/"+claim.ClaimName)
			}
			if len(holder.Devices)+len(holder.Claims) > 0 {
				holders = append(holders, holder)
			}
		}
	}
	return holders, nil
}

// jobsOf returns which container each job is of. `devices` and `claims` are the jobs of what holders have.
func jobsOf(holders []Holder, devices, claims map[string]string) map[string]Container {
	jobs := map[string]Container{}
	for _, holder := range holders {
		for _, given := range []struct {
			names []string
			jobs  map[string]string
		}{{holder.Devices, devices}, {holder.Claims, claims}} {
			for _, name := range given.names {
				job, known := given.jobs[name]
				if !known {
					continue
				}
				if other, shared := jobs[job]; shared {
					jobs[job] = other.common(holder.Container)
				} else {
					jobs[job] = holder.Container
				}
			}
		}
	}
	return jobs
}

// common returns what two containers have in common.
func (c Container) common(other Container) Container {
	if c.Namespace != other.Namespace {
		return Container{}
	}
	if c.Pod != other.Pod {
		return Container{Namespace: c.Namespace}
	}
	if c.Name != other.Name {
		c.Name = ""
	}
	return c
}
