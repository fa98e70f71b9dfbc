package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespace  = "default"
	podLimit   = 4 * time.Minute
	extended   = "reveza.io/gpu"
	programMiB = 178 // of which one fits on the card
)

// program is tests/clients/worker, in a pod or without.
type program struct {
	name     string
	seed     int
	steps    int
	mib      int    // default: programMiB
	claimMiB int    // of a claim of its own; 0: the extended resource
	limitMiB int    // of the pod's memory; default: none
	user     int64  // default: root
	image    string // default: that of the worker, with which the program is started
}

type result struct {
	Hash    string  `json:"hash"`
	Seconds float64 `json:"seconds"`
}

func (p program) arguments() []string {
	mib := p.mib
	if mib == 0 {
		mib = programMiB
	}
	return []string{"--bytes", fmt.Sprintf("%dMiB", mib), "--steps", strconv.Itoa(p.steps), "--step-ms", "50",
		"--seed", strconv.Itoa(p.seed), "--name", p.name, "--json"}
}

// alone runs the program outside of Kubernetes and of Reveza, on a card of its own.
func (p program) alone(t *testing.T) result {
	t.Helper()
	card := t.TempDir()
	command := exec.Command(filepath.Join(*build, "tests", "clients", "worker"), p.arguments()...)
	command.Env = append(os.Environ(), cardEnvironment...)
	command.Env = append(command.Env, "LD_LIBRARY_PATH="+filepath.Join(*parts, "driver"), "FAKECUDA_DIR="+card)
	text, err := command.Output()
	must(t, err)
	return parseResult(t, string(text))
}

func parseResult(t *testing.T, text string) result {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var found result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &found); err != nil || found.Hash == "" {
		t.Fatalf("no result: %q", text)
	}
	return found
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(podLimit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("not within %v: %s\n%s", podLimit, what, the.describe())
}

// describe returns what helps to find a failure's cause.
func (n *node) describe() string {
	pods, _ := output("kubectl", "get", "pods,resourceclaims", "--all-namespaces", "--output=wide")
	events, _ := output("kubectl", "get", "events", "--all-namespaces", "--sort-by=.lastTimestamp")
	lines := strings.Split(events, "\n")
	text := pods + strings.Join(lines[max(0, len(lines)-12):], "\n")
	for _, folder := range []string{namespace, system} {
		names, _ := output("kubectl", "get", "pods", "--namespace="+folder, "--output=name")
		for _, name := range strings.Fields(names) {
			log, _ := output("kubectl", "logs", name, "--namespace="+folder, "--tail=6")
			text += "\n" + name + ": " + log
		}
	}
	return text
}

// start creates the pod of a program, and its claim.
func (n *node) start(t *testing.T, p program) {
	t.Helper()
	container := v1.Container{Name: "c", Image: p.image, ImagePullPolicy: v1.PullNever}
	if p.image == "" {
		container.Image, container.Command = "reveza.local/clients:1", append([]string{"/clients/worker"}, p.arguments()...)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever,
		AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(1))}}
	if p.user != 0 {
		pod.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: &p.user, RunAsGroup: &p.user}
	}
	container.Resources.Limits = v1.ResourceList{}
	if p.limitMiB > 0 {
		container.Resources.Limits[v1.ResourceMemory] = resource.MustParse(fmt.Sprintf("%dMi", p.limitMiB))
	}
	if p.claimMiB == 0 {
		container.Resources.Limits[extended] = resource.MustParse("1")
	} else {
		memory := resource.MustParse(fmt.Sprintf("%dMi", p.claimMiB))
		claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: resourceapi.ResourceClaimSpec{
			Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "gpu",
				Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu.reveza.io",
					Capacity: &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
						"memory": memory}}}}}}}}
		_, err := n.ResourceV1().ResourceClaims(namespace).Create(n.ctx, claim, metav1.CreateOptions{})
		must(t, err)
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &p.name}}
		container.Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	}
	pod.Spec.Containers = []v1.Container{container}
	_, err := n.CoreV1().Pods(namespace).Create(n.ctx, pod, metav1.CreateOptions{})
	must(t, err)
}

// startAsJob starts a program as the controller of a Job does: kubelet refuses a pod for good whose devices are
// asked for while their plugin does not answer, and the controller makes another. Claims have no such gap.
func (n *node) startAsJob(t *testing.T, p program) {
	t.Helper()
	n.start(t, p)
	eventually(t, "the pod "+p.name+" is accepted", func() bool {
		pod, err := n.CoreV1().Pods(namespace).Get(n.ctx, p.name, metav1.GetOptions{})
		must(t, err)
		if p.claimMiB == 0 && pod.Status.Reason == "UnexpectedAdmissionError" {
			t.Logf("%s: %s", p.name, pod.Status.Message)
			n.remove(t, p)
			n.start(t, p)
			return false
		}
		return pod.Status.Phase != v1.PodPending
	})
}

func (n *node) startAll(t *testing.T, programs []program) {
	t.Helper()
	for _, program := range programs {
		n.start(t, program)
	}
}

// wait waits for the end of a pod and returns its exit status and what it printed.
func (n *node) wait(t *testing.T, name string) (int32, string) {
	t.Helper()
	var ended *v1.ContainerStateTerminated
	eventually(t, "the pod "+name+" has ended", func() bool {
		pod, err := n.CoreV1().Pods(namespace).Get(n.ctx, name, metav1.GetOptions{})
		must(t, err)
		if len(pod.Status.ContainerStatuses) == 1 {
			ended = pod.Status.ContainerStatuses[0].State.Terminated
		}
		return ended != nil
	})
	stream, err := n.CoreV1().Pods(namespace).GetLogs(name, &v1.PodLogOptions{}).Stream(n.ctx)
	must(t, err)
	defer stream.Close()
	text, err := io.ReadAll(stream)
	must(t, err)
	return ended.ExitCode, string(text)
}

// remove deletes a pod with its claim, and waits until they have gone.
func (n *node) remove(t *testing.T, p program) {
	t.Helper()
	objects := []string{"pod/" + p.name}
	if p.claimMiB > 0 {
		objects = append(objects, "resourceclaim/"+p.name)
	}
	_, err := output("kubectl", append([]string{"delete", "--wait"}, objects...)...)
	must(t, err)
}

// finish waits for programs, removes their pods, and fails if one has another result than alone.
func (n *node) finish(t *testing.T, programs []program) {
	t.Helper()
	for _, program := range programs {
		status, text := n.wait(t, program.name)
		if status != 0 {
			t.Errorf("%s: status %d: %s", program.name, status, text)
		} else {
			found, want := parseResult(t, text), program.alone(t)
			if found.Hash != want.Hash {
				t.Errorf("%s: hash %s, alone %s", program.name, found.Hash, want.Hash)
			}
			t.Logf("%s: hash %s, alone %s; %.1f s", program.name, found.Hash, want.Hash, found.Seconds)
		}
		n.remove(t, program)
	}
}

// client is a program in the daemon's status.
type client struct {
	Name      string                            `json:"name"`
	PID       int                               `json:"pid"`
	Job       string                            `json:"job"`
	Turns     int                               `json:"turns"`
	Command   string                            `json:"command"`
	Footprint struct{ Resident, Swapped int64 } `json:"footprint"`
	Policy    struct {
		Weight float64
		Paused bool
	} `json:"policy"`
}

// clients returns the programs that the daemon knows, none while it does not answer.
func (n *node) clients() []client {
	command := exec.Command(filepath.Join(*build, "bin", "reveza"), "status", "--json")
	command.Env = append(os.Environ(), "REVEZA_SOCKET=/run/reveza/revezad.sock")
	text, err := command.Output()
	var status struct {
		Clients []client `json:"clients"`
	}
	if err != nil || json.Unmarshal(text, &status) != nil {
		return nil
	}
	return status.Clients
}

func (c client) is(p program) bool { return strings.Contains(c.Command, "--name "+p.name+" ") }

// clientOf returns a program in the daemon's status.
func (n *node) clientOf(t *testing.T, p program) client {
	t.Helper()
	for _, client := range n.clients() {
		if client.is(p) {
			return client
		}
	}
	t.Fatal("the daemon does not know the program of " + p.name)
	return client{}
}

// waitForTurns waits until so many programs have begun to take turns, with most of their memory, and returns them.
func (n *node) waitForTurns(t *testing.T, count int) []client {
	t.Helper()
	var found []client
	eventually(t, fmt.Sprintf("%d programs take turns", count), func() bool {
		found = n.clients()
		swapped := false
		for _, client := range found {
			// Now and then some of it is allocated anew.
			if client.Turns == 0 || client.Footprint.Resident+client.Footprint.Swapped < programMiB*3/4*mib {
				return false
			}
			swapped = swapped || client.Footprint.Swapped > 0
		}
		return len(found) == count && swapped
	})
	return found
}

// processes returns those of the machine that run a program.
func processes(t *testing.T, program string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	must(t, err)
	var found []int
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == program {
			pid, err := strconv.Atoi(strings.Split(link, "/")[2])
			must(t, err)
			found = append(found, pid)
		}
	}
	return found
}

// kill ends the only process of a program.
func kill(t *testing.T, program string) {
	t.Helper()
	pids := processes(t, program)
	if len(pids) != 1 {
		t.Fatalf("%d processes of %s", len(pids), program)
	}
	must(t, syscall.Kill(pids[0], syscall.SIGKILL))
}
