package show

import (
	"sync"

	xfont "golang.org/x/image/font"
)

// spare is how much wider than the Go font another may be that a reader of an SVG has; DejaVu is one of the widest.
const spare = 1.13

// widths are the widths of characters at size 1, by which texts are fitted in both kinds of pictures.
type widths struct {
	mu   sync.Mutex
	face xfont.Face
	of   map[rune]float64
}

var regularWidths, boldWidths widths

// runeWidth is how wide a character is at size 1.
func runeWidth(r rune, bold bool) float64 {
	w := &regularWidths
	if bold {
		w = &boldWidths
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if v, ok := w.of[r]; ok {
		return v
	}
	if w.of == nil {
		w.of = make(map[rune]float64)
		w.face = newFace(font{bold: bold}, 100)
	}
	v := 0.6
	if w.face != nil {
		if a, ok := w.face.GlyphAdvance(r); ok {
			v = float64(a) / 64 / 100 * spare
		}
	}
	if len(w.of) < 10_000 {
		w.of[r] = v
	}
	return v
}

func textWidth(s string, f font) float64 {
	total := 0.0
	for _, r := range s {
		total += runeWidth(r, f.bold)
	}
	return total * f.size
}

// fit cuts a text that is wider than its place.
func fit(s string, f font, width float64) string {
	total, cut := 0.0, 0
	ellipsis := runeWidth('…', f.bold) * f.size
	for i, r := range s {
		if total+ellipsis <= width {
			cut = i
		}
		if total += runeWidth(r, f.bold) * f.size; total > width {
			return s[:cut] + "…"
		}
	}
	return s
}
