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
	text, err := output(exec.CommandContext(ctx, r.Program, "top", "--json"))
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// output returns what a program prints; the error has what it complains of.
func output(command *exec.Cmd) ([]byte, error) {
	var complaint bytes.Buffer
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return text, nil
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
	Socket  string
	Program string // path of `reveza`, of the same version as the library that containers get
}

// Check returns an error that says what to do if the daemon does not accept connections, or not those
// of this version: programs that it does not understand would run unshared.
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
	connection.Close()
	if _, err := d.Status(ctx); err != nil {
		return fmt.Errorf("the daemon of this node and the plugin do not understand each other; finish the "+
			"upgrade of both: %w", err)
	}
	return nil
}

// Status returns the daemon's status as JSON.
func (d Daemon) Status(ctx context.Context) ([]byte, error) {
	return output(exec.CommandContext(ctx, d.Program, "--socket", d.Socket, "status", "--json"))
}
