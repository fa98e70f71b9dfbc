// The program reveza-kubelet-plugin offers a node's GPUs to Kubernetes: as DRA devices or, for older
// clusters, as devices of a device plugin.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"

	"reveza.io/kubernetes/internal/plugin"
)

func main() {
	klog.InitFlags(nil)
	var options plugin.Options
	options.Register(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		fail(2, fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	if err := options.Validate(); err != nil {
		fail(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := plugin.Run(ctx, options); err != nil {
		fail(1, err)
	}
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "reveza-kubelet-plugin:", err)
	os.Exit(status)
}
