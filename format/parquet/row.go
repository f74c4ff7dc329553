package parquet

import (
	"bytes"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"meridian/format/internal/table"
	"meridian/trace"
)

// row appends a record's values to the columns of the batch.
func (p *Writer) row(r *trace.TimelineEvent) {
	column := 0
	must := func(v parquet.Value) {
		p.batch[column] = append(p.batch[column], v.Level(0, 0, column))
		column++
	}
	may := func(v parquet.Value, is bool) {
		if is {
			p.pad(column)
			p.batch[column] = append(p.batch[column], v.Level(0, 1, column))
		}
		column++
	}
	must(parquet.Int64Value(int64(r.Time)))
	must(parquet.Int64Value(int64(r.Time)))
	may(parquet.Int64Value(int64(r.Low)), r.Bounded)
	may(parquet.Int64Value(int64(r.High)), r.Bounded)
	must(parquet.Int64Value(int64(r.Event.Time)))
	names := table.RowOf(p.progress.Schema, r)
	for _, s := range [...]string{names.Host, names.Row, names.Kind, names.Event, names.Category, names.Phase} {
		must(p.text(append(p.texts, s...)))
	}
	may(parquet.Int64Value(int64(r.Slice)), r.Slice != 0)
	may(parquet.Int64Value(int64(r.Flow)), r.Flow != 0)
	must(p.text(append(p.texts, names.Role...)))
	component, aligned := p.progress.Schema.Component(r)
	may(parquet.Int64Value(int64(component)), aligned)
	p.layout.Place(r)
	for i, c := range p.layout.Cells {
		if c.Value == nil {
			column++
			continue
		}
		switch p.layout.Columns[i].Kind {
		case table.Boolean:
			may(parquet.BooleanValue(c.Value.Bool()), true)
		case table.Integer:
			may(parquet.Int64Value(c.Value.Int()), true)
		case table.Real:
			f, _ := c.Value.Number()
			may(parquet.DoubleValue(f), true)
		default:
			text, _ := c.AppendText(p.texts)
			may(p.text(text), true)
		}
	}
	may(p.text(append(p.texts, p.layout.Rest...)), len(p.layout.Rest) > 0)
}

// text makes a value of what was appended to the batch's texts, which stay where they are until the batch is handed over:
// should appending move them, the earlier ones remain with the values that refer to them.
func (p *Writer) text(grown []byte) parquet.Value {
	s := grown[len(p.texts):]
	if !utf8.Valid(s) { // STRING is UTF-8, and readers refuse a file in which it is not
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
		grown = append(p.texts, s...)
		s = grown[len(p.texts):]
	}
	p.texts = grown
	return parquet.ByteArrayValue(s)
}
