package table

import (
	"time"

	"meridian/clock"
	"meridian/trace"
)

// Row is the part of a record that needs the schema: the names behind its numbers. A number that the schema does not
// have gives "".
type Row struct {
	Host, Row, Kind, Event, Category, Phase, Role string
}

// RowOf looks a record's names up.
func RowOf(l *trace.Schema, r *trace.TimelineEvent) Row {
	row := Row{Phase: phase(r.Phase), Role: role(r.Role)}
	if r.Host >= 0 && r.Host < len(l.Hosts) {
		row.Host = l.Hosts[r.Host]
	}
	if r.Stream >= 0 && r.Stream < len(l.Streams) {
		row.Row, row.Kind = l.Streams[r.Stream].Name, l.Streams[r.Stream].Kind.String()
	}
	if r.Class >= 0 && r.Class < len(l.Classes) {
		row.Event, row.Category = l.Classes[r.Class].Name, l.Classes[r.Class].Category
	}
	return row
}

func phase(p trace.Phase) string {
	switch p {
	case trace.Begin:
		return "begin"
	case trace.End:
		return "end"
	case trace.Counter:
		return "counter"
	}
	return "instant"
}

func role(r trace.Role) string {
	switch r {
	case trace.Sends:
		return "sends"
	case trace.Receives:
		return "receives"
	case trace.Enters:
		return "enters"
	case trace.Leaves:
		return "leaves"
	}
	return ""
}

// Instants writes instants as RFC 3339 has them, in UTC with all nine digits, so that texts sort as instants do. Those of one second
// have the same first twenty characters, which are made once. The zero value is ready.
type Instants struct {
	second int64 // that prefix is of
	prefix []byte
}

const nsPerSecond = 1_000_000_000

// Append appends an instant.
func (t *Instants) Append(b []byte, at clock.TimelineTime) []byte {
	second, ns := int64(at)/nsPerSecond, int64(at)%nsPerSecond
	if ns < 0 {
		second, ns = second-1, ns+nsPerSecond
	}
	if second != t.second || t.prefix == nil {
		t.second, t.prefix = second, time.Unix(second, 0).UTC().AppendFormat(t.prefix[:0], "2006-01-02T15:04:05.")
	}
	b = append(b, t.prefix...)
	var digits [10]byte
	for i := range 9 {
		digits[8-i] = byte('0' + ns%10)
		ns /= 10
	}
	digits[9] = 'Z'
	return append(b, digits[:]...)
}
