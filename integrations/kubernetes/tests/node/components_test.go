package node_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"reveza.io/kubernetes/tests/node/machine"
)

const (
	nodeName    = "node"
	apiServer   = "https://" + machine.ServiceAddress
	etcdClient  = "http://127.0.0.1:2379"
	etcdPeer    = "http://127.0.0.1:2380"
	startLimit  = 3 * time.Minute
	certificate = machine.Folder + "/certificates/apiserver.crt"
)

// node is a cluster of one node.
type node struct {
	kubernetes.Interface
	ctx     context.Context
	started time.Time
}

// users of the API server, with their tokens and groups.
var users = map[string]string{
	"admin":                          "system:masters",
	"system:node:node":               "system:nodes",
	"system:kube-scheduler":          "",
	"system:kube-controller-manager": "",
}

func token(user string) string { return "token-of-" + user }

func kubeconfig(user string) string {
	return filepath.Join(machine.Folder, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
}

// startNode starts all components and waits until the node is ready.
func startNode() (*node, error) {
	started := time.Now()
	if err := os.MkdirAll(logFolder(), 0o755); err != nil {
		return nil, err
	}
	if err := writeConfiguration(); err != nil {
		return nil, err
	}
	// containerd looks its shim up, kubectl its plugins.
	if err := os.Setenv("PATH", machine.Folder+"/bin:"+os.Getenv("PATH")); err != nil {
		return nil, err
	}
	if err := os.Setenv("KUBECONFIG", kubeconfig("admin")); err != nil {
		return nil, err
	}
	for _, step := range []func() error{startContainerd, importImages, startControlPlane, startKubelet} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: apiServer, BearerToken: token("admin"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: certificate}, QPS: 100, Burst: 100})
	if err != nil {
		return nil, err
	}
	made := &node{client, context.Background(), started}
	return made, until("the node is ready", made.isReady)
}

func (n *node) isReady() bool {
	found, err := n.CoreV1().Nodes().Get(n.ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return false
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status == v1.ConditionTrue
		}
	}
	return false
}

// until waits for a condition of the node's start.
func until(what string, condition func() bool) error {
	for end := time.Now().Add(startLimit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if condition() {
			return nil
		}
	}
	return fmt.Errorf("not within %v: %s", startLimit, what)
}

// start starts a component, which writes a log of its name and ends with the machine.
func start(name string, arguments ...string) error {
	log, err := os.Create(filepath.Join(logFolder(), name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(machine.Folder, "bin", name), arguments...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return err
	}
	return command.Process.Release()
}

// output runs a program of the node to its end.
func output(name string, arguments ...string) (string, error) {
	text, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return string(text), fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, text)
	}
	return string(text), nil
}

func startContainerd() error {
	if err := start("containerd", "--config", machine.Folder+"/containerd.toml"); err != nil {
		return err
	}
	return until("containerd answers", func() bool {
		_, err := output("ctr", "version")
		return err == nil
	})
}

func importImages() error {
	archives, err := filepath.Glob(filepath.Join(*parts, "images", "*.tar"))
	if err == nil && len(archives) == 0 {
		err = fmt.Errorf("no images in %s", *parts)
	}
	for _, archive := range archives {
		if err == nil {
			_, err = output("ctr", "--namespace", "k8s.io", "images", "import", "--local", archive)
		}
	}
	return err
}

func startControlPlane() error {
	folder := machine.Folder
	if err := start("etcd", folder+"/etcd", etcdClient, etcdPeer); err != nil {
		return err
	}
	if _, err := output("openssl", "genrsa", "-out", folder+"/accounts.key", "2048"); err != nil {
		return err
	}
	if err := start("kube-apiserver", "--etcd-servers="+etcdClient, "--cert-dir="+filepath.Dir(certificate),
		"--secure-port=443", "--advertise-address="+machine.Address, "--service-cluster-ip-range=10.96.0.0/16",
		"--token-auth-file="+folder+"/tokens", "--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+folder+"/accounts.key",
		"--service-account-signing-key-file="+folder+"/accounts.key",
		"--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--kubelet-preferred-address-types=InternalIP", "--endpoint-reconciler-type=none"); err != nil {
		return err
	}
	if err := until("the API server is ready", func() bool {
		_, err := output("kubectl", "get", "--raw", "/readyz")
		return err == nil
	}); err != nil {
		return err
	}
	if err := start("kube-scheduler", "--kubeconfig="+kubeconfig("system:kube-scheduler"), "--leader-elect=false",
		"--secure-port=0"); err != nil {
		return err
	}
	return start("kube-controller-manager", "--kubeconfig="+kubeconfig("system:kube-controller-manager"),
		"--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+folder+"/accounts.key", "--root-ca-file="+certificate)
}

func startKubelet() error {
	if err := start("kubelet", "--config="+machine.Folder+"/kubelet.yaml", "--hostname-override="+nodeName,
		"--node-ip="+machine.Address, "--kubeconfig="+kubeconfig("system:node:node"),
		"--cert-dir=/var/lib/kubelet/pki", "-v=2"); err != nil {
		return err
	}
	return until("kubelet is healthy", func() bool {
		answer, err := http.Get("http://127.0.0.1:10248/healthz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}
