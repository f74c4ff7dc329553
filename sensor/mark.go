package sensor

import "reflect"

// Mark is a type of events that are the two ends of messages: the send, and the receive, which cannot be earlier (BRISK: X_REASON
// and X_CONSEQ). Both ends record the same number, and alignment uses every pair as a message between two clocks. [Tag] makes
// numbers that no other process makes.
//
//	tag := sensor.NewTag()
//	sensor.Send(tag.ID())        // here, before the message with the tag in it is sent
//	sensor.Receive(tag.ID())     // there, after the tag was read from the message
//
// A number stands for one send. If it is sent again, the receive is ambiguous, and alignment leaves out all its messages.
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

// Send records that the message id is about to be sent. An id of 0 stands for no message and records nothing.
func (m *Mark) Send(id uint64) {
	if m.open() && id != 0 {
		m.emit(id, sends)
	}
}

// Receive records that the message id was received. An id of 0 records nothing.
func (m *Mark) Receive(id uint64) {
	if m.open() && id != 0 {
		m.emit(id, receives)
	}
}

var messages = NewMark("message", "message")

// Send records that the message id, of a [Tag], is about to be sent.
func Send(id uint64) { messages.Send(id) }

// Receive records that the message id was received.
func Receive(id uint64) { messages.Receive(id) }
