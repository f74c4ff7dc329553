package show

import (
	"fmt"
	"image/color"
	"io"
	"strings"
)

// vectors is a canvas that becomes SVG. Rectangles and lines that follow each other in one colour are one path, which
// keeps a picture of ten thousand slices below a megabyte.
type vectors struct {
	body  strings.Builder
	attrs string // of the path that is open
	path  strings.Builder
}

func newVectors() *vectors { return &vectors{} }

// flush writes the open path.
func (v *vectors) flush() {
	if v.attrs != "" {
		fmt.Fprintf(&v.body, `<path %s d="%s"/>`+"\n", v.attrs, v.path.String())
		v.path.Reset()
		v.attrs = ""
	}
}

// open goes on with the open path if it looks the same.
func (v *vectors) open(attrs string) {
	if v.attrs != attrs {
		v.flush()
		v.attrs = attrs
	}
}

func paintOf(what string, c color.NRGBA) string {
	s := fmt.Sprintf(`%s="#%02x%02x%02x"`, what, c.R, c.G, c.B)
	if c.A < 255 {
		s += fmt.Sprintf(` %s-opacity="%.2g"`, what, float64(c.A)/255)
	}
	return s
}

func (v *vectors) rect(x, y, w, h float64, c color.NRGBA) {
	v.open(paintOf("fill", c))
	fmt.Fprintf(&v.path, "M%s %sh%sv%sh%sz", number(x), number(y), number(w), number(h), number(-w))
}

func (v *vectors) line(x0, y0, x1, y1, width float64, c color.NRGBA) {
	v.open(fmt.Sprintf(`fill="none" stroke-width="%.2g" %s`, width, paintOf("stroke", c)))
	fmt.Fprintf(&v.path, "M%s %sL%s %s", number(x0), number(y0), number(x1), number(y1))
}

func (v *vectors) polygon(points []point, c color.NRGBA) {
	v.open(paintOf("fill", c))
	v.path.WriteString(pathOf(points))
	v.path.WriteByte('z')
}

func (v *vectors) text(x, y float64, s string, f font, c color.NRGBA) {
	v.flush()
	anchor, weight := "", ""
	switch f.align {
	case 0:
		anchor = ` text-anchor="middle"`
	case 1:
		anchor = ` text-anchor="end"`
	}
	if f.bold {
		weight = ` font-weight="600"`
	}
	fmt.Fprintf(&v.body, `<text x="%s" y="%s" font-size="%s"%s%s %s>%s</text>`+"\n",
		number(x), number(y), number(f.size), weight, anchor, paintOf("fill", c), escaped(s))
}

func (v *vectors) write(w io.Writer, width, height float64, title string) error {
	v.flush()
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %s %s" width="%s" height="%s" `+
		`font-family="Go,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif">`+"\n<title>%s</title>\n%s</svg>\n",
		number(width), number(height), number(width), number(height), escaped(title), v.body.String())
	return err
}
