package view

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"meridian/internal/show/index"
)

// Options says what one file may hold. The zero value is for a file to be sent by mail.
type Options struct {
	Budget int64 // bytes of the file, about; 0 is DefaultBudget
}

// DefaultBudget is what mail servers let pass.
const DefaultBudget = 8 << 20

// WriteFile writes the page with the answers to what it asks, as many as the budget allows, as one HTML file that works
// from a disk. The same data give the same bytes. What is left out, the page says.
func WriteFile(w io.Writer, data Data, o Options) error {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	out := bufio.NewWriterSize(w, 64<<10)
	p := thePage()
	about := *data.About()
	about.Left = append([]string{}, about.Left...)
	f := &file{w: out, data: data, about: &about, left: o.Budget - p.size(), contents: contents{Tiles: [][]string{}, Events: [][]int64{}}}
	if err := p.write(out, about.Title, false, func(io.Writer) error { return f.write() }); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return nil
}

// size is that of the page without data.
func (p *page) size() int64 {
	n := len(p.style) + len(p.script) + len(p.policy)
	for _, part := range p.parts {
		n += len(part)
	}
	return int64(n)
}

// file is one that is being written.
type file struct {
	w        io.Writer
	data     Data
	about    *index.About
	left     int64 // of the budget
	contents contents
}

// contents lists the contents of the numbered elements, in their order.
type contents struct {
	Tiles  [][]string `json:"tiles"`
	Events [][]int64  `json:"events"`
}

// write writes the elements. Those that list the others come last: the page's code runs after all of them.
func (f *file) write() error {
	list, err := f.violations()
	if err != nil {
		return err
	}
	if err := f.json("plots", f.data.Plots()); err != nil {
		return err
	}
	if err := f.requests(); err != nil {
		return err
	}
	if err := f.against(); err != nil {
		return err
	}
	if err := f.tiles(list); err != nil {
		return err
	}
	if err := f.events(list); err != nil {
		return err
	}
	if err := f.json("held", f.contents); err != nil {
		return err
	}
	return f.json("about", f.about)
}

func (f *file) json(id string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.put(id, packed(text))
}

// against writes what differs from the other timeline, if there is one.
func (f *file) against() error {
	data, ok := f.data.(Compared)
	if !ok {
		return nil
	}
	c, err := data.Comparison(context.Background())
	if err != nil || c == nil {
		return err
	}
	return f.json("against", c)
}

// put writes an element of what packed made.
func (f *file) put(id string, text []byte) error {
	n, err := fmt.Fprintf(f.w, "<script type=\"text/plain\" id=%q>%s</script>\n", id, text)
	f.left -= int64(n)
	return err
}

// packed deflates b and encodes it as base64, which contains no markup.
func packed(b []byte) []byte {
	var text bytes.Buffer
	out := base64.NewEncoder(base64.StdEncoding, &text)
	small, err := flate.NewWriter(out, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is one
	}
	_, _ = small.Write(b) // into memory
	_ = small.Close()
	_ = out.Close()
	return text.Bytes()
}

// missing notes what the file does not hold.
func (f *file) missing(format string, args ...any) {
	f.about.Left = append(f.about.Left, fmt.Sprintf(format, args...))
}

const moreIn = "; meridian view shows all"
