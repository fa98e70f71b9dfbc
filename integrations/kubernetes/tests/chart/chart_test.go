// Package chart_test tests what the chart and the kustomize base make.
package chart_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	chart "reveza.io/kubernetes/tests/chart"
)

const (
	chartFolder = "../../chart/reveza"
	baseFolder  = "../../kustomize/base"
)

var update = flag.Bool("update", false, "write the kustomize base anew")

func render(t *testing.T, values map[string]any) (string, error) {
	t.Helper()
	return chart.Render(chartFolder, values)
}

// objects returns manifests by kind and name.
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, part := range strings.Split(text, "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(part, "---\n")), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, part)
		}
		metadata := object["metadata"].(map[string]any)
		found[object["kind"].(string)+"/"+metadata["name"].(string)] = object
	}
	return found
}

func field(t *testing.T, object map[string]any, path ...any) any {
	t.Helper()
	var value any = object
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}

func TestTheKustomizeBaseIsTheChartWithItsDefaults(t *testing.T) {
	rendered, err := render(t, map[string]any{"hostMemory": "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	want := "# Rendered from the chart by `go test . -update` in tests/chart.\n" +
		"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: reveza-system\n" +
		strings.ReplaceAll(rendered, "managed-by: Helm", "managed-by: kustomize")
	file := filepath.Join(baseFolder, "reveza.yaml")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("%s is out of date (%v): go test . -update", file, err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), baseFolder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	if have, want := len(objects(t, string(text))), len(objects(t, rendered))+1; have != want {
		t.Errorf("kustomize has %d objects, the chart %d", have, want)
	}
}

func TestUpgradesOfThePluginHaveNoGapAndTheDaemonIsAlone(t *testing.T) {
	text, err := render(t, map[string]any{"hostMemory": "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, text)
	plugin, daemon := found["DaemonSet/reveza-plugin"], found["DaemonSet/reveza-revezad"]
	if surge := field(t, plugin, "spec", "updateStrategy", "rollingUpdate", "maxSurge"); surge != 1.0 {
		t.Errorf("maxSurge of the plugin: %v", surge)
	}
	if surge := field(t, daemon, "spec", "updateStrategy", "rollingUpdate", "maxSurge"); surge != 0.0 {
		t.Errorf("maxSurge of the daemon: %v", surge)
	}
	for _, set := range []map[string]any{plugin, daemon} {
		if class := field(t, set, "spec", "template", "spec", "priorityClassName"); class != "system-node-critical" {
			t.Errorf("priorityClassName: %v", class)
		}
		if tolerations := field(t, set, "spec", "template", "spec", "tolerations").([]any); len(tolerations) != 2 {
			t.Errorf("tolerations: %v", tolerations)
		}
	}
}

func TestBothPartsGetTheSameAmountsAndGroup(t *testing.T) {
	text, err := render(t, map[string]any{"hostMemory": "64Gi", "gpuBudget": "24Gi", "defaultMemory": "8Gi",
		"group": 4242})
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, text)
	arguments := field(t, found["DaemonSet/reveza-plugin"], "spec", "template", "spec", "containers", 0, "args").([]any)
	for _, want := range []any{"-host-memory=64Gi", "-gpu-budget=24Gi", "-default-memory=8Gi", "-group=4242"} {
		if !slices.Contains(arguments, want) {
			t.Errorf("%v lacks %v", arguments, want)
		}
	}
	values := map[any]any{}
	for _, variable := range field(t, found["DaemonSet/reveza-revezad"], "spec", "template", "spec", "containers", 0, "env").([]any) {
		values[field(t, variable.(map[string]any), "name")] = field(t, variable.(map[string]any), "value")
	}
	if values["REVEZA_HOST_BUDGET"] != "64GiB" || values["REVEZA_GPU_BUDGET"] != "24GiB" ||
		values["REVEZA_GROUP"] != "4242" {
		t.Errorf("environment of revezad: %v", values)
	}
}

func TestMetricsCanBeSwitchedOff(t *testing.T) {
	for enabled, want := range map[bool]int{true: 1, false: 0} {
		text, err := render(t, map[string]any{"hostMemory": "64Gi",
			"metrics": map[string]any{"enabled": enabled, "port": 1234, "dcgmNames": true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"-metrics-listen=:1234\n", "-dcgm-names=true\n", "containerPort: 1234",
			"mountPath: /var/lib/kubelet/pod-resources", "path: /var/lib/kubelet/pod-resources"} {
			if have := strings.Count(text, part); have != want {
				t.Errorf("enabled: %v: %d times %q", enabled, have, part)
			}
		}
	}
}

func TestADevicePluginHasNoClassAndNoRights(t *testing.T) {
	text, err := render(t, map[string]any{"hostMemory": "64Gi", "mode": "device-plugin", "driver": "runtime", "noCDI": true})
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, text)
	for name := range found {
		if strings.HasPrefix(name, "DeviceClass/") || strings.HasPrefix(name, "ClusterRole") || strings.HasSuffix(name, "-claims") {
			t.Errorf("%s is for DRA", name)
		}
	}
	set := found["DaemonSet/reveza-plugin"]
	if surge := field(t, set, "spec", "updateStrategy", "rollingUpdate", "maxSurge"); surge != 0.0 {
		t.Errorf("maxSurge: %v", surge)
	}
}

func TestANewConfigurationRestartsThePlugin(t *testing.T) {
	seen := map[any]bool{}
	for _, weight := range []float64{1, 2} {
		text, err := render(t, map[string]any{"hostMemory": "64Gi",
			"classes": map[string]any{"night": map[string]any{"weight": weight}}})
		if err != nil {
			t.Fatal(err)
		}
		set := objects(t, text)["DaemonSet/reveza-plugin"]
		seen[field(t, set, "spec", "template", "metadata", "annotations", "reveza.io/configuration")] = true
	}
	if len(seen) != 2 {
		t.Errorf("annotations: %v", seen)
	}
}

func TestWrongValuesAreRefusedByName(t *testing.T) {
	for _, test := range []struct {
		values map[string]any
		names  string
	}{
		{map[string]any{}, "hostMemory"},
		{map[string]any{"hostMemory": "64GB"}, "hostMemory"},
		{map[string]any{"hostMemory": "64Gi", "mode": "both"}, "mode"},
		{map[string]any{"hostMemory": "64Gi", "hostmemory": "1Gi"}, "hostmemory"},
		{map[string]any{"hostMemory": "64Gi", "noCDI": true}, "mode"},
		{map[string]any{"hostMemory": "64Gi", "classes": map[string]any{"a": map[string]any{"weight": 1000}}}, "weight"},
		{map[string]any{"hostMemory": "64Gi", "revezad": map[string]any{"env": map[string]any{"PATH": "x"}}}, "PATH"},
	} {
		if _, err := render(t, test.values); err == nil || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%v: %v, want the name %s", test.values, err, test.names)
		}
	}
}
