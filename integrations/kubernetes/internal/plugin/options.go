package plugin

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What the node offers: not both, which would give the same memory out twice.
const (
	ModeDRA          = "dra"
	ModeDevicePlugin = "device-plugin"
)

// Ways by which the driver's own files and devices come into containers.
const (
	DriverCDI     = "cdi"
	DriverRuntime = "runtime"
	DriverNone    = "none"
)

// Options are those of the command line; Register describes them.
type Options struct {
	Mode, Node, PodUID, Kubeconfig       string
	Kubelet, CDIFolder, Image, Host      string
	Socket, Reveza, Configuration        string
	Driver, DriverKind                   string
	NoCDI                                bool
	Group                                uint
	HostMemory, DefaultMemory, GPUBudget string

	HealthInterval time.Duration // between two looks at the daemon
	WaitInterval   time.Duration // after which a pod that waits is told why

	MetricsListen string // empty: none
	DCGMNames     bool
}

// Register declares the flags and their defaults.
func (o *Options) Register(flags *flag.FlagSet) {
	flags.StringVar(&o.Mode, "mode", ModeDRA, "dra, or device-plugin for clusters before 1.36")
	flags.StringVar(&o.Node, "node", os.Getenv("NODE_NAME"), "`name` of this node (default $NODE_NAME)")
	flags.StringVar(&o.PodUID, "pod-uid", os.Getenv("POD_UID"),
		"`UID` of this pod, for upgrades without a gap (default $POD_UID)")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "`file`; default: the pod's service account")
	flags.StringVar(&o.Kubelet, "kubelet-root", "/var/lib/kubelet", "`folder` of kubelet")
	flags.StringVar(&o.CDIFolder, "cdi-dir", "/var/run/cdi", "`folder` of CDI specifications")
	flags.StringVar(&o.Image, "image-files", "/opt/reveza/node", "`folder` with libreveza.so and reveza-cdi-hook")
	flags.StringVar(&o.Host, "host-files", "/var/lib/reveza/files",
		"`folder` of the host for them; the same path in this container")
	flags.StringVar(&o.Socket, "socket", "/run/reveza/revezad.sock", "`path` of the daemon's socket")
	flags.StringVar(&o.Reveza, "reveza", "/opt/reveza/bin/reveza", "`path` of the program reveza")
	flags.StringVar(&o.Configuration, "config", "", "YAML `file` with classes, env and mounts")
	flags.StringVar(&o.Driver, "driver", DriverCDI,
		"how containers get the driver's files: cdi, runtime (NVIDIA's container runtime), or none")
	flags.StringVar(&o.DriverKind, "driver-cdi-kind", "nvidia.com/gpu", "`kind` of the driver's CDI devices")
	flags.BoolVar(&o.NoCDI, "no-cdi", false, "device plugin: mounts instead of CDI devices (before containerd 1.7)")
	flags.UintVar(&o.Group, "group", 0, "`number` of the group that revezad admits, which containers get by CDI "+
		"(not before containerd 2.0); 0: none")
	flags.StringVar(&o.HostMemory, "host-memory", "",
		"host `memory` for what is swapped out: revezad's host_budget, e.g. 64Gi (default: none)")
	flags.StringVar(&o.DefaultMemory, "default-memory", "",
		"`memory` of a claim or device that names none, e.g. 8Gi (default: the whole card)")
	flags.DurationVar(&o.HealthInterval, "health-interval", 5*time.Second, "device plugin: `time` between two looks at the daemon")
	flags.DurationVar(&o.WaitInterval, "wait-interval", time.Minute,
		"dra: `time` without the GPU after which a pod gets an Event that says why it waits")
	flags.StringVar(&o.MetricsListen, "metrics-listen", "",
		"`address`, e.g. :9788, of http://ADDRESS/metrics: what pods use, for Prometheus (default: none)")
	flags.BoolVar(&o.DCGMNames, "dcgm-names", false, "metrics: memory also under the names of NVIDIA's dcgm-exporter")
	flags.StringVar(&o.GPUBudget, "gpu-budget", "", "the `memory` that revezad uses of each card (default: all)")
}

// Validate returns an error that names the flag and what would be right.
func (o *Options) Validate() error {
	if o.Mode != ModeDRA && o.Mode != ModeDevicePlugin {
		return fmt.Errorf("-mode: %q is neither %s nor %s", o.Mode, ModeDRA, ModeDevicePlugin)
	}
	if o.Node == "" {
		return fmt.Errorf("-node: the name of this node is needed; set NODE_NAME from spec.nodeName")
	}
	switch o.Driver {
	case DriverCDI, DriverRuntime, DriverNone:
	default:
		return fmt.Errorf("-driver: %q is not one of %s", o.Driver,
			strings.Join([]string{DriverCDI, DriverRuntime, DriverNone}, ", "))
	}
	if o.NoCDI && (o.Mode == ModeDRA || o.Driver == DriverCDI) {
		return fmt.Errorf("-no-cdi is for -mode=%s with -driver=%s or %s", ModeDevicePlugin, DriverRuntime, DriverNone)
	}
	if o.DCGMNames && o.MetricsListen == "" {
		return fmt.Errorf("-dcgm-names needs -metrics-listen")
	}
	if o.Group > math.MaxInt32 {
		return fmt.Errorf("-group: %d is not the number of a group", o.Group)
	}
	for flag, path := range map[string]string{"socket": o.Socket, "cdi-dir": o.CDIFolder, "host-files": o.Host,
		"kubelet-root": o.Kubelet} {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("-%s: %q is not an absolute path", flag, path)
		}
	}
	return nil
}
