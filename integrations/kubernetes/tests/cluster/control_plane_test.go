// Package cluster_test runs the plugin and the manifests on a real API server, etcd and scheduler.
package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/events"
	apitesting "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const manifests = "../../kustomize/base/reveza.yaml"

// controlPlane is etcd, an API server that asks RBAC, and a scheduler, in this process.
type controlPlane struct {
	kubernetes.Interface
	config *rest.Config // of an administrator
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// localURL returns one with a port that was free a moment ago.
func localURL(t *testing.T) url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return url.URL{Scheme: "http", Host: listener.Addr().String()}
}

func startControlPlane(t *testing.T, ctx context.Context) controlPlane {
	t.Helper()
	settings := embed.NewConfig()
	settings.Dir = t.TempDir()
	settings.LogLevel = "error"
	settings.UnsafeNoFsync = true
	client, peer := localURL(t), localURL(t)
	settings.ListenClientUrls, settings.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	settings.ListenPeerUrls, settings.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	settings.InitialCluster = settings.InitialClusterFromName(settings.Name)
	etcd, err := embed.StartEtcd(settings)
	must(t, err)
	t.Cleanup(etcd.Close)
	<-etcd.Server.ReadyNotify()

	storage := storagebackend.NewDefaultConfig("/registry", nil)
	storage.Transport.ServerList = []string{client.String()}
	server, err := apitesting.StartTestServer(t, apitesting.NewDefaultTestServerOptions(),
		[]string{"--disable-admission-plugins=ServiceAccount", "--authorization-mode=RBAC"}, storage)
	must(t, err)
	t.Cleanup(server.TearDownFn)
	plane := controlPlane{kubernetes.NewForConfigOrDie(server.ClientConfig), server.ClientConfig}
	plane.startScheduler(t, ctx)
	return plane
}

func (p controlPlane) startScheduler(t *testing.T, ctx context.Context) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(p, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: p.EventsV1()})
	made, err := scheduler.New(ctx, p, factory, nil, profile.NewRecorderFactory(broadcaster))
	must(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	must(t, made.WaitForHandlersSync(ctx))
	go made.Run(ctx)
}

// addNode adds a node that is ready and has room for pods.
func (p controlPlane) addNode(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	node, err := p.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("64Gi"),
		"pods": resource.MustParse("50")}
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	node, err = p.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	must(t, err)
	node.Spec.Taints = nil // that of nodes that are not ready
	_, err = p.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	must(t, err)
}

func (p controlPlane) addNamespace(t *testing.T, ctx context.Context, name string, labels map[string]string) {
	t.Helper()
	_, err := p.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		metav1.CreateOptions{})
	must(t, err)
}

// apply creates the objects of a file, in order, as `kubectl create` does.
func (p controlPlane) apply(t *testing.T, ctx context.Context, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(p.Discovery()))
	client, err := dynamic.NewForConfig(p.config)
	must(t, err)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for count := 0; ; count++ {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err == io.EOF && count > 0 {
			return
		} else if err != nil {
			t.Fatalf("%s, object %d: %v", file, count, err)
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		must(t, err)
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("%s, %s %s: %v", file, kind.Kind, object.GetName(), err)
		}
	}
}

// as returns a client with the rights of a service account.
func (p controlPlane) as(namespace, account string) kubernetes.Interface {
	config := rest.CopyConfig(p.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
	return kubernetes.NewForConfigOrDie(config)
}
