package sensor

import "reflect"

// Mark is a type of events that are the ends of messages: a reason, and its consequences, which cannot have been before
// it (BRISK's X_REASON and X_CONSEQ). The end that sends and those that receive say the same number, and alignment
// takes every pair for a message between two clocks; [Tag] makes numbers that no other process makes.
//
//	tag := sensor.NewTag()
//	sensor.Send(tag.ID())        // here, before the message with the tag in it is sent
//	sensor.Receive(tag.ID())     // there, after the tag was read from the message
//
// A number stands for one sending. Where it is used again, nobody can say which one was received, and its messages are left out.
type Mark struct{ class }

// roles are numbered as the timeline has them.
const (
	sends    = 1
	receives = 2
)

// Fields of an event's context that say of which message or slice it is, known to readers by their names.
var (
	flowMember  = member{name: "flow", kind: reflect.Uint64}
	roleMember  = member{name: "role", kind: roleKind}
	sliceMember = member{name: "slice", kind: reflect.Uint64}
)

// NewMark declares marks with a name of their own, as one for each kind of message.
func NewMark(category, name string) *Mark {
	return declare(category, name, "", []member{flowMember, roleMember}, nil, func(m *Mark) *class { return &m.class })
}

// Send says that the message id will be sent now. An id of 0 is none.
func (m *Mark) Send(id uint64) {
	if m.open() && id != 0 {
		m.emit(id, sends)
	}
}

// Receive says that the message id was received.
func (m *Mark) Receive(id uint64) {
	if m.open() && id != 0 {
		m.emit(id, receives)
	}
}

var messages = NewMark("message", "message")

// Send says that the message id, as of a [Tag], will be sent now.
func Send(id uint64) { messages.Send(id) }

// Receive says that the message id was received.
func Receive(id uint64) { messages.Receive(id) }
