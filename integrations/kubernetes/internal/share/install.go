package share

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of the files that the image brings and the node keeps.
const (
	libraryFile = "libreveza.so"
	hookFile    = "reveza-cdi-hook"
	preloadFile = "ld.so.preload"
)

// Install copies the library and the hook from the image to a folder of the host, into a folder of
// their own for each version: containers that were started with an older one keep it, also when they
// are restarted.
func Install(image, host string) (Files, error) {
	hash := sha256.New()
	for _, name := range []string{libraryFile, hookFile} {
		if err := digest(hash, filepath.Join(image, name)); err != nil {
			return Files{}, err
		}
	}
	folder := filepath.Join(host, hex.EncodeToString(hash.Sum(nil))[:16])
	files := Files{Library: filepath.Join(folder, libraryFile), Hook: filepath.Join(folder, hookFile),
		Preload: filepath.Join(folder, preloadFile)}
	for path, mode := range map[string]os.FileMode{files.Library: 0o755, files.Hook: 0o755} {
		if _, err := os.Stat(path); err == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(image, filepath.Base(path)))
		if err == nil {
			err = WriteFile(path, text, mode)
		}
		if err != nil {
			return Files{}, err
		}
	}
	return files, WriteFile(files.Preload, []byte(LibraryInContainer+"\n"), 0o644)
}

func digest(hash io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("incomplete image: %w", err)
	}
	defer file.Close()
	_, err = io.Copy(hash, file)
	return err
}
