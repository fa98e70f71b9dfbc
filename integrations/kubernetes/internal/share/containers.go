package share

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Containers remembers which job has which devices of the device plugin: kubelet names devices, the daemon jobs.
// A file for each device, of the last container that was given it. The zero value remembers nothing.
type Containers struct {
	Folder string
}

// Put says that devices were given to a job.
func (c Containers) Put(devices []string, job string) error {
	if c.Folder == "" {
		return nil
	}
	for _, device := range devices {
		if err := WriteFile(filepath.Join(c.Folder, device), []byte(job+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Jobs returns the job of each device.
func (c Containers) Jobs() (map[string]string, error) {
	entries, err := os.ReadDir(c.Folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	jobs := map[string]string{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") { // not complete
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.Folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		jobs[entry.Name()] = strings.TrimSpace(string(text))
	}
	return jobs, nil
}
