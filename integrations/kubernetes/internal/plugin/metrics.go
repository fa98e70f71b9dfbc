package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"

	"reveza.io/kubernetes/internal/deviceplugin"
	"reveza.io/kubernetes/internal/metrics"
	"reveza.io/kubernetes/internal/node"
	"reveza.io/kubernetes/internal/share"
)

const scrapeLimit = 10 * time.Second

// serveMetrics serves until the returned function is called.
func serveMetrics(ctx context.Context, options Options, this node.Node) (stop func(), err error) {
	listener, err := net.Listen("tcp", options.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("-metrics-listen: %w", err)
	}
	kubelet := metrics.Kubelet{Socket: filepath.Join(options.Kubelet, "pod-resources", "kubelet.sock"),
		Resource: deviceplugin.Resource}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Exporter{Node: options.Node, Status: this.Daemon.Status,
		Holders: kubelet.Holders, Jobs: func() (map[string]string, map[string]string, error) { return jobs(this) },
		DCGMNames: options.DCGMNames})
	server := &http.Server{Handler: http.TimeoutHandler(mux, scrapeLimit, "the node does not answer in time"),
		ReadHeaderTimeout: scrapeLimit}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.FromContext(ctx).Error(err, "Metrics are not served")
		}
	}()
	return func() { _ = server.Close() }, nil
}

// jobs returns those of devices and of claims.
func jobs(this node.Node) (devices, claims map[string]string, err error) {
	shares, err := this.Store.All()
	if err != nil {
		return nil, nil, err
	}
	claims = map[string]string{}
	for _, prepared := range shares {
		claims[prepared.Name] = share.Job(prepared.ID)
	}
	devices, err = this.Given.Jobs()
	return devices, claims, err
}
