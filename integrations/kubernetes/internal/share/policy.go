// Package share is what both ways of the kubelet have in common: a share of a node's cards, the
// policy that it asks for, what its containers get, and what outlives the plugin.
package share

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	strictjson "sigs.k8s.io/json"
)

// Names of the configuration in claims and device classes.
const (
	Driver     = "gpu.reveza.io"
	APIVersion = "gpu.reveza.io/v1alpha1"
	Kind       = "GpuPolicy"
)

const (
	minWeight  = 0.01
	maxWeight  = 100
	weightUnit = 100 // of REVEZA_POLICY: weight 1
	maxBytes   = 1 << 50
)

var priorities = []string{"low", "normal", "high"} // by their number in REVEZA_POLICY

// How the library enters the programs of a container.
const (
	PreloadEnvironment = "environment" // LD_PRELOAD
	PreloadFile        = "file"        // /etc/ld.so.preload
)

// Policy is the opaque configuration of a claim, a device class or a class of the plugin. Fields that
// are absent leave the decision to the next source.
type Policy struct {
	APIVersion  string             `json:"apiVersion,omitempty"`
	Kind        string             `json:"kind,omitempty"`
	Class       *string            `json:"class,omitempty"`
	Weight      *float64           `json:"weight,omitempty"`
	Priority    *string            `json:"priority,omitempty"`
	Interactive *bool              `json:"interactive,omitempty"`
	Request     *resource.Quantity `json:"request,omitempty"` // always on the card
	Limit       *resource.Quantity `json:"limit,omitempty"`   // of each card
	Preload     *string            `json:"preload,omitempty"`
}

// ParsePolicy reads an opaque configuration and validates it.
func ParsePolicy(raw []byte) (Policy, error) {
	var policy Policy
	strict, err := strictjson.UnmarshalStrict(raw, &policy)
	if err != nil {
		return Policy{}, err
	}
	if len(strict) > 0 {
		return Policy{}, strict[0]
	}
	if policy.APIVersion != APIVersion || policy.Kind != Kind {
		return Policy{}, fmt.Errorf("apiVersion %q, kind %q: this driver reads %s, %s", policy.APIVersion,
			policy.Kind, APIVersion, Kind)
	}
	return policy, policy.Validate()
}

// Validate returns an error that names the field and the valid range.
func (p Policy) Validate() error {
	if p.Weight != nil && !(*p.Weight >= minWeight && *p.Weight <= maxWeight) {
		return fmt.Errorf("weight: %v is not a number from %v to %v", *p.Weight, minWeight, maxWeight)
	}
	if p.Priority != nil && !slices.Contains(priorities, *p.Priority) {
		return fmt.Errorf("priority: %q is not one of %s", *p.Priority, strings.Join(priorities, ", "))
	}
	if p.Preload != nil && *p.Preload != PreloadEnvironment && *p.Preload != PreloadFile {
		return fmt.Errorf("preload: %q is neither %q nor %q", *p.Preload, PreloadEnvironment, PreloadFile)
	}
	for _, field := range []struct {
		name  string
		value *resource.Quantity
	}{{"request", p.Request}, {"limit", p.Limit}} {
		if field.value == nil {
			continue
		}
		if bytes := field.value.Value(); bytes <= 0 || bytes > maxBytes {
			return fmt.Errorf("%s: %s is not an amount of memory from 1 to 1Pi", field.name, field.value)
		}
	}
	if p.Request != nil && p.Limit != nil && p.Request.Cmp(*p.Limit) > 0 {
		return fmt.Errorf("request: %s exceeds the limit of %s", p.Request, p.Limit)
	}
	return nil
}

// Over returns the policy with the fields that it lacks taken from `base`.
func (p Policy) Over(base Policy) Policy {
	return Policy{
		Class:       either(p.Class, base.Class),
		Weight:      either(p.Weight, base.Weight),
		Priority:    either(p.Priority, base.Priority),
		Interactive: either(p.Interactive, base.Interactive),
		Request:     either(p.Request, base.Request),
		Limit:       either(p.Limit, base.Limit),
		Preload:     either(p.Preload, base.Preload),
	}
}

func either[T any](first, second *T) *T {
	if first != nil {
		return first
	}
	return second
}

// Equal compares what is asked for.
func (p Policy) Equal(other Policy) bool {
	left, _ := json.Marshal(p)
	right, _ := json.Marshal(other)
	return string(left) == string(right)
}

// Classes are the named policies of the plugin's configuration.
type Classes map[string]Policy

// Resolve fills in the class that the policy names, and limits the memory of each card to `memory`
// bytes, what the claim was given, unless it has a lower limit.
func (c Classes) Resolve(policy Policy, memory int64) (Policy, error) {
	if policy.Class != nil {
		class, known := c[*policy.Class]
		if !known {
			return Policy{}, fmt.Errorf("class: this node has no class %q, only: %s", *policy.Class, c.names())
		}
		name := *policy.Class
		policy = policy.Over(class)
		policy.Class = &name
	}
	if policy.Limit != nil && memory > 0 && policy.Limit.Value() > memory {
		return Policy{}, fmt.Errorf("limit: %s exceeds the memory of the claim, %s", policy.Limit,
			resource.NewQuantity(memory, resource.BinarySI))
	}
	if policy.Limit == nil && memory > 0 {
		policy.Limit = resource.NewQuantity(memory, resource.BinarySI)
	}
	return policy, policy.Validate()
}

func (c Classes) names() string {
	if len(c) == 0 {
		return "(none)"
	}
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Variable returns the value of REVEZA_POLICY (reveza/gpu/interpose/policy.h).
func (p Policy) Variable() string {
	var parts []string
	add := func(key string, value int64) { parts = append(parts, fmt.Sprintf("%s=%d", key, value)) }
	if p.Weight != nil {
		add("weight", int64(math.Round(*p.Weight*weightUnit)))
	}
	if p.Priority != nil {
		add("priority", int64(slices.Index(priorities, *p.Priority)))
	}
	if p.Interactive != nil {
		add("interactive", map[bool]int64{false: 0, true: 1}[*p.Interactive])
	}
	if p.Request != nil || p.Limit != nil {
		add("request", valueOf(p.Request))
		add("limit", valueOf(p.Limit))
	}
	return strings.Join(parts, ",")
}

// PreloadsByFile returns whether /etc/ld.so.preload takes the place of LD_PRELOAD.
func (p Policy) PreloadsByFile() bool { return p.Preload != nil && *p.Preload == PreloadFile }

func valueOf(quantity *resource.Quantity) int64 {
	if quantity == nil {
		return 0
	}
	return quantity.Value()
}
