package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reveza.io/kubernetes/internal/share"
)

// fakeKubectl answers `get` by files and records `exec`.
const fakeKubectl = `#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
*" exec "* | "exec "*) echo "$*" >>exec.log; exit "$(cat status)" ;;
*" pod "*) cat pod.json ;;
*resourceclaim*) cat claim.json ;;
*pods*) cat daemons.json ;;
*) exit 9 ;;
esac
`

func kubectlWith(t *testing.T, files map[string]string) (log func() string) {
	t.Helper()
	folder := t.TempDir()
	all := map[string]string{"kubectl": fakeKubectl, "status": "0",
		"pod.json":     `{"metadata":{"name":"a","namespace":"team"},"spec":{"nodeName":"n1","resourceClaims":[{"name":"g","resourceClaimName":"c"}]}}`,
		"claim.json":   `{"metadata":{"uid":"claim-1"},"status":{"allocation":{"devices":{"results":[{"driver":"gpu.reveza.io"}]}}}}`,
		"daemons.json": `{"items":[{"metadata":{"name":"d1","namespace":"reveza-system"},"spec":{"nodeName":"n1"}}]}`}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	return func() string {
		text, _ := os.ReadFile(filepath.Join(folder, "exec.log"))
		return string(text)
	}
}

func TestCommandsRunForTheJobOfThePod(t *testing.T) {
	log := kubectlWith(t, nil)
	parsed, err := parse([]string{"--context=x", "set", "a", "-n", "team", "--weight", "2", "--interactive"})
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.run(); err != nil {
		t.Fatal(err)
	}
	want := "--context=x exec --namespace=reveza-system d1 --container=revezad -- /opt/reveza/bin/reveza set " +
		share.Job("claim-1") + " --weight 2 --interactive\n"
	if log() != want {
		t.Errorf("ran %q, want %q", log(), want)
	}
}

func TestStatusAsksEveryNode(t *testing.T) {
	log := kubectlWith(t, map[string]string{"daemons.json": `{"items":[
		{"metadata":{"name":"d1","namespace":"r"},"spec":{"nodeName":"n1"}},
		{"metadata":{"name":"d2","namespace":"r"},"spec":{"nodeName":"n2"}}]}`})
	if err := (request{command: "status"}).run(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(log(), "reveza status\n") != 2 {
		t.Errorf("ran %q", log())
	}
}

func TestTheStatusOfRevezaIsPassedOn(t *testing.T) {
	kubectlWith(t, map[string]string{"status": "15"})
	var exit *exec.ExitError
	if err := (request{command: "pause", target: "a"}).run(); !errors.As(err, &exit) || exit.ExitCode() != 15 {
		t.Errorf("error: %v", err)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	for says, files := range map[string]map[string]string{
		"waits to be scheduled": {"pod.json": `{"metadata":{"name":"a"},"spec":{}}`},
		"has no claim":          {"pod.json": `{"metadata":{"name":"a"},"spec":{"nodeName":"n1"}}`},
		"pod a has no claim":    {"claim.json": `{"status":{"allocation":{"devices":{"results":[{"driver":"other"}]}}}}`},
		"no daemon of Reveza":   {"daemons.json": `{"items":[]}`},
	} {
		kubectlWith(t, files)
		if err := (request{command: "pause", target: "a"}).run(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error: %v, want: %s", err, says)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for says, line := range map[string]string{
		"needs the name of a pod": "pause", "unknown command": "stop a", "unexpected argument": "pause a b",
		"unknown option": "pause a --force", "belong to set": "pause a --weight 2", "which needs one": "set a",
		"needs a value": "set a --weight",
	} {
		if parsed, err := parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v; want: %s", line, parsed, err, says)
		}
	}
	if parsed, err := parse([]string{"set", "a", "--memory=1GiB:2GiB"}); err != nil ||
		!slices.Equal(parsed.options, []string{"--memory", "1GiB:2GiB"}) {
		t.Errorf("%+v, %v", parsed, err)
	}
}
