package cards

import (
	"context"
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
