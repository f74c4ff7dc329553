package trace

import (
	"errors"

	"meridian/clock"
)

// Event is one thing that happened on a host, as far as every format knows it. The values of its fields come from [Source.Values].
type Event struct {
	Time   clock.HostTime // the stamp: an instant on the clock of its host
	Slice  uint64         // Begin and End of one slice share it; 0: the row's slices nest, an End closes the last begun
	Flow   uint64         // the message of which the event is an end, the same at both ends; 0 for none
	Stream int            // index into the streams of its source
	Class  int            // index into the classes of its source
	Phase  Phase
	Role   Role // which end of Flow: Sends or Receives; NoRole without one
	// Untimed says that Time is that of an event beside it: nothing bounds when this one happened.
	Untimed bool
	// Step is that of Time in ns where it is coarser than its source's; 0 where it is not. The event happened less than
	// Step after Time.
	Step uint32
}

// Phase says what an event does to its row.
type Phase uint8

// The phases.
const (
	Instant Phase = iota // something happened and took no time
	Begin                // a slice begins: a call, an interrupt, a span, a thread's time on a processor
	End                  // a slice ends
	Counter              // the number fields are new values of counters that keep them until the next
)

// Class is a type of event.
type Class struct {
	Name     string
	Category string // what switches it on and off together with others; "" if unknown
	Fields   []Field
	// Context is how many fields at the end of Fields the tracer added to what the program said: cpu_id, vtid, procname. It is
	// at least 0 and at most len(Fields).
	Context int
}

// Stream is a row of the timeline: something on a host on which one thing happens after another.
type Stream struct {
	Name   string // "nginx 1234", "CPU 0", "eth0"
	Host   string // "" stands for the host of the input
	Kind   StreamKind
	ID     int64 // the host's own number of it: thread, process, processor, interrupt, goroutine
	Parent int   // the row it belongs to, as a thread to its process, an index into the same streams; -1 for none
}

// StreamKind says what a row is.
type StreamKind uint8

// The kinds of rows.
const (
	OtherStream StreamKind = iota
	Process
	Thread
	CPU
	Interrupt
	Device      // a network interface, a disk
	Messages    // ends of messages
	Bounds      // counters of what is known of the host's clock
	StreamKinds // the number of kinds
)

// String returns the name of the kind as outputs have it: "thread", "cpu".
func (k StreamKind) String() string {
	if k < StreamKinds {
		return [...]string{"other", "process", "thread", "cpu", "interrupt", "device", "messages", "bounds"}[k]
	}
	return "unknown"
}

// Source reads the events of one trace, in the order of their stamps except where the tracer wrote them out of order. A Source is used
// by one goroutine at a time.
type Source interface {
	// Next fills e with the next event, or returns io.EOF after the last. Any other error ends the source too; damage
	// that leaves sound parts behind it is a warning, not an error.
	Next(e *Event) error
	// Values returns the fields of the event that Next brought last, in the order of its class's Fields; what is missing
	// at the end is absent. They belong to the source until the next Next. Fields are decoded only here.
	Values() []Value
	// Streams and Classes return those known so far; both only grow. A stream's Name may be completed later.
	Streams() []Stream
	Classes() []Class
	// Close releases what the source holds. It is called once, after the last Next.
	Close() error
}

// ErrPending is what Next of a source returns that is still being written, where it has brought all events that are there so
// far. It does not end the source: a later Next may bring more.
var ErrPending = errors.New("no more events yet")

// Schema is what the events of a timeline refer to. It only grows while they come.
type Schema struct {
	Title   string
	Hosts   []string // names, each once
	Streams []Stream // of all hosts; Host is always given
	Classes []Class
	// Method and Assumption say how the clocks were brought together and when the bounds hold; empty: as recorded.
	Method, Assumption string
	// Maps are those that carried the stamps to the timeline.
	Maps []HostMap
}

// HostMap is the map of one of a host's clocks, or of a part of its trace between two steps of that clock.
type HostMap struct {
	Host int // index into the schema's hosts
	// Component numbers the time bases that share no message: instants that came by maps of different components cannot be
	// compared.
	Component int
	Map       *clock.Map
}

// Component returns the component of an event; false if its time is the stamp as it was recorded.
func (s *Schema) Component(e *TimelineEvent) (number int, ok bool) {
	if e.Map < 0 || e.Map >= len(s.Maps) {
		return 0, false
	}
	return s.Maps[e.Map].Component, true
}

// Components reports whether there are several.
func (s *Schema) Components() bool {
	for i := range s.Maps {
		if s.Maps[i].Component != s.Maps[0].Component {
			return true
		}
	}
	return false
}

// TimelineEvent is an event that has been carried to the timeline. Event is what the host recorded: its Time is the stamp of the
// host's clock. Stream and Class are those of the [Schema].
type TimelineEvent struct {
	Event
	Time      clock.TimelineTime // on the timeline; for that of the host's clock see Event.Time
	Host      int                // index into the schema's hosts
	Map       int                // index into the schema's maps; -1 where Time is the stamp as it was recorded
	Low, High clock.TimelineTime // between them the event happened, granularity of its stamp included; both equal Time where nothing bounds it
	Bounded   bool               // Low and High are bounds
	Values    []Value            // in the order of the class's Fields; they belong to the caller, so a sink that keeps them copies them
}

// Sink writes the events of a timeline. Its Schema is given when it is made. A Sink is used by one goroutine at a time.
type Sink interface {
	// Write takes the next event, whose Time is not before that of the last. The sink keeps neither e nor what it refers to. After an
	// error the output is incomplete, and only Close may follow.
	Write(e *TimelineEvent) error
	// Close completes the output; without it there is none.
	Close() error
}
