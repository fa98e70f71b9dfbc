package image

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program returns a 64-bit ELF file that names a loader; "" for one that is linked statically.
func program(loader string) string {
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	order := binary.LittleEndian
	order.PutUint16(header[16:], 2)  // executable
	order.PutUint16(header[18:], 62) // x86-64
	order.PutUint32(header[20:], 1)
	order.PutUint64(header[32:], 64) // program headers
	order.PutUint16(header[52:], 64)
	order.PutUint16(header[54:], 56)
	order.PutUint16(header[58:], 64)
	if loader == "" {
		return string(header)
	}
	order.PutUint16(header[56:], 1)
	segment := make([]byte, 56)
	order.PutUint32(segment[0:], 3) // PT_INTERP
	order.PutUint64(segment[8:], 120)
	order.PutUint64(segment[32:], uint64(len(loader)+1))
	return string(header) + string(segment) + loader + "\x00"
}

const (
	glibc = "/lib64/ld-linux-x86-64.so.2"
	musl  = "/lib/ld-musl-x86_64.so.1"
)

// container makes a bundle with the files of an image and returns what a hook reads.
func container(t *testing.T, files map[string]string, links map[string]string, environment []string, arguments ...string) string {
	t.Helper()
	bundle := t.TempDir()
	for path, text := range files {
		path = filepath.Join(bundle, "rootfs", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, target := range links {
		path = filepath.Join(bundle, "rootfs", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	config, err := json.Marshal(map[string]any{"root": map[string]any{"path": "rootfs"},
		"process": map[string]any{"args": arguments, "cwd": "/app", "env": append([]string{"PATH=/usr/bin:/bin"}, environment...)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	state, err := json.Marshal(map[string]any{"ociVersion": "1.0.2", "id": "x", "bundle": bundle})
	if err != nil {
		t.Fatal(err)
	}
	return string(state)
}

func TestImagesThatCannotLoadTheLibraryAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		files, links map[string]string
		environment  []string
		arguments    []string
		refused      string // part of the error
	}{
		"glibc": {files: map[string]string{"bin/python": program(glibc)}, arguments: []string{"python", "-c", "1"}},
		"musl": {files: map[string]string{"bin/python": program(musl)}, arguments: []string{"/bin/python"},
			refused: "needs musl"},
		"a script of a shell of musl": {files: map[string]string{"app/run.sh": "#! /bin/sh -e\n", "bin/busybox": program(musl)},
			links: map[string]string{"bin/sh": "/bin/busybox"}, arguments: []string{"./run.sh"}, refused: "needs musl"},
		"a script by env": {files: map[string]string{"app/run": "#!/usr/bin/env python\n", "usr/bin/python": program(musl)},
			arguments: []string{"run"}, environment: []string{"PATH=/app:/usr/bin"}, refused: "needs musl"},
		"static, alone": {files: map[string]string{"server": program("")}, arguments: []string{"/server"},
			refused: "linked statically"},
		"a static init before glibc": {files: map[string]string{"sbin/tini": program(""), "usr" + glibc: "loader"},
			links: map[string]string{"lib64": "usr/lib64"}, arguments: []string{"/sbin/tini", "--", "python"}},
		"disabled": {files: map[string]string{"server": program("")}, environment: []string{"REVEZA_DISABLE=1"},
			arguments: []string{"/server"}},
		"no such program": {arguments: []string{"/gone"}},
		"not a program":   {files: map[string]string{"x": "text"}, arguments: []string{"/x"}},
		"a link out of the image": {files: map[string]string{"x": ""}, links: map[string]string{"bin/sh": "../../../../bin/sh"},
			arguments: []string{"/bin/sh"}},
		"a script of itself": {files: map[string]string{"x": "#!/x\n"}, arguments: []string{"/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckHook(strings.NewReader(container(t, test.files, test.links, test.environment, test.arguments...)))
			if test.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("error: %v, want: %s", err, test.refused)
			}
		})
	}
}

// The programs of this machine are not made by this test.
func TestARealProgramIsAccepted(t *testing.T) {
	if err := check("/", "sh", "/", "/usr/bin:/bin"); err != nil {
		t.Error(err)
	}
}

func TestAStateThatIsNoneIsAnError(t *testing.T) {
	for _, state := range []string{"", "{", `{"bundle": "/nowhere"}`} {
		if err := CheckHook(strings.NewReader(state)); err == nil {
			t.Errorf("%q is accepted", state)
		}
	}
}
