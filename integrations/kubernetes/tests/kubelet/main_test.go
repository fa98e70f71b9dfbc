// Package kubelet_test runs the plugin beside kubelet's own device manager and DRA manager.
package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const insideVariable = "REVEZA_TESTING_INSIDE"

// Skipped tells ctest that nothing was tested.
const skipped = 77

// TestMain runs the tests in a mount namespace of their own: kubelet's device manager has one fixed
// folder, which may be that of a real kubelet.
func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) == "" {
		os.Exit(runInside())
	}
	if err := hideKubelet(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	klog.SetLogger(klog.Logger{})
	os.Exit(m.Run())
}

func runInside() int {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), insideVariable+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "skipped: no mount namespace here:", err)
		return skipped
	}
	var exit *exec.ExitError
	if err := command.Wait(); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1)
	}
	return 0
}

func hideKubelet() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	for _, folder := range []string{"/var/lib", "/opt"} {
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("hide %s: %w", folder, err)
		}
	}
	return os.MkdirAll(pluginapi.DevicePluginPath, 0o755)
}

// start runs a part of the plugin until the test ends or the returned function is called.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the plugin failed: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}
