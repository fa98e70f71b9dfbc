package metrics

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Exporter answers scrapes. Thread-safe.
type Exporter struct {
	Node    string
	Status  func(context.Context) ([]byte, error) // `reveza status --json`
	Holders func(context.Context) ([]Holder, error)
	// Jobs returns the jobs of devices of the device plugin and of claims that were given out.
	Jobs      func() (devices, claims map[string]string, err error)
	DCGMNames bool
}

// ServeHTTP answers with an error if kubelet does not say which pods there are: series without their labels would
// be others.
func (e Exporter) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	text, err := e.render(request.Context())
	if err != nil {
		http.Error(response, err.Error(), http.StatusServiceUnavailable)
		return
	}
	response.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = response.Write(text)
}

func (e Exporter) render(ctx context.Context) ([]byte, error) {
	page := &page{}
	text, err := e.Status(ctx)
	var current status
	if err == nil {
		current, err = parseStatus(text)
	}
	page.metric("reveza_daemon_up", "gauge", "1 if revezad responds, else 0")
	if err != nil {
		page.sample(nil, 0)
		return page.Bytes(), nil
	}
	page.sample(nil, 1)
	holders, err := e.Holders(ctx)
	if err != nil {
		return nil, err
	}
	devices, claims, err := e.Jobs()
	if err != nil {
		return nil, err
	}
	used := current.usage(jobsOf(holders, devices, claims))
	e.writeOwn(page, current, used)
	if e.DCGMNames {
		e.writeDCGM(page, current, used)
	}
	return page.Bytes(), nil
}

func (e Exporter) writeOwn(page *page, current status, used usage) {
	uuids := map[int]string{}
	for _, gpu := range current.GPUs {
		uuids[gpu.Index] = gpu.UUID
	}
	for _, part := range []struct {
		name, help string
		bytes      map[share]int64
	}{{"reveza_pod_gpu_resident_bytes", "GPU memory of the container's programs, contexts included", used.resident},
		{"reveza_pod_gpu_swapped_bytes", "swapped out to host memory", used.swapped}} {
		page.metric(part.name, "gauge", part.help)
		for _, key := range slices.SortedFunc(maps.Keys(part.bytes), share.compare) {
			page.sample(append([]label{{"gpu", uuids[key.gpu]}}, key.container.labels()...), float64(part.bytes[key]))
		}
	}
	page.metric("reveza_pod_gpu_seconds_total", "counter", "time in which the container's jobs had the GPU")
	for _, container := range slices.SortedFunc(maps.Keys(used.ran), Container.compare) {
		page.sample(container.labels(), used.ran[container])
	}
}

// writeDCGM writes memory in MiB under the names and labels of dcgm-exporter. What is used adds up to the card's:
// the samples without a pod are what no pod holds.
func (e Exporter) writeDCGM(page *page, current status, used usage) {
	const unit = 1 << 20
	type sample struct {
		gpu       int // position
		container Container
		value     float64
	}
	write := func(name, help string, samples []sample) {
		page.metric(name, "gauge", help)
		for _, sample := range samples {
			gpu := current.GPUs[sample.gpu]
			page.sample(append([]label{{"gpu", strconv.Itoa(gpu.Index)}, {"UUID", gpu.UUID}, {"modelName", gpu.Name},
				{"Hostname", e.Node}}, sample.container.labels()...), sample.value)
		}
	}
	var totals, free, held []sample
	for i, gpu := range current.GPUs {
		if gpu.Total == nil || gpu.Used == nil {
			continue
		}
		totals = append(totals, sample{i, Container{}, float64(*gpu.Total) / unit})
		free = append(free, sample{i, Container{}, float64(*gpu.Total-*gpu.Used) / unit})
		rest := *gpu.Used
		for _, key := range slices.SortedFunc(maps.Keys(used.resident), share.compare) {
			if key.gpu == gpu.Index && key.container != (Container{}) {
				held = append(held, sample{i, key.container, float64(used.resident[key]) / unit})
				rest -= used.resident[key]
			}
		}
		held = append(held, sample{i, Container{}, float64(max(rest, 0)) / unit})
	}
	write("DCGM_FI_DEV_FB_TOTAL", "memory of the GPU (MiB)", totals)
	write("DCGM_FI_DEV_FB_FREE", "free memory of the GPU (MiB)", free)
	write("DCGM_FI_DEV_FB_USED", "used memory of the GPU (MiB), by container", held)
}

type label struct{ name, value string }

func (c Container) labels() []label {
	return []label{{"namespace", c.Namespace}, {"pod", c.Pod}, {"container", c.Name}}
}

func (c Container) compare(other Container) int {
	return cmp.Or(cmp.Compare(c.Namespace, other.Namespace), cmp.Compare(c.Pod, other.Pod), cmp.Compare(c.Name, other.Name))
}

func (s share) compare(other share) int {
	return cmp.Or(cmp.Compare(s.gpu, other.gpu), s.container.compare(other.container))
}

// page is text in the format of Prometheus.
type page struct {
	bytes.Buffer
	name string
}

func (p *page) metric(name, kind, help string) {
	p.name = name
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (p *page) sample(labels []label, value float64) {
	p.WriteString(p.name)
	for i, label := range labels {
		fmt.Fprintf(p, `%c%s="%s"`, "{,"[min(i, 1)], label.name, escapes.Replace(label.value))
	}
	if len(labels) > 0 {
		p.WriteByte('}')
	}
	fmt.Fprintf(p, " %s\n", strconv.FormatFloat(value, 'g', -1, 64))
}
