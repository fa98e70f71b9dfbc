// Package chart renders the Helm chart with Helm's own library, as `helm template` does.
package chart

import (
	"slices"
	"strings"

	common "helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// Render returns the manifests of the chart in a folder, in the order of their files.
func Render(folder string, values map[string]any) (string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return "", err
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "reveza", Namespace: "reveza-system",
		Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return "", err
	}
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		if body := strings.TrimSpace(files[name]); body != "" {
			text.WriteString("---\n" + body + "\n")
		}
	}
	return text.String(), nil
}
