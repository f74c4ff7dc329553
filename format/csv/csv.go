// Package csv writes a timeline as a table in text (RFC 4180), for spreadsheets, scripts and databases. In go records, out
// comes a line for each, under a line of names:
//
//	time,time_ns,low_ns,high_ns,recorded_ns,host,row,row_kind,event,category,phase,slice,flow,role,component,<fields...>,fields
//
// time is RFC 3339 in UTC with nine digits; time_ns, its bounds low_ns and high_ns and the stamp as the host recorded it
// are ns since 1970; bounds are empty where there are none. slice and flow are numbers that begin and end, or both ends of a message, share; empty for none.
// component numbers the time bases: times of different components cannot be compared. It is empty where time_ns is the stamp as it was recorded. Then
// comes a column for each field (see format/internal/table), and the last one, fields, has as a JSON object what has no
// column. Enumerations are written by label, other numbers in decimal; a field that an event does not have is empty.
//
// Lines end with LF. Text that is no UTF-8, and NUL, becomes U+FFFD, for a reader would stop there.
//
// Spreadsheets run a cell that begins with = + - or @ as a formula, and names in a trace are anybody's: such a text gets
// an apostrophe in front (OWASP, CSV injection), as does one that begins with a tab, a carriage return or an apostrophe,
// so that taking one leading apostrophe away always gives back what was there. Numbers stay as they are. Options.Raw
// leaves all as it is, for readers that are no spreadsheets.
//
// The cost is about a microsecond a record and no memory but a line's.
package csv

import (
	"bytes"
	"io"
	"strconv"
	"unicode/utf8"

	"meridian/clock"
	"meridian/format/internal/table"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Options say how a table is written; the zero value is right for most.
type Options struct {
	Raw     bool // no apostrophe in front of texts that a spreadsheet would run
	Columns int  // most columns for fields; 0 stands for 256, below 0 none: all fields are in the last column
}

// mostColumns keeps a kernel trace, whose classes have some thousand fields, a table that programs open.
const mostColumns = 256

// Writer is a sink that writes a table.
type Writer struct {
	out    timeline.Lines
	layout *table.Layout
	raw    bool
	time   table.Instants
	line   []byte
	cell   []byte
}

// NewWriter writes the names of the columns, which are those of the fields that the schema's classes have now.
func NewWriter(w io.Writer, l *trace.Schema, o Options) (*Writer, error) {
	out, err := timeline.NewLines("csv", w, l)
	if err != nil {
		return nil, err
	}
	if o.Columns == 0 {
		o.Columns = mostColumns
	}
	c := &Writer{out: out, layout: table.New(l, max(o.Columns, 0)), raw: o.Raw}
	for _, name := range table.Fixed {
		c.text(name)
	}
	for i := range c.layout.Columns {
		c.text(c.layout.Columns[i].Name)
	}
	c.text(table.Rest)
	return c, c.end()
}

// Write writes one line. Its error is that of an event whose host, stream or class the schema does not have, of the output,
// or of a writer that is closed; after an error nothing is written.
func (c *Writer) Write(r *trace.TimelineEvent) error {
	if err := c.out.Accept(r); err != nil {
		return err
	}
	c.out.Events++
	names := table.RowOf(c.out.Schema, r)
	c.line = append(c.time.Append(c.line, r.Time), ',')
	c.line = append(strconv.AppendInt(c.line, int64(r.Time), 10), ',')
	for _, n := range [...]clock.TimelineTime{r.Low, r.High} {
		if r.Bounded {
			c.line = strconv.AppendInt(c.line, int64(n), 10)
		}
		c.line = append(c.line, ',')
	}
	c.line = append(strconv.AppendInt(c.line, int64(r.Event.Time), 10), ',')
	c.text(names.Host)
	c.text(names.Row)
	c.text(names.Kind)
	c.text(names.Event)
	c.text(names.Category)
	c.text(names.Phase)
	c.number(r.Slice)
	c.number(r.Flow)
	c.text(names.Role)
	if component, ok := c.out.Schema.Component(r); ok {
		c.line = strconv.AppendInt(c.line, int64(component), 10)
	}
	c.line = append(c.line, ',')
	c.layout.Place(r)
	for i := range c.layout.Cells {
		cell := &c.layout.Cells[i]
		if cell.Value == nil {
			c.line = append(c.line, ',')
			continue
		}
		var plain bool
		if c.cell, plain = cell.AppendText(c.cell[:0]); plain {
			c.line = append(append(c.line, c.cell...), ',')
		} else {
			c.appendText(c.cell)
		}
	}
	c.appendText(c.layout.Rest)
	return c.end()
}

// Flush writes what is held back.
func (c *Writer) Flush() error { return c.out.Flush() }

// Close writes what is still held back. It does not close what is below.
func (c *Writer) Close() error { return c.out.Close() }

// number writes a number of which 0 stands for none.
func (c *Writer) number(n uint64) {
	if n != 0 {
		c.line = strconv.AppendUint(c.line, n, 10)
	}
	c.line = append(c.line, ',')
}

func (c *Writer) text(s string) {
	c.cell = append(c.cell[:0], s...)
	c.appendText(c.cell)
}

// appendText writes a cell of text and its comma.
func (c *Writer) appendText(s []byte) {
	defer func() { c.line = append(c.line, ',') }()
	if !c.raw && runs(s) {
		s = append([]byte{'\''}, s...)
	}
	if !utf8.Valid(s) || bytes.IndexByte(s, 0) >= 0 {
		s = bytes.ReplaceAll(bytes.ToValidUTF8(s, []byte("\uFFFD")), []byte{0}, []byte("\uFFFD"))
	}
	if !bytes.ContainsAny(s, ",\"\r\n") && (len(s) == 0 || s[0] != ' ' && s[len(s)-1] != ' ') {
		c.line = append(c.line, s...)
		return
	}
	c.line = append(c.line, '"')
	for _, x := range s {
		if x == '"' {
			c.line = append(c.line, '"')
		}
		c.line = append(c.line, x)
	}
	c.line = append(c.line, '"')
}

// runs says whether a spreadsheet would take a text for a formula, or a reader our apostrophe for the text's own.
func runs(s []byte) bool {
	r, _ := utf8.DecodeRune(s)
	switch r {
	case '=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠':
		return true
	}
	return false
}

// end replaces the last comma by the line's end.
func (c *Writer) end() error {
	c.line[len(c.line)-1] = '\n'
	err := c.out.WriteLine(c.line)
	c.line = c.line[:0]
	return err
}
