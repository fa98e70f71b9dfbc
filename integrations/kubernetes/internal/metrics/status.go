package metrics

import (
	"encoding/json"
	"fmt"
)

// status is the part of `reveza status --json` that is exported.
type status struct {
	GPUs []struct {
		Index int    `json:"index"`
		UUID  string `json:"uuid"`
		Name  string `json:"name"`
		Total *int64 `json:"total"`
		Used  *int64 `json:"used"` // by all processes; absent if the driver does not say
	} `json:"gpus"`
	Clients []struct {
		Job  string  `json:"job"`
		Ran  float64 `json:"ran_s"` // of the job
		GPUs []struct {
			GPU      int   `json:"gpu"`
			Context  int64 `json:"context"`
			Pinned   int64 `json:"pinned"`
			Resident int64 `json:"resident"`
			Swapped  int64 `json:"swapped"`
		} `json:"gpus"`
	} `json:"clients"`
}

func parseStatus(text []byte) (status, error) {
	var parsed status
	if err := json.Unmarshal(text, &parsed); err != nil {
		return status{}, fmt.Errorf("the status of the daemon is not JSON: %w", err)
	}
	return parsed, nil
}

// share is what a container, or all that is of no container, holds on a card.
type share struct {
	container Container
	gpu       int
}

// usage is what programs hold.
type usage struct {
	resident, swapped map[share]int64
	ran               map[Container]float64
}

func (s status) usage(jobs map[string]Container) usage {
	found := usage{map[share]int64{}, map[share]int64{}, map[Container]float64{}}
	counted := map[string]bool{}
	for _, client := range s.Clients {
		container := jobs[client.Job]
		for _, part := range client.GPUs {
			key := share{container, part.GPU}
			found.resident[key] += part.Context + part.Pinned + part.Resident
			found.swapped[key] += part.Swapped
		}
		if !counted[client.Job] {
			counted[client.Job] = true
			found.ran[container] += client.Ran
		}
	}
	return found
}
