// Package parquet writes a timeline as a Parquet file, for DuckDB, pandas, Spark and what else reads columns. In go
// records, out comes a row for each:
//
//	time         TIMESTAMP(NANOS, UTC)       slice, flow             UINT64, null for none
//	time_ns      INT64, ns since 1970        role                    STRING, "" for none
//	low_ns, high_ns, recorded_ns   INT64     <a column a field>      BOOLEAN, INT64, DOUBLE or STRING, null where absent
//	host, row, row_kind, event,              fields                  JSON: what has no column, null for nothing
//	category, phase              STRING      component               INT64, null for stamps as they were recorded
//
// Times of different components cannot be compared. The bounds low_ns and high_ns are null where there are none.
//
//	SELECT host, event, count(*), avg(high_ns - low_ns) FROM 'timeline.parquet' GROUP BY ALL
//
// The columns of fields are those of the classes known in the beginning (see format/internal/table). The schema's title
// and how the clocks were brought together are in the file's metadata, as meridian.title, .method and .assumption.
//
// Texts are in dictionaries, times as deltas, everything in zstd. A row group ends after 122,880 rows, which is how many
// DuckDB takes at a time, or 32 MiB of texts: what is held in memory is a page of each column and the row group's
// pages, compressed. The cost is a microsecond a record and 25 ns for each
// column that it has nothing in.
//
// Source: github.com/apache/parquet-format; github.com/parquet-go/parquet-go does the encoding.
package parquet

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"meridian/format/internal/table"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Options say how a file is written; the zero value is right for most.
type Options struct {
	Columns int // most columns for fields; 0 stands for 256, below 0 none: all fields are in the last column
}

const (
	mostColumns = 256
	groupRows   = 122_880
	groupBytes  = 32 << 20 // of texts, as they are before compression
	batchRows   = 512      // handed over at once
	pagesBytes  = 16 << 20 // for all columns' pages together
	mostInPage  = 256 << 10
	dictionary  = 1 << 20 // bytes after which a column's texts are written as they are
)

// Writer is a sink that writes a Parquet file.
type Writer struct {
	out      *parquet.GenericWriter[any]
	progress timeline.Progress
	layout   *table.Layout
	batch    [][]parquet.Value // a column each; one that is shorter than the batch ends in nulls
	rows     int               // of the batch
	texts    []byte            // and its texts
	held     int               // bytes of texts in the row group
	count    int               // and its rows
}

// NewWriter begins a file whose columns are those of the fields that the schema's classes have now.
func NewWriter(w io.Writer, l *trace.Schema, o Options) (*Writer, error) {
	progress, err := timeline.NewProgress("parquet", w, l)
	if err != nil {
		return nil, err
	}
	if o.Columns == 0 {
		o.Columns = mostColumns
	}
	p := &Writer{progress: progress, layout: table.New(l, max(o.Columns, 0))}
	all := newColumns(p.layout)
	config := parquet.DefaultWriterConfig()
	config.CreatedBy = "meridian"
	config.Schema = parquet.NewSchema("timeline", all)
	config.Compression = &parquet.Zstd
	config.PageBufferSize = min(pagesBytes/len(all.fields), mostInPage)
	config.DictionaryMaxBytes = dictionary
	config.KeyValueMetadata = map[string]string{
		"meridian.title": l.Title, "meridian.method": l.Method, "meridian.assumption": l.Assumption,
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	p.out = parquet.NewGenericWriter[any](w, config)
	p.batch = make([][]parquet.Value, len(all.fields))
	return p, nil
}

// Write adds a row. Its error is that of an event whose host, stream or class the schema does not have, of the output, or of
// a writer that is closed; after an error nothing is written.
func (p *Writer) Write(r *trace.TimelineEvent) error {
	if err := p.progress.Accept(r); err != nil {
		return err
	}
	p.progress.Events++
	p.row(r)
	p.rows++
	p.count++
	if p.rows == batchRows || len(p.texts) >= groupBytes/8 {
		p.hand()
	}
	return p.progress.Err
}

// Close completes the file. It does not close what is below.
func (p *Writer) Close() error {
	if p.hand(); p.progress.Err == nil {
		p.fail(p.out.Close())
	}
	return p.progress.Close()
}

// hand hands the batch over, column by column, and ends the row group if it is large enough. Row by row it would take
// five times as long where there are many columns, of which a record has few.
func (p *Writer) hand() {
	if p.progress.Err != nil || p.rows == 0 {
		return
	}
	for c, w := range p.out.ColumnWriters() {
		p.pad(c)
		_, err := w.WriteRowValues(p.batch[c])
		p.fail(err)
		p.batch[c] = p.batch[c][:0]
	}
	p.held += len(p.texts)
	p.rows, p.texts = 0, p.texts[:0]
	if p.progress.Err == nil && (p.count >= groupRows || p.held >= groupBytes) {
		p.fail(p.out.Flush())
		p.count, p.held = 0, 0
	}
}

// pad fills a column with nulls up to the row that comes.
func (p *Writer) pad(c int) {
	for len(p.batch[c]) < p.rows {
		p.batch[c] = append(p.batch[c], parquet.NullValue().Level(0, 0, c))
	}
}

func (p *Writer) fail(err error) {
	if p.progress.Err == nil && err != nil {
		p.progress.Err = fmt.Errorf("parquet: %w", err)
	}
}

// columns is the schema's root: a group whose fields stay in our order, where the library's own sorts them by name.
type columns struct {
	parquet.Group
	fields []parquet.Field
}

func (c *columns) Fields() []parquet.Field { return c.fields }
func (c *columns) GoType() reflect.Type    { return reflect.TypeFor[struct{}]() }

// column is one field of the root. Rows are built value by value, so that no Go type stands behind it.
type column struct {
	parquet.Node
	name string
}

func (c *column) Name() string                      { return c.name }
func (c *column) Value(reflect.Value) reflect.Value { return reflect.Value{} }

func newColumns(t *table.Layout) *columns {
	text := parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	delta := func(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.DeltaBinaryPacked) }
	c := &columns{Group: parquet.Group{}}
	add := func(name string, n parquet.Node) {
		c.fields = append(c.fields, &column{n, name})
		c.Group[name] = n
	}
	for _, name := range table.Fixed {
		switch name {
		case "time":
			add(name, delta(parquet.TimestampAdjusted(parquet.Nanosecond, true)))
		case "time_ns", "recorded_ns":
			add(name, delta(parquet.Int(64)))
		case "low_ns", "high_ns":
			add(name, parquet.Optional(delta(parquet.Int(64))))
		case "component":
			add(name, parquet.Optional(parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)))
		case "slice", "flow":
			add(name, parquet.Optional(parquet.Uint(64)))
		default:
			add(name, text)
		}
	}
	for i := range t.Columns {
		name := t.Columns[i].Name
		switch t.Columns[i].Kind {
		case table.Boolean:
			add(name, parquet.Optional(parquet.Leaf(parquet.BooleanType)))
		case table.Integer:
			add(name, parquet.Optional(parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)))
		case table.Real:
			add(name, parquet.Optional(parquet.Leaf(parquet.DoubleType)))
		default:
			add(name, parquet.Optional(text))
		}
	}
	add(table.Rest, parquet.Optional(parquet.JSON()))
	return c
}
