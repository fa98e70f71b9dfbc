package metrics

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubelet answers List as the one of a node.
type kubelet struct {
	podresources.UnimplementedPodResourcesListerServer
	pods []*podresources.PodResources
}

func (k kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{PodResources: k.pods}, nil
}

func (k kubelet) serve(t *testing.T) Kubelet {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, k)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return Kubelet{Socket: path, Resource: "reveza.io/gpu"}
}

func container(name string, device string, claims ...string) *podresources.ContainerResources {
	made := &podresources.ContainerResources{Name: name}
	if device != "" {
		made.Devices = []*podresources.ContainerDevices{{ResourceName: "reveza.io/gpu", DeviceIds: []string{device}},
			{ResourceName: "example.com/nic", DeviceIds: []string{"G::9"}}}
	}
	for _, claim := range claims {
		made.DynamicResources = append(made.DynamicResources, &podresources.DynamicResource{ClaimNamespace: "n", ClaimName: claim})
	}
	return made
}

const twoMiB = "2097152"

const exampleStatus = `{"gpus": [{"index": 0, "uuid": "G", "name": "A \"card\"", "total": 268435456, "used": 16777216}],
 "clients": [
  {"job": "d", "ran_s": 1.5, "gpus": [{"gpu": 0, "context": ` + twoMiB + `, "pinned": 0, "resident": ` + twoMiB + `, "swapped": 0}]},
  {"job": "d", "ran_s": 1.5, "gpus": [{"gpu": 0, "context": ` + twoMiB + `, "pinned": ` + twoMiB + `, "resident": 0, "swapped": 7}]},
  {"job": "c", "ran_s": 2, "gpus": [{"gpu": 0, "context": 0, "pinned": 0, "resident": 0, "swapped": 9}]},
  {"job": "shared", "ran_s": 3, "gpus": []},
  {"job": "of-no-pod", "ran_s": 4, "gpus": [{"gpu": 0, "context": 0, "pinned": ` + twoMiB + `, "resident": 0, "swapped": 0}]}]}`

func exporter(t *testing.T) Exporter {
	t.Helper()
	return Exporter{Node: "node-1", DCGMNames: true,
		Status: func(context.Context) ([]byte, error) { return []byte(exampleStatus), nil },
		Holders: kubelet{pods: []*podresources.PodResources{
			{Namespace: "n", Name: "by-device", Containers: []*podresources.ContainerResources{container("a", "G::0"), container("b", "")}},
			{Namespace: "n", Name: "by-claim", Containers: []*podresources.ContainerResources{container("a", "", "mine", "unknown")}},
			{Namespace: "n", Name: "two", Containers: []*podresources.ContainerResources{container("a", "", "both"), container("b", "", "both")}},
		}}.serve(t).Holders,
		Jobs: func() (map[string]string, map[string]string, error) {
			return map[string]string{"G::0": "d", "G::9": "of-no-pod"}, map[string]string{"n/mine": "c", "n/both": "shared"}, nil
		}}
}

func scrape(t *testing.T, exporter Exporter) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	exporter.ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	return recorder.Code, recorder.Body.String()
}

func TestWhatPodsUseHasTheirLabels(t *testing.T) {
	code, text := scrape(t, exporter(t))
	want := []string{
		`reveza_daemon_up 1`,
		`reveza_pod_gpu_resident_bytes{gpu="G",namespace="",pod="",container=""} 2.097152e+06`,
		`reveza_pod_gpu_resident_bytes{gpu="G",namespace="n",pod="by-claim",container="a"} 0`,
		`reveza_pod_gpu_resident_bytes{gpu="G",namespace="n",pod="by-device",container="a"} 8.388608e+06`,
		`reveza_pod_gpu_swapped_bytes{gpu="G",namespace="",pod="",container=""} 0`,
		`reveza_pod_gpu_swapped_bytes{gpu="G",namespace="n",pod="by-claim",container="a"} 9`,
		`reveza_pod_gpu_swapped_bytes{gpu="G",namespace="n",pod="by-device",container="a"} 7`,
		`reveza_pod_gpu_seconds_total{namespace="",pod="",container=""} 4`,
		`reveza_pod_gpu_seconds_total{namespace="n",pod="by-claim",container="a"} 2`,
		`reveza_pod_gpu_seconds_total{namespace="n",pod="by-device",container="a"} 1.5`,
		`reveza_pod_gpu_seconds_total{namespace="n",pod="two",container=""} 3`,
		`DCGM_FI_DEV_FB_TOTAL{gpu="0",UUID="G",modelName="A \"card\"",Hostname="node-1",namespace="",pod="",container=""} 256`,
		`DCGM_FI_DEV_FB_FREE{gpu="0",UUID="G",modelName="A \"card\"",Hostname="node-1",namespace="",pod="",container=""} 240`,
		`DCGM_FI_DEV_FB_USED{gpu="0",UUID="G",modelName="A \"card\"",Hostname="node-1",namespace="n",pod="by-claim",container="a"} 0`,
		`DCGM_FI_DEV_FB_USED{gpu="0",UUID="G",modelName="A \"card\"",Hostname="node-1",namespace="n",pod="by-device",container="a"} 8`,
		`DCGM_FI_DEV_FB_USED{gpu="0",UUID="G",modelName="A \"card\"",Hostname="node-1",namespace="",pod="",container=""} 8`,
	}
	var have []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, "# ") {
			have = append(have, line)
		}
	}
	if code != 200 || strings.Join(have, "\n") != strings.Join(want, "\n") {
		t.Errorf("status %d:\n%s", code, text)
	}
}

func TestNoMemoryOfACardIsMadeUp(t *testing.T) {
	exporter := exporter(t)
	exporter.Status = func(context.Context) ([]byte, error) {
		return []byte(`{"gpus": [{"index": 0, "uuid": "G", "total": 1048576, "used": null}], "clients": []}`), nil
	}
	if code, text := scrape(t, exporter); code != 200 || strings.Contains(text, "DCGM_FI_DEV_FB_USED{") ||
		strings.Contains(text, "DCGM_FI_DEV_FB_FREE{") {
		t.Errorf("status %d:\n%s", code, text)
	}
	exporter.DCGMNames = false
	if _, text := scrape(t, exporter); strings.Contains(text, "DCGM") {
		t.Errorf("names that were not asked for:\n%s", text)
	}
}

func TestADaemonThatDoesNotAnswerIsSaidAndAKubeletIsAnError(t *testing.T) {
	exporter := exporter(t)
	exporter.Holders = Kubelet{Socket: filepath.Join(t.TempDir(), "nobody")}.Holders
	if code, text := scrape(t, exporter); code != 503 || !strings.Contains(text, "nobody") {
		t.Errorf("status %d: %s", code, text)
	}
	exporter.Status = func(context.Context) ([]byte, error) { return nil, errors.New("no daemon") }
	if code, text := scrape(t, exporter); code != 200 || !strings.HasSuffix(text, "\nreveza_daemon_up 0\n") {
		t.Errorf("status %d: %s", code, text)
	}
}
