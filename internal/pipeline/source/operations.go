package source

import (
	"cmp"
	"io"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// OperationKind is the part that a host takes in an operation.
type OperationKind uint8

// The kinds of [Operation].
const (
	Enters OperationKind = iota // a collective
	Leaves                      // a collective
	Hears                       // a broadcast
)

// Operation is one event of a host's part in a collective or a broadcast.
type Operation struct {
	At   clock.HostTime // host time
	Kind OperationKind
	Name string // of the operation
}

// operationSource is the operations of a clock as events.
type operationSource struct {
	row
	operations []Operation
	n          int
	values     [1]trace.Value
}

var operationClasses = []trace.Class{
	Enters: operationClass("enters"),
	Leaves: operationClass("leaves"),
	Hears:  operationClass("hears"),
}

func operationClass(name string) trace.Class {
	return trace.Class{Name: name, Category: "operations", Fields: []trace.Field{{Name: "operation", Type: trace.Type{Kind: trace.Text}}}}
}

// Operations returns the operations of a clock as events on a row, in order of time. It does not change the slice.
func Operations(name string, operations []Operation) trace.Source {
	operations = slices.Clone(operations)
	slices.SortStableFunc(operations, func(a, b Operation) int { return cmp.Compare(a.At, b.At) })
	return &operationSource{row: newRow(name, trace.Messages, operationClasses), operations: operations}
}

func (x *operationSource) Next(e *trace.Event) error {
	if x.n >= len(x.operations) {
		return io.EOF
	}
	o := &x.operations[x.n]
	x.n++
	*e = trace.Event{Time: o.At, Class: int(o.Kind)}
	x.values[0] = trace.OfText(o.Name)
	return nil
}

func (x *operationSource) Values() []trace.Value { return x.values[:] }
