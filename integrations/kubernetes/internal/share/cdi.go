package share

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"
)

// Kinds of CDI devices.
const (
	ClaimKind = "reveza.io/claim" // one device per claim, with its environment
	CardKind  = "reveza.io/gpu"   // one device per card, without: that of the device plugin
)

// claimEdits returns what a container of the share gets.
func (s Settings) claimEdits(share Share) specs.ContainerEdits {
	edits := s.cardEdits(share)
	environment := s.Environment(share)
	for _, name := range sortedKeys(environment) {
		edits.Env = append(edits.Env, name+"="+environment[name])
	}
	return edits
}

func (s Settings) cardEdits(share Share) specs.ContainerEdits {
	var edits specs.ContainerEdits
	for _, mount := range s.Mounts(share) {
		options := []string{"rbind", "ro", "nosuid", "nodev"}
		if mount.Writable {
			options[1] = "rw"
		}
		edits.Mounts = append(edits.Mounts,
			&specs.Mount{HostPath: mount.Host, ContainerPath: mount.Container, Options: options})
	}
	if s.Group != 0 {
		edits.AdditionalGIDs = []uint32{s.Group}
	}
	if share.Files.Hook != "" {
		edits.Hooks = []*specs.Hook{{HookName: cdi.CreateRuntimeHook, Path: share.Files.Hook,
			Args: []string{filepath.Base(share.Files.Hook)}}}
	}
	return edits
}

// CDIDevices returns the names of the devices that a container of a claim needs for one of its cards.
func (s Settings) CDIDevices(share Share, uuid string) []string {
	return s.withDriver(ClaimKind+"="+share.ID, uuid)
}

// CardCDIDevices returns the same for a card of the device plugin.
func (s Settings) CardCDIDevices(uuid string) []string {
	return s.withDriver(CardKind+"="+uuid, uuid)
}

func (s Settings) withDriver(name, uuid string) []string {
	if s.DriverCDI == "" {
		return []string{name}
	}
	return []string{name, s.DriverCDI + "=" + uuid}
}

// specOf returns the CDI specification with one device.
func specOf(kind, name string, edits specs.ContainerEdits) (*specs.Spec, error) {
	spec := &specs.Spec{Kind: kind, Devices: []specs.Device{{Name: name, ContainerEdits: edits}}}
	version, err := specs.MinimumRequiredVersion(spec)
	if err != nil {
		return nil, err
	}
	spec.Version = version
	return spec, nil
}

// writeSpec replaces a specification in one step: runtimes read the folder at any time.
func writeSpec(folder, file string, spec *specs.Spec) error {
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(folder, file), text, 0o644)
}

// WriteFile replaces a file in one step, and makes its folder.
func WriteFile(path string, text []byte, mode os.FileMode) error {
	folder, name := filepath.Split(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// Not ending in .json, so that nobody takes it for a specification.
	file, err := os.CreateTemp(folder, "."+name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func sortedKeys(values map[string]string) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
