package kubelet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"reveza.io/kubernetes/internal/cards"
	"reveza.io/kubernetes/internal/node"
	"reveza.io/kubernetes/internal/plugin"
	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/tests/support"
)

// fakeCard is a card of fakecuda with a real daemon: what a node has, but for the containers.
type fakeCard struct {
	build       string
	environment []string // of all programs on the card
	log         string   // of the daemon
}

const cardBytes = 256 << 20

// newFakeCard needs the folder of a build with fakecuda, which ctest names.
func newFakeCard(t *testing.T, node *support.Node) fakeCard {
	t.Helper()
	build := os.Getenv("REVEZA_TESTING_BUILD")
	if build == "" {
		t.Skip("REVEZA_TESTING_BUILD is not set")
	}
	if _, err := os.Stat(filepath.Join(build, "tests/clients/worker")); err != nil {
		t.Skip("the build lacks tests/clients/worker")
	}
	folder := filepath.Dir(node.Options.Image)
	card := fakeCard{build: build, log: folder + "/revezad.log", environment: append(os.Environ(), "LD_LIBRARY_PATH="+build+"/lib/fakecuda",
		"FAKECUDA_DIR="+folder+"/card", "FAKECUDA_MEMORY=256MiB", "FAKECUDA_LINK=0", "REVEZA_USAGE_FILE=off",
		"REVEZA_SOCKET="+node.Options.Socket)}
	text, err := os.ReadFile(filepath.Join(build, "lib/libreveza.so"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(node.Options.Image, "libreveza.so"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	node.StopDaemon()
	daemon := card.program("bin/revezad", "--host-budget", "1GiB")
	log, err := os.Create(card.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon.Stderr = log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
	})
	for _, variable := range card.environment {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "FAKECUDA_") || name == "LD_LIBRARY_PATH" {
			t.Setenv(name, value) // for `reveza top`, which the plugin starts
		}
	}
	node.Options.Reveza = filepath.Join(build, "bin/reveza")
	node.Options.Driver, node.Options.HostMemory = plugin.DriverNone, "1Gi"
	support.Eventually(t, "the daemon answers", func() bool { return card.program("bin/reveza", "status").Run() == nil })
	return card
}

func (c fakeCard) program(path string, arguments ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(c.build, path), arguments...)
	command.Env = slices.Clone(c.environment)
	return command
}

// contain lets a program see the mounts of a container, as the runtime does, and have its variables. The
// mount namespace is that of the test.
func (c fakeCard) contain(t *testing.T, kubelet *draKubelet, pod *v1.Pod, path string, arguments ...string) *exec.Cmd {
	t.Helper()
	spec := kubelet.container(t, pod, nil)
	for _, mount := range spec.Mounts {
		if _, err := os.Stat(mount.Destination); err == nil {
			continue // that of an earlier pod, or the same path
		}
		if err := os.MkdirAll(filepath.Dir(mount.Destination), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(mount.Source, mount.Destination); err != nil {
			t.Fatal(err)
		}
	}
	command := c.program(path, arguments...)
	command.Env = append(command.Env, spec.Process.Env...)
	return command
}

var hash = regexp.MustCompile(`hash ([0-9a-f]{16})`)

// jobs returns those that the daemon has seen.
func (c fakeCard) jobs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile(`job ([0-9a-f]{16})`).FindAllStringSubmatch(string(text), -1) {
		found = append(found, match[1])
	}
	return found
}

// Four programs of 128 MiB on a card of 256, each with a claim of 178 MiB: each computes what it computes
// alone; for the daemon they are the jobs of their claims. A fifth that exceeds its claim fails alone.
func TestFourClaimsComputeInTurnsOnOneCard(t *testing.T) {
	this := support.NewNode(t, 1)
	card := newFakeCard(t, this)
	var pods []*v1.Pod
	var objects []runtime.Object
	found, err := cards.Reader{Program: this.Options.Reveza}.Read(t.Context())
	if err != nil || len(found) != 1 || found[0].Total != cardBytes {
		t.Fatalf("cards: %v, %v", found, err)
	}
	for i := range 5 {
		name := fmt.Sprintf("p%d", i)
		claim := claim(name, "178Mi", "", name)
		claim.Status.Allocation.Devices.Results[0].Device = node.DeviceName(found[0])
		pods = append(pods, pod(name, name))
		objects = append(objects, pods[i], claim)
	}
	kubelet := startDRA(t, this, objects...)
	mustPrepare(t, kubelet, pods...)

	alone := map[int]string{}
	var programs []*exec.Cmd
	output := make([]strings.Builder, 4)
	for i := range 4 {
		arguments := []string{"--bytes", "128MiB", "--steps", "20", "--seed", fmt.Sprint(i + 1)}
		native := card.program("tests/clients/worker", arguments...)
		native.Env = append(native.Env, "REVEZA_DISABLE=1")
		text, err := native.Output()
		if err != nil {
			t.Fatal(err)
		}
		alone[i] = string(hash.Find(text))
		program := card.contain(t, kubelet, pods[i], "tests/clients/worker", arguments...)
		program.Stdout, program.Stderr = &output[i], &output[i]
		programs = append(programs, program)
	}
	for _, program := range programs {
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, program := range programs {
		if err := program.Wait(); err != nil {
			t.Errorf("pod %d: %v\n%s", i, err, output[i].String())
		}
		if have := hash.FindString(output[i].String()); have != alone[i] || have == "" {
			t.Errorf("pod %d: %s, alone %s", i, have, alone[i])
		}
	}
	support.Eventually(t, "the daemon has seen the jobs of the claims", func() bool {
		jobs := card.jobs(t)
		return !slices.ContainsFunc(pods[:4], func(pod *v1.Pod) bool {
			return !slices.Contains(jobs, share.Job("claim-"+pod.Name))
		})
	})
	over := card.contain(t, kubelet, pods[4], "tests/clients/worker", "--bytes", "200MiB", "--steps", "1")
	text, err := over.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "OUT_OF_MEMORY") {
		t.Errorf("200 MiB of 178: %v\n%s", err, text)
	}
}
