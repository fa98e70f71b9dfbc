// Package cards knows the cards of a node, and whether its daemon answers.
package cards

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// Card is one GPU.
type Card struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"` // product
	Index int    `json:"index"`
	Total int64  `json:"total"` // bytes
}

// Reader asks `reveza top --json`, which asks NVML: the daemon learns of a card with its first program.
type Reader struct {
	Program string // path of `reveza`
}

// Read returns the cards of this node.
func (r Reader) Read(ctx context.Context) ([]Card, error) {
	command := exec.CommandContext(ctx, r.Program, "top", "--json")
	var errors bytes.Buffer
	command.Stderr = &errors
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s top --json: %w: %s", r.Program, err, strings.TrimSpace(errors.String()))
	}
	return parse(text)
}

func parse(text []byte) ([]Card, error) {
	var snapshot struct {
		GPUs []Card `json:"gpus"`
	}
	if err := json.Unmarshal(text, &snapshot); err != nil {
		return nil, fmt.Errorf("the snapshot of `reveza top` is not JSON: %w", err)
	}
	seen := map[string]bool{}
	for _, card := range snapshot.GPUs {
		if card.UUID == "" || card.Total <= 0 || seen[card.UUID] {
			return nil, fmt.Errorf("card %d (%q, %d bytes): its UUID must be unique and its size known",
				card.Index, card.UUID, card.Total)
		}
		seen[card.UUID] = true
	}
	return snapshot.GPUs, nil
}

// Daemon is reached by its socket.
type Daemon struct {
	Socket string
}

// Check returns an error that says what to do if the daemon does not accept connections.
func (d Daemon) Check(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unixpacket", d.Socket)
	if err != nil {
		cause := err
		var operation *net.OpError
		if errors.As(err, &operation) {
			cause = operation.Err
		}
		return fmt.Errorf("the daemon of this node does not answer at %s (%w); see the container "+
			"revezad of the pod of Reveza on this node", d.Socket, cause)
	}
	return connection.Close()
}
