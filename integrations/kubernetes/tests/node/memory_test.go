package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const mib = 1 << 20

// charged is the memory of a process's control group.
type charged struct {
	total, private, shared int64 // shared: that of files in memory, as fakecuda's cards are
}

// chargedTo reads the control group of a process, of either version.
func chargedTo(t *testing.T, pid int) charged {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	must(t, err)
	root, name := "", ""
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if parts[1] == "memory" {
			root, name = "/sys/fs/cgroup/memory", parts[2]
		} else if parts[1] == "" && root == "" {
			root, name = "/sys/fs/cgroup", parts[2]
		}
	}
	folder := filepath.Join(root, name)
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(folder, file))
		must(t, err)
		return string(text)
	}
	values := map[string]int64{}
	for _, line := range strings.Split(strings.TrimSpace(read("memory.stat")), "\n") {
		key, value, _ := strings.Cut(line, " ")
		values[key], err = strconv.ParseInt(value, 10, 64)
		must(t, err)
	}
	file, private := "memory.current", "anon"
	if root != "/sys/fs/cgroup" {
		file, private = "memory.usage_in_bytes", "rss"
	}
	total, err := strconv.ParseInt(strings.TrimSpace(read(file)), 10, 64)
	must(t, err)
	return charged{total, values[private], values["shmem"]}
}

// noRoom shows that of a program whose pod may not have so much memory no more leaves the card than the pod has room for,
// and that it is not killed.
func noRoom(t *testing.T, n *node, claimMiB int) {
	const roomMiB = 96
	programs := four(someSteps, claimMiB)[:2]
	programs[0].limitMiB = programMiB + roomMiB // fakecuda's card is charged to it too
	n.start(t, programs[0])
	takesTurns := func(p program) bool {
		return slices.ContainsFunc(n.clients(), func(client client) bool { return client.is(p) && client.Turns > 0 })
	}
	eventually(t, "the program takes turns", func() bool { return takesTurns(programs[0]) })
	n.start(t, programs[1])
	swapped := int64(0)
	eventually(t, "the other program takes turns alone", func() bool {
		for _, client := range n.clients() {
			if client.is(programs[0]) {
				swapped = max(swapped, client.Footprint.Swapped)
				return false
			}
		}
		return takesTurns(programs[1])
	})
	if swapped > roomMiB<<20 {
		t.Errorf("%d bytes were swapped out", swapped)
	}
	n.finish(t, programs)
}

// chargedMemory shows who pays for what is swapped out: the pod, not the daemon.
func chargedMemory(t *testing.T, n *node, claimMiB int) {
	programs := four(2*someSteps, claimMiB) // the last may start half a minute after the first
	n.startAll(t, programs)
	n.waitForTurns(t, len(programs))
	eventually(t, "a program is swapped out", func() bool {
		for _, client := range n.clients() {
			if client.Footprint.Swapped < programMiB/2*mib {
				continue
			}
			memory := chargedTo(t, client.PID)
			t.Logf("a program with %d MiB on the card and %d MiB swapped out: its container has %d MiB, %d MiB of them private, %d MiB shared",
				client.Footprint.Resident/mib, client.Footprint.Swapped/mib, memory.total/mib, memory.private/mib, memory.shared/mib)
			if memory.private < client.Footprint.Swapped {
				t.Errorf("%d bytes are swapped out, but its container has %d", client.Footprint.Swapped, memory.private)
			}
			return true
		}
		return false
	})
	pids := processes(t, daemon)
	if len(pids) != 1 {
		t.Fatalf("%d daemons", len(pids))
	}
	memory := chargedTo(t, pids[0])
	t.Logf("the daemon's container has %d MiB, %d MiB of them private", memory.total/mib, memory.private/mib)
	if memory.private > 32*mib {
		t.Errorf("the daemon has %d bytes", memory.private)
	}
	n.finish(t, programs)
}
