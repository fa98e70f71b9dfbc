package cards

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCardsOfASnapshot(t *testing.T) {
	cards, err := parse([]byte(`{"version":1,"gpus":[{"index":0,"uuid":"GPU-1","name":"T4","total":16,"used":null}]}`))
	if err != nil || len(cards) != 1 || cards[0] != (Card{UUID: "GPU-1", Name: "T4", Total: 16}) {
		t.Errorf("%v, %v", cards, err)
	}
	for _, text := range []string{"", `{"gpus":[{"uuid":"","total":1}]}`, `{"gpus":[{"uuid":"GPU-1","total":0}]}`,
		`{"gpus":[{"uuid":"GPU-1","total":1},{"uuid":"GPU-1","total":1}]}`} {
		if cards, err := parse([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, cards)
		}
	}
}

func TestAProgramThatFailsIsQuoted(t *testing.T) {
	program := filepath.Join(t.TempDir(), "reveza")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no driver >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := (Reader{Program: program}).Read(context.Background()); err == nil || !strings.Contains(err.Error(), "no driver") {
		t.Errorf("error: %v", err)
	}
}

func TestADaemonOfAnotherVersionIsNotUsed(t *testing.T) {
	folder := t.TempDir()
	listener, err := net.Listen("unixpacket", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	daemon := Daemon{Socket: filepath.Join(folder, "s"), Program: filepath.Join(folder, "reveza")}
	for status, accepted := range map[string]bool{"0": true, "6": false} {
		if err := os.WriteFile(daemon.Program, []byte("#!/bin/sh\nexit "+status+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := daemon.Check(context.Background()); (err == nil) != accepted {
			t.Errorf("status %s: %v", status, err)
		}
	}
}
