// Package image tells whether the programs of a container can load libreveza.so.
package image

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const glibcLoader = "/lib64/ld-linux-x86-64.so.2"

const maxInterpreters = 4 // as many `#!` as Linux follows

// state is what a runtime passes to an OCI hook.
type state struct {
	Bundle string `json:"bundle"`
}

// bundle is the part of an OCI runtime specification that matters here.
type bundle struct {
	Root struct {
		Path string `json:"path"`
	} `json:"root"`
	Process struct {
		Args []string `json:"args"`
		Env  []string `json:"env"`
		Cwd  string   `json:"cwd"`
	} `json:"process"`
}

// CheckHook reads the state of a container from a runtime, and returns an error if its programs cannot
// load the library. What it cannot find out is no error: the runtime will say it.
func CheckHook(input io.Reader) error {
	var container state
	if err := json.NewDecoder(input).Decode(&container); err != nil {
		return fmt.Errorf("the runtime's state of the container: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(container.Bundle, "config.json"))
	if err != nil {
		return err
	}
	var config bundle
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("%s/config.json: %w", container.Bundle, err)
	}
	if variable(config.Process.Env, "REVEZA_DISABLE") == "1" || len(config.Process.Args) == 0 {
		return nil
	}
	root := config.Root.Path
	if !filepath.IsAbs(root) {
		root = filepath.Join(container.Bundle, root)
	}
	return check(root, config.Process.Args[0], config.Process.Cwd, variable(config.Process.Env, "PATH"))
}

// check looks at the program that a container starts. One that is linked statically is accepted where
// the image has a glibc: it may start others (an init, a shell of Go).
func check(root, program, folder, path string) error {
	file := find(root, program, folder, path)
	for range maxInterpreters {
		if file == "" {
			return nil
		}
		next, err := scriptInterpreter(root, file)
		if err != nil || next == "" {
			break
		}
		file = find(root, next, folder, path)
	}
	interpreter, err := elfInterpreter(root, file)
	switch {
	case errors.Is(err, errNotELF) || errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	case strings.Contains(interpreter, "ld-musl"):
		return fmt.Errorf("%s of the image needs musl (%s), for which there is no libreveza.so: programs of "+
			"this container could not take turns on the GPU. Use an image with glibc 2.28 or later (Debian, "+
			"Ubuntu, Red Hat), or give the container no share", program, interpreter)
	case interpreter == "" && !exists(root, glibcLoader):
		return fmt.Errorf("%s is linked statically and its image has no glibc, so nothing can load "+
			"libreveza.so: programs of this container could not take turns on the GPU. Link it dynamically, or "+
			"give the container no share", program)
	}
	return nil
}

var errNotELF = errors.New("not an ELF file")

// find returns the path of a program inside the image, "" if there is none.
func find(root, program, folder, path string) string {
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join("/", folder, program)
		}
		if exists(root, program) {
			return program
		}
		return ""
	}
	for _, folder := range filepath.SplitList(path) {
		if candidate := filepath.Join("/", folder, program); exists(root, candidate) {
			return candidate
		}
	}
	return ""
}

// open opens a regular file; links lead nowhere outside the image.
func open(root, path string) (*os.File, error) {
	folder, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(folder)
	file, err := unix.Openat2(folder, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var status unix.Stat_t
	if err := unix.Fstat(file, &status); err != nil || status.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(file)
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	}
	return os.NewFile(uintptr(file), path), nil
}

func exists(root, path string) bool {
	file, err := open(root, path)
	if err != nil {
		return false
	}
	file.Close()
	return true
}

// scriptInterpreter returns the program after `#!`, "" if the file is no script.
func scriptInterpreter(root, path string) (string, error) {
	file, err := open(root, path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	line, _ := bufio.NewReaderSize(file, 256).ReadSlice('\n')
	words := bytes.Fields(bytes.TrimPrefix(line, []byte("#!")))
	if !bytes.HasPrefix(line, []byte("#!")) || len(words) == 0 {
		return "", nil
	}
	if filepath.Base(string(words[0])) == "env" && len(words) > 1 {
		return string(words[len(words)-1]), nil
	}
	return string(words[0]), nil
}

// elfInterpreter returns the loader of a program, "" if it is linked statically.
func elfInterpreter(root, path string) (string, error) {
	file, err := open(root, path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	program, err := elf.NewFile(file)
	if err != nil {
		return "", errNotELF
	}
	for _, segment := range program.Progs {
		if segment.Type != elf.PT_INTERP || segment.Filesz > 4096 {
			continue
		}
		text, err := io.ReadAll(segment.Open())
		return string(bytes.TrimRight(text, "\x00")), err
	}
	return "", nil
}

func variable(environment []string, name string) string {
	value := ""
	for _, entry := range environment {
		if rest, found := strings.CutPrefix(entry, name+"="); found {
			value = rest
		}
	}
	return value
}
