// Package waiting finds jobs that do not get the GPU for long.
package waiting

import (
	"encoding/json"
	"fmt"
	"slices"
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
	seen map[string]seen // by job; nil before the first look
}

type seen struct {
	ran  float64
	told bool
}

// Observe returns the programs whose job waits now, and has not had the GPU since it was last observed to
// wait: one of each job, and once until the job has had the GPU. Also returns the jobs that wait no longer, of
// those that it returned before; at first all that do not wait, since an earlier watch may have.
func (w *Watch) Observe(programs []Program) (waiting []Program, resumed []string) {
	now := map[string]seen{}
	for _, program := range programs {
		waits := program.State == "waiting" || program.State == "queued"
		if _, done := now[program.Job]; done || !waits || program.Why == "" {
			continue
		}
		before, waited := w.seen[program.Job]
		waited = waited && before.ran == program.Ran
		now[program.Job] = seen{program.Ran, waited}
		if waited && !before.told {
			waiting = append(waiting, program)
		}
	}
	resumed = w.resumed(programs, now)
	w.seen = now
	return waiting, resumed
}

func (w *Watch) resumed(programs []Program, now map[string]seen) []string {
	jobs := map[string]bool{}
	if w.seen == nil {
		for _, program := range programs {
			jobs[program.Job] = true
		}
	}
	for job, before := range w.seen {
		jobs[job] = before.told
	}
	var resumed []string
	for job, told := range jobs {
		after, waits := now[job]
		if told && (!waits || w.seen != nil && !after.told) {
			resumed = append(resumed, job)
		}
	}
	slices.Sort(resumed)
	return resumed
}
