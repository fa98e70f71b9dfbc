// Package support has a node without a GPU for tests: a daemon that only listens, a `reveza` that
// reports cards, and the files of the image.
package support

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reveza.io/kubernetes/internal/plugin"
)

// Sizes of the cards and of the memory behind each.
const (
	GiB       = int64(1) << 30
	CardBytes = 24 * GiB
	HostBytes = 88 * GiB
)

// UUID returns that of the n-th card.
func UUID(n int) string { return fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", n) }

// Node is a folder with all that a plugin uses.
type Node struct {
	Options plugin.Options
	daemon  net.Listener
}

// Folder makes a folder that is removed with the test. Unlike t.TempDir, it may still be written to then, by what ends
// at its leisure, and has a short path: those of sockets are limited to 107 bytes.
func Folder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "reveza")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// NewNode makes a node named "n1" with some cards, whose daemon listens.
func NewNode(t *testing.T, count int) *Node {
	t.Helper()
	folder := Folder(t)
	gpus := []map[string]any{}
	for i := range count {
		gpus = append(gpus, map[string]any{"uuid": UUID(i), "name": "NVIDIA Test", "index": i, "total": CardBytes})
	}
	snapshot, err := json.Marshal(map[string]any{"version": 1, "gpus": gpus})
	if err != nil {
		t.Fatal(err)
	}
	// Answers `top` as well as `status`.
	write(t, filepath.Join(folder, "bin/reveza"), "#!/bin/sh\ncat \"$(dirname \"$0\")/snapshot.json\"\n")
	write(t, filepath.Join(folder, "bin/snapshot.json"), string(snapshot))
	write(t, filepath.Join(folder, "image/libreveza.so"), "library 1")
	write(t, filepath.Join(folder, "image/reveza-cdi-hook"), "#!/bin/sh\n")
	for _, name := range []string{"kubelet/plugins_registry", "kubelet/plugins", "run"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	node := &Node{Options: plugin.Options{
		Mode: plugin.ModeDRA, Node: "n1", Kubelet: filepath.Join(folder, "kubelet"),
		CDIFolder: filepath.Join(folder, "cdi"), Image: filepath.Join(folder, "image"),
		Host: filepath.Join(folder, "files"), Socket: filepath.Join(folder, "run/revezad.sock"),
		Reveza: filepath.Join(folder, "bin/reveza"), Driver: plugin.DriverCDI, DriverKind: "nvidia.com/gpu",
		HostMemory: fmt.Sprint(int64(count) * HostBytes), HealthInterval: 100 * time.Millisecond, WaitInterval: 100 * time.Millisecond,
	}}
	node.StartDaemon(t)
	return node
}

// StartDaemon lets the daemon's socket accept connections.
func (n *Node) StartDaemon(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("unixpacket", n.Options.Socket)
	if err != nil {
		t.Fatal(err)
	}
	n.daemon = listener
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connection.Close()
		}
	}()
}

// StopDaemon ends the daemon.
func (n *Node) StopDaemon() { n.daemon.Close() }

// SetPrograms lets the daemon's status show programs.
func (n *Node) SetPrograms(t *testing.T, programs ...map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"clients": programs})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(n.Options.Reveza)
	write(t, filepath.Join(folder, "next.json"), string(text))
	if err := os.Rename(filepath.Join(folder, "next.json"), filepath.Join(folder, "snapshot.json")); err != nil {
		t.Fatal(err)
	}
}

// ReplaceImage changes the library, as an upgrade does.
func (n *Node) ReplaceImage(t *testing.T) {
	t.Helper()
	write(t, filepath.Join(n.Options.Image, "libreveza.so"), "library 2")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits for a condition, which must come by itself; the limit is for tests that fail.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
