package plugin

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrongOptionsAreRefusedByName(t *testing.T) {
	for says, line := range map[string]string{
		"-mode":         "-node=n -mode=both",
		"-node":         "-node=",
		"-driver":       "-node=n -driver=nouveau",
		"-no-cdi":       "-node=n -no-cdi",
		"-group":        "-node=n -group=4294967296",
		"-dcgm-names":   "-node=n -dcgm-names",
		"-socket":       "-node=n -socket=run/s",
		"-kubelet-root": "-node=n -kubelet-root=kubelet",
	} {
		var options Options
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		options.Register(flags)
		if err := flags.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		if err := options.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	var options Options
	options.Register(flag.NewFlagSet("", flag.ContinueOnError))
	options.Node = "n"
	if err := options.Validate(); err != nil {
		t.Error(err)
	}
}

func TestWrongConfigurationsAreRefusedByName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	for says, text := range map[string]string{
		"classs":       "classs: {}",
		"class night":  "classes: {night: {weight: 0}}",
		"class day":    "classes: {day: {class: night}}",
		"config.yaml":  "classes: [",
		"unknown fiel": "classes: {night: {wait: 1}}",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readConfiguration(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := os.WriteFile(path, []byte("classes: {night: {weight: 0.5, limit: 8Gi}}\nenv: {A: b}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read, err := readConfiguration(path)
	if err != nil || *read.Classes["night"].Weight != 0.5 || read.Env["A"] != "b" {
		t.Errorf("%+v, %v", read, err)
	}
	if _, err := parseMemory("64GB!"); err == nil {
		t.Error("64GB! is accepted")
	}
}
