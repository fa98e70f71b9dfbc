package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// What the machine is reached by in its own network, which leads nowhere else.
const (
	Address        = "10.99.0.1"
	Network        = "10.99.0.0/24"
	Bridge         = "pods"
	ServiceAddress = "10.96.0.1" // of the API server, for pods
)

// settings of the kernel that kubelet writes. They are the host's: files take their place.
var settings = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

func mountAll() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, folder := range []string{"/run", "/var/lib", "/var/log"} {
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", folder, err)
		}
	}
	for _, folder := range []string{Folder + "/settings", "/run/lock", "/run/netns"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for name, value := range settings {
		file := filepath.Join(Folder, "settings", strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, "/proc/sys/"+name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount over %s: %w", name, err)
		}
	}
	// kubelet passes mounts on to containers.
	return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

func configureNetwork() error {
	if err := syscall.Sethostname([]byte("node")); err != nil {
		return err
	}
	for _, line := range []string{
		"link set lo up",
		"address add " + ServiceAddress + "/32 dev lo",
		"link add " + Bridge + " type bridge",
		"address add " + Address + "/24 dev " + Bridge,
		"link set " + Bridge + " up",
		"route add default dev " + Bridge,
	} {
		if output, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, output)
		}
	}
	return nil
}
