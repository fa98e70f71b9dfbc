// Package waiting finds jobs that do not get the GPU for long.
package waiting

import (
	"encoding/json"
	"fmt"
)

// Program is a client in the status of the daemon.
type Program struct {
	PID   int     `json:"pid"`
	Job   string  `json:"job"`
	State string  `json:"state"`
	Why   string  `json:"why"`
	Ran   float64 `json:"ran_s"` // of the job
}

// Parse reads the programs of `reveza status --json`.
func Parse(text []byte) ([]Program, error) {
	var status struct {
		Clients []Program `json:"clients"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, fmt.Errorf("the status of the daemon is not JSON: %w", err)
	}
	return status.Clients, nil
}

// Watch remembers what it has seen. Not thread-safe.
type Watch struct {
	seen map[string]seen // by job
}

type seen struct {
	ran  float64
	told bool
}

// Observe returns the programs whose job waits now, and has not had the GPU since it was last observed to
// wait: one of each job, and once until the job has had the GPU.
func (w *Watch) Observe(programs []Program) []Program {
	now := map[string]seen{}
	var found []Program
	for _, program := range programs {
		waits := program.State == "waiting" || program.State == "queued"
		if _, done := now[program.Job]; done || !waits || program.Why == "" {
			continue
		}
		before, waited := w.seen[program.Job]
		waited = waited && before.ran == program.Ran
		now[program.Job] = seen{program.Ran, waited}
		if waited && !before.told {
			found = append(found, program)
		}
	}
	w.seen = now
	return found
}
