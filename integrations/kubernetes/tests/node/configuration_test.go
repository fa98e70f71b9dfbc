package node_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"reveza.io/kubernetes/tests/node/machine"
)

// The card, as programs see it: fakecuda's libraries and state.
const (
	driverLibraries = "/usr/local/driver"
	cardFolder      = "/run/fakecuda"
	cardUUID        = "GPU-66616b65-6375-6461-2d64-657669636530"
	cardMiB         = 256
	cdiFolder       = "/var/run/cdi"
)

var cardEnvironment = []string{"LD_LIBRARY_PATH=" + driverLibraries, "FAKECUDA_DIR=" + cardFolder,
	fmt.Sprintf("FAKECUDA_MEMORY=%dMiB", cardMiB), "FAKECUDA_LINK=4GB/s"}

const containerdConfiguration = `version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "reveza.local/pause:1"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["%[2]s"]
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/usr/lib/cni", "/opt/cni/bin"]
    conf_dir = "%[1]s/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "%[1]s/nvidia.json"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
      SystemdCgroup = false
`

const networkConfiguration = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "%s",
 "isGateway": true, "ipam": {"type": "host-local", "dataDir": "%s/addresses",
 "ranges": [[{"subnet": "%s", "gateway": "%s"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
`

const kubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
failSwapOn: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
volumePluginDir: /var/lib/kubelet/volume-plugins
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
resolvConf: ""
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
syncFrequency: 5s
nodeStatusUpdateFrequency: 4s
evictionHard: {memory.available: 100Mi}
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
maxPods: 50
`

// writeConfiguration writes what the components read.
func writeConfiguration() error {
	folder := machine.Folder
	files := map[string]string{
		folder + "/containerd.toml":   fmt.Sprintf(containerdConfiguration, folder, cdiFolder),
		folder + "/cni/pods.conflist": fmt.Sprintf(networkConfiguration, machine.Bridge, folder, machine.Network, machine.Address),
		folder + "/kubelet.yaml":      fmt.Sprintf(kubeletConfiguration, machine.Group()),
	}
	var tokens strings.Builder
	for user, group := range users {
		fmt.Fprintf(&tokens, "%s,%s,%s,%s\n", token(user), user, user, group)
		text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "c",
			"clusters": []any{map[string]any{"name": "c", "cluster": map[string]string{
				"server": apiServer, "certificate-authority": certificate}}},
			"users":    []any{map[string]any{"name": "u", "user": map[string]string{"token": token(user)}}},
			"contexts": []any{map[string]any{"name": "c", "context": map[string]string{"cluster": "c", "user": "u"}}}})
		if err != nil {
			return err
		}
		files[kubeconfig(user)] = string(text)
	}
	files[folder+"/tokens"] = tokens.String()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := linkPrograms(); err != nil {
		return err
	}
	return writeDriver()
}

func linkPrograms() error {
	folder := filepath.Join(machine.Folder, "bin")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, target := range map[string]string{"containerd": "", "containerd-shim-runc-v2": "", "ctr": "",
		"kubectl-reveza": "", "etcd": "kubenode", "kube-apiserver": "kubenode", "kube-scheduler": "kubenode",
		"kube-controller-manager": "kubenode", "kubelet": "kubenode", "kubectl": "kubenode"} {
		if target == "" {
			target = name
		}
		if err := os.Symlink(filepath.Join(*parts, target), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeDriver writes what NVIDIA's container toolkit would: the CDI specification of the card, and a runtime
// whose containers get the driver's libraries.
func writeDriver() error {
	if err := os.MkdirAll(cardFolder, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(cardFolder, 0o777); err != nil { // as a card's device files
		return err
	}
	mounts := map[string]string{filepath.Join(*parts, "driver"): driverLibraries, cardFolder: cardFolder}
	var cdi, runtime []any
	for from, to := range mounts {
		cdi = append(cdi, map[string]any{"hostPath": from, "containerPath": to, "options": []string{"rbind", "rw"}})
		runtime = append(runtime, map[string]any{"type": "bind", "source": from, "destination": to,
			"options": []string{"rbind", "rw"}})
	}
	if err := writeJSON(filepath.Join(cdiFolder, "nvidia.json"), map[string]any{"cdiVersion": "0.6.0",
		"kind": "nvidia.com/gpu", "devices": []any{map[string]any{"name": cardUUID,
			"containerEdits": map[string]any{"env": cardEnvironment, "mounts": cdi}}}}); err != nil {
		return err
	}
	text, err := output(filepath.Join(*parts, "ctr"), "oci", "spec")
	if err != nil {
		return err
	}
	var spec map[string]any
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	spec["mounts"] = append(spec["mounts"].([]any), runtime...)
	process := spec["process"].(map[string]any)
	environment, _ := process["env"].([]any)
	for _, variable := range cardEnvironment {
		environment = append(environment, variable)
	}
	process["env"] = environment
	return writeJSON(filepath.Join(machine.Folder, "nvidia.json"), spec)
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
