package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store keeps what was prepared: a file for each share, and its CDI specification. The folder of the
// specifications may be empty after a reboot; that of the shares must not be. Stateless, as two
// instances of the plugin may take turns during an upgrade; the caller serialises them.
type Store struct {
	Folder    string // of the shares
	CDIFolder string
	Settings  Settings
}

// Get returns a share, or nil if it was not prepared.
func (s Store) Get(id string) (*Share, error) {
	text, err := os.ReadFile(s.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var share Share
	if err := json.Unmarshal(text, &share); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it if its pod is gone", s.path(id), err)
	}
	return &share, nil
}

// Put writes the specification of a share, then that it was prepared.
func (s Store) Put(share Share) error {
	if err := s.writeClaim(share); err != nil {
		return err
	}
	text, err := json.Marshal(share)
	if err != nil {
		return err
	}
	return WriteFile(s.path(share.ID), text, 0o600)
}

// Remove forgets a share; one that is unknown is no error.
func (s Store) Remove(id string) error {
	for _, path := range []string{filepath.Join(s.CDIFolder, claimFile(id)), s.path(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// All returns the shares that were prepared. Those that cannot be read are in the error.
func (s Store) All() ([]Share, error) {
	entries, err := os.ReadDir(s.Folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var shares []Share
	var failed []error
	for _, entry := range entries {
		id, found := strings.CutSuffix(entry.Name(), ".json")
		if !found || strings.HasPrefix(id, ".") {
			continue
		}
		share, err := s.Get(id)
		if err != nil {
			failed = append(failed, err)
		} else if share != nil {
			shares = append(shares, *share)
		}
	}
	return shares, errors.Join(failed...)
}

// Restore writes the specifications of all shares again.
func (s Store) Restore() error {
	shares, err := s.All()
	failed := []error{err}
	for _, share := range shares {
		failed = append(failed, s.writeClaim(share))
	}
	return errors.Join(failed...)
}

// WriteCards writes the specifications of the cards, which the device plugin refers to.
func (s Store) WriteCards(uuids []string, files Files) error {
	for _, uuid := range uuids {
		spec, err := specOf(CardKind, uuid, s.Settings.cardEdits(Share{Files: files}))
		if err != nil {
			return err
		}
		if err := writeSpec(s.CDIFolder, "reveza.io-gpu-"+uuid+".json", spec); err != nil {
			return err
		}
	}
	return nil
}

func (s Store) writeClaim(share Share) error {
	spec, err := specOf(ClaimKind, share.ID, s.Settings.claimEdits(share))
	if err != nil {
		return err
	}
	return writeSpec(s.CDIFolder, claimFile(share.ID), spec)
}

func (s Store) path(id string) string { return filepath.Join(s.Folder, id+".json") }

func claimFile(id string) string { return "reveza.io-claim-" + id + ".json" }
