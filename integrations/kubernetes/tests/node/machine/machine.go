// Package machine turns the calling program into one that runs on a machine of its own: in its own process,
// mount, network, IPC and host name namespaces, with its own control groups, and with its own /run, /var/lib and
// /var/log. Nothing of it outlives the call, however that ends.
package machine

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// The program starts itself twice: as the first process of the machine, and as what runs there.
const (
	stageVariable = "REVEZA_MACHINE_STAGE"
	groupVariable = "REVEZA_MACHINE_GROUP"
	stageInit     = "init"
	stageInside   = "inside"
)

// Folder is a tmpfs in the machine.
const Folder = "/run/machine"

// Group returns the name of the machine's control group, below the root of each hierarchy.
func Group() string { return os.Getenv(groupVariable) }

// Run runs `inside` on a machine of its own and returns its result, or 1. Needs root.
func Run(inside func() int) int {
	var status int
	var err error
	switch os.Getenv(stageVariable) {
	case stageInside:
		return inside()
	case stageInit:
		status, err = serveAsInit()
	default:
		status, err = start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		return 1
	}
	return status
}

// start starts the machine and waits until its first process has ended, with which all others end.
func start() (int, error) {
	group := fmt.Sprintf("reveza-machine-%d", os.Getpid())
	if err := makeGroups(group); err != nil {
		return 1, err
	}
	defer removeGroups(group)
	// PR_SET_PDEATHSIG is about the thread that starts the process, not about the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := command(stageInit, group)
	first.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWUTS}
	if err := first.Start(); err != nil {
		return 1, fmt.Errorf("namespaces: %w", err)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(interrupted)
	go func() {
		if _, told := <-interrupted; told {
			_ = first.Process.Kill()
		}
	}()
	_ = first.Wait()
	return max(first.ProcessState.ExitCode(), 0) | boolToInt(!first.ProcessState.Exited()), nil
}

func boolToInt(value bool) int {
	if value {
		return 1
	}
	return 0
}

func command(stage, group string) *exec.Cmd {
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), stageVariable+"="+stage, groupVariable+"="+group)
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	return again
}

// serveAsInit prepares the machine, starts what runs there, and reaps processes without parents until that ends.
func serveAsInit() (int, error) {
	if err := mountAll(); err != nil {
		return 1, err
	}
	if err := configureNetwork(); err != nil {
		return 1, err
	}
	inside := command(stageInside, Group())
	if err := inside.Start(); err != nil {
		return 1, err
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		} else if err != nil {
			return 1, err
		}
		if ended != inside.Process.Pid {
			continue
		}
		if status.Signaled() {
			return 1, fmt.Errorf("ended by signal %d", status.Signal())
		}
		return status.ExitStatus(), nil
	}
}

// hierarchies returns the roots of the control groups of version 1, or that of version 2.
func hierarchies() []string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return []string{"/sys/fs/cgroup"}
	}
	found, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	for i, file := range found {
		found[i] = filepath.Dir(file)
	}
	return found
}

func makeGroups(group string) error {
	removeStaleGroups()
	for _, root := range hierarchies() {
		folder := filepath.Join(root, group)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		// A group of the first version has no processors until it is told which.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if filepath.Base(root) != "cpuset" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, file))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, file), text, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removeStaleGroups removes those of machines whose program was killed.
func removeStaleGroups() {
	for _, root := range hierarchies() {
		groups, _ := filepath.Glob(filepath.Join(root, "reveza-machine-*"))
		for _, group := range groups {
			pid := strings.TrimPrefix(filepath.Base(group), "reveza-machine-")
			if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
				removeGroup(group)
			}
		}
	}
}

func removeGroups(group string) {
	for _, root := range hierarchies() {
		folder := filepath.Join(root, group)
		for range 50 {
			if removeGroup(folder); !exists(folder) {
				break
			}
			time.Sleep(100 * time.Millisecond) // processes that were killed still leave it
		}
		if exists(folder) {
			fmt.Fprintln(os.Stderr, "machine: a control group is left:", folder)
		}
	}
}

// removeGroup removes a group and all below it, deepest first, as far as they are empty.
func removeGroup(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if entry.IsDir() {
			removeGroup(filepath.Join(folder, entry.Name()))
		}
	}
	_ = syscall.Rmdir(folder)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
