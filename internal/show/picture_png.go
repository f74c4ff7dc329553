package show

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pixels is a canvas that becomes a PNG. Rectangles and lines are drawn here, in time proportional to their size. The
// vector rasteriser takes time proportional to the area around a shape; it draws the small polygons.
type pixels struct {
	img   *image.RGBA
	scale float64
	faces map[font]xfont.Face
}

// mostPixels keeps an image below 80 MB, however many rows there are.
const mostPixels = 20e6

func newPixels(width, height, scale float64) (*pixels, error) {
	if area := width * height * scale * scale; area > mostPixels {
		scale *= math.Sqrt(mostPixels / area)
	}
	if _, err := fonts(); err != nil {
		return nil, err
	}
	bounds := image.Rect(0, 0, max(int(width*scale), 1), max(int(height*scale), 1))
	return &pixels{img: image.NewRGBA(bounds), scale: scale, faces: make(map[font]xfont.Face)}, nil
}

// blend puts a colour over a pixel, with so much of its strength.
func (p *pixels) blend(x, y int, c color.NRGBA, part float64) {
	if x < 0 || y < 0 || x >= p.img.Rect.Dx() || y >= p.img.Rect.Dy() || part <= 0 {
		return
	}
	a := uint32(float64(c.A) * min(part, 1) * 257)
	q := p.img.Pix[y*p.img.Stride+4*x:]
	over := func(old uint8, new uint8) uint8 {
		return uint8((uint32(old)*(65535-a) + uint32(new)*a + 32767) / 65535)
	}
	q[0], q[1], q[2], q[3] = over(q[0], c.R), over(q[1], c.G), over(q[2], c.B), 255
}

func (p *pixels) rect(x, y, w, h float64, c color.NRGBA) {
	x0, y0, x1, y1 := x*p.scale, y*p.scale, (x+w)*p.scale, (y+h)*p.scale
	x0, y0 = max(x0, 0), max(y0, 0)
	x1, y1 = min(x1, float64(p.img.Rect.Dx())), min(y1, float64(p.img.Rect.Dy()))
	for j := int(y0); float64(j) < y1; j++ {
		row := min(y1, float64(j+1)) - max(y0, float64(j))
		for i := int(x0); float64(i) < x1; i++ {
			p.blend(i, j, c, row*(min(x1, float64(i+1))-max(x0, float64(i))))
		}
	}
}

// line goes along the longer direction and fills in each step what the line covers across it.
func (p *pixels) line(x0, y0, x1, y1, width float64, c color.NRGBA) {
	x0, y0, x1, y1 = x0*p.scale, y0*p.scale, x1*p.scale, y1*p.scale
	put := p.blend
	if math.Abs(y1-y0) > math.Abs(x1-x0) {
		x0, y0, x1, y1 = y0, x0, y1, x1
		put = func(x, y int, c color.NRGBA, part float64) { p.blend(y, x, c, part) }
	}
	if x0 > x1 {
		x0, y0, x1, y1 = x1, y1, x0, y0
	}
	slope := 0.0
	if x1 > x0 {
		slope = (y1 - y0) / (x1 - x0)
	}
	half := width * p.scale / 2 * math.Hypot(1, slope)
	most := float64(max(p.img.Rect.Dx(), p.img.Rect.Dy()))
	for i := int(math.Floor(max(x0, 0))); float64(i) < min(max(x1, x0+0.01), most); i++ {
		along := min(x1, float64(i+1)) - max(x0, float64(i))
		middle := y0 + slope*(float64(i)+0.5-x0)
		low, high := middle-half, middle+half
		for j := int(math.Floor(low)); float64(j) < high; j++ {
			put(i, j, c, along*(min(high, float64(j+1))-max(low, float64(j))))
		}
	}
}

func (p *pixels) polygon(points []point, c color.NRGBA) {
	x, y := emptyInterval(), emptyInterval()
	for _, k := range points {
		x.include(k.x * p.scale)
		y.include(k.y * p.scale)
	}
	box := image.Rect(int(x.low), int(y.low), int(x.high)+2, int(y.high)+2)
	if !box.Overlaps(p.img.Rect) || box.Dx() > 4*p.img.Rect.Dx() || box.Dy() > 4*p.img.Rect.Dy() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for i, k := range points {
		px, py := float32(k.x*p.scale-float64(box.Min.X)), float32(k.y*p.scale-float64(box.Min.Y))
		if i == 0 {
			r.MoveTo(px, py)
		} else {
			r.LineTo(px, py)
		}
	}
	r.ClosePath()
	r.DrawOp = draw.Over
	r.Draw(p.img, box, image.NewUniform(c), image.Point{})
}

func (p *pixels) text(x, y float64, s string, f font, c color.NRGBA) {
	s = printable(s)
	face := p.face(f)
	x *= p.scale
	if f.align >= 0 {
		w := float64(xfont.MeasureString(face, s)) / 64
		x -= w * float64(1+f.align) / 2
	}
	d := xfont.Drawer{Dst: p.img, Src: image.NewUniform(c), Face: face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(math.Round(y*p.scale) * 64)}}
	d.DrawString(s)
}

func (p *pixels) face(f font) xfont.Face {
	f.align = 0
	if face, ok := p.faces[f]; ok {
		return face
	}
	face := newFace(f, f.size*p.scale)
	p.faces[f] = face
	return face
}

func (p *pixels) write(w io.Writer) error {
	return png.Encode(w, p.img)
}

// typefaces are the Go fonts, which come with the program and so look the same everywhere.
type typefaces struct{ regular, bold *opentype.Font }

var fonts = sync.OnceValues(func() (typefaces, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return typefaces{}, fmt.Errorf("the built-in font: %w", err)
	}
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return typefaces{}, fmt.Errorf("the built-in font: %w", err)
	}
	return typefaces{regular, bold}, nil
})

// newFace returns a font in a size in pixels; nil without fonts, which [newPixels] has told before.
func newFace(f font, size float64) xfont.Face {
	t, err := fonts()
	if err != nil {
		return nil
	}
	of := t.regular
	if f.bold {
		of = t.bold
	}
	face, err := opentype.NewFace(of, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: xfont.HintingNone})
	if err != nil {
		return nil
	}
	return face
}
