package node_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSteps runs the tests of `reveza jobs run --on kubernetes`, which are in Python as those on the other engines.
// REVEZA_STEPS_TESTS names some of them.
func TestSteps(t *testing.T) {
	sources := filepath.Join(*parts, "../../integrations")
	arguments := []string{"-B", filepath.Join(sources, "kubernetes/tests/node/jobs/jobs_test.py"), *build, t.TempDir()}
	if names := os.Getenv("REVEZA_STEPS_TESTS"); names != "" {
		arguments = append(arguments, regexp.MustCompile(` +`).Split(names, -1)...)
	}
	command := exec.Command("python3", arguments...)
	command.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(sources, "testing"))
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	must(t, command.Start())
	ended := make(chan error, 1)
	go func() {
		ended <- command.Wait()
		writer.Close()
	}()
	result := regexp.MustCompile(`^(?:(test_\w+) .*\.\.\. )?.*?\b(ok|FAIL|ERROR)$`)
	begun := regexp.MustCompile(`^(test_\w+) `)
	name, failed := "", false
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		line := lines.Text()
		t.Log(line)
		if found := begun.FindStringSubmatch(line); found != nil {
			name = found[1]
		}
		found := result.FindStringSubmatch(line)
		if found == nil || name == "" {
			continue
		}
		passed := found[2] == "ok"
		failed = failed || !passed
		t.Run(name, func(t *testing.T) {
			if !passed {
				t.Fail()
			}
		})
		name = ""
	}
	if err := <-ended; err != nil && !failed {
		t.Fatal(err)
	}
}
