// The program kubectl-reveza is a plugin of kubectl: it runs `reveza` beside the daemon of the node of a
// pod, for the job of the pod's claim. All access is kubectl's.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const usage = `Shows and changes how pods share GPUs.

  kubectl reveza status [NODE]            the cards and programs of a node, or of all nodes
  kubectl reveza pause POD                stop its GPU work and move its memory off the card
  kubectl reveza resume POD
  kubectl reveza set POD OPTION...        --weight W, --priority P, --memory REQUEST[:LIMIT], --interactive,
                                          --no-interactive
Options, before or after the command: -n NAMESPACE (of POD), --context NAME, --kubeconfig FILE.
You need the right to exec into the pods of Reveza.`

func main() {
	request, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "kubectl-reveza: %v\n\n%s\n", err, usage)
		os.Exit(2)
	}
	if request.command == "help" {
		fmt.Println(usage)
		return
	}
	if err := request.run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode()) // kubectl or reveza has said why
		}
		fmt.Fprintln(os.Stderr, "kubectl-reveza:", err)
		os.Exit(1)
	}
}

// request is a command line.
type request struct {
	command string
	target  string   // a pod or node
	options []string // of `reveza set`
	kubectl kubectl
}

var jobOptions = map[string]bool{"--weight": true, "--priority": true, "--memory": true, "--interactive": false,
	"--no-interactive": false} // whether a value follows

func parse(arguments []string) (request, error) {
	var parsed request
	var words []string
	for len(arguments) > 0 {
		name, value, joined := strings.Cut(arguments[0], "=")
		arguments = arguments[1:]
		takesValue := jobOptions[name] || slices.Contains([]string{"-n", "--namespace", "--context", "--kubeconfig"}, name)
		if takesValue && !joined {
			if len(arguments) == 0 {
				return request{}, fmt.Errorf("%s needs a value", name)
			}
			value, arguments = arguments[0], arguments[1:]
		}
		_, jobOption := jobOptions[name]
		switch {
		case name == "-h" || name == "--help":
			return request{command: "help"}, nil
		case name == "-n" || name == "--namespace":
			parsed.kubectl.namespace = value
		case takesValue && !jobOption:
			parsed.kubectl.global = append(parsed.kubectl.global, name+"="+value)
		case takesValue:
			parsed.options = append(parsed.options, name, value)
		case jobOption:
			parsed.options = append(parsed.options, name)
		case strings.HasPrefix(name, "-"):
			return request{}, fmt.Errorf("unknown option %s", name)
		default:
			words = append(words, name)
		}
	}
	if len(words) == 0 {
		return request{command: "help"}, nil
	}
	parsed.command = words[0]
	most := 2
	switch parsed.command {
	case "help":
		return parsed, nil
	case "status":
	case "pause", "resume", "set":
		if len(words) < most {
			return request{}, fmt.Errorf("%s needs the name of a pod", parsed.command)
		}
	default:
		return request{}, fmt.Errorf("unknown command %q", parsed.command)
	}
	if len(words) > most {
		return request{}, fmt.Errorf("unexpected argument %q", words[most])
	}
	if (parsed.command == "set") != (len(parsed.options) > 0) {
		return request{}, fmt.Errorf("options like --weight belong to set, which needs one")
	}
	if len(words) > 1 {
		parsed.target = words[1]
	}
	return parsed, nil
}
