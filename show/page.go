package show

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"meridian/clock"
)

//go:embed page
var pageFiles embed.FS

// scripts are the parts of the page's code, in the order of the data; together they are one function.
var scripts = []string{"decode", "time", "model", "draw", "messages", "overview", "details", "clocks", "pointer", "main"}

// WritePage writes the timeline as one HTML file. It runs every row's Events several times.
func (t *Timeline) WritePage(w io.Writer) error {
	return t.writePage(w, maxEvents)
}

func (t *Timeline) writePage(w io.Writer, budget int64) error {
	s, err := newScene(t)
	if err != nil {
		return err
	}
	v := s.survey(maxInversions)
	if v.first > v.last {
		v.first, v.last = 0, 0
	}
	c := s.choose(v, budget)
	margin := max(v.span()/8, 1_000_000)

	b := &columns{}
	limit := max(64, min(8192, 1<<17/max(1, len(s.Rows))))
	for row := range s.Rows {
		b.row(s, row, v, c, band(s.maps[row], clock.Sub(v.first, margin), clock.Add(v.last, margin), limit))
	}
	worst := make(map[[2]int]bool, len(v.worst))
	for _, r := range v.worst {
		worst[[2]int{r.channel, r.index}] = true
	}
	for channel := range s.Channels {
		b.channel(s, channel, v, c, worst)
	}
	var h *histogram
	if !c.allEvents || !c.allMessages {
		h = s.density(v, maxCounters)
	}
	b.density(h)

	g, err := s.gallery()
	if err != nil {
		return err
	}
	all := s.facts(v, c, h, b, margin)
	all.Clocks = clockFacts{g.hosts, g.pairs, g.left}
	facts, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return writeHTML(w, t.Title, facts, b, g)
}

// facts is what the page is told in words and single numbers; the columns hold the rest. Durations that are only read
// come as text, so that the page and the table write them alike.
type facts struct {
	Title      string       `json:"title"`
	Base       string       `json:"base"` // the first instant, ns; a string because JavaScript's numbers would round it
	Span       float64      `json:"span"`
	Margin     float64      `json:"margin"`
	Rows       []rowFacts   `json:"rows"`
	Channels   [][3]int64   `json:"channels"` // from, to, and by how much a message may seem early, ns
	Events     int64        `json:"events"`
	Messages   int64        `json:"messages"`
	Inversions int64        `json:"inversions"`
	Within     int64        `json:"within"` // seemingly inverted, within a stamp's step
	Embedded   embedded     `json:"embedded"`
	Windows    [][2]float64 `json:"windows"`
	StepWidth  int64        `json:"step_width"`
	Method     string       `json:"method"`
	Assumption string       `json:"assumption"`
	Summary    string       `json:"summary"`
	Pairs      [][]string   `json:"pairs"`
	Warnings   []string     `json:"warnings"`
	Left       []string     `json:"left"`
	Clocks     clockFacts   `json:"clocks"`
}

// clockFacts says what pictures of clocks the page has, hosts before pairs.
type clockFacts struct {
	Hosts int    `json:"hosts"`
	Pairs int    `json:"pairs"`
	Left  string `json:"left"`
}

type rowFacts struct {
	Name      string   `json:"name"`
	Component int      `json:"component"`
	Reference string   `json:"reference"`
	Addresses []string `json:"addresses"`
	Offset    string   `json:"offset"`
	Skew      string   `json:"skew"`
	Bound     string   `json:"bound"`
	LowOK     bool     `json:"low_ok"`
	HighOK    bool     `json:"high_ok"`
	Events    int64    `json:"events"`
}

type embedded struct {
	AllEvents   bool  `json:"all_events"`
	AllMessages bool  `json:"all_messages"`
	Events      int64 `json:"events"`
	Messages    int64 `json:"messages"`
	Inversions  int64 `json:"inversions"`
}

func (s *scene) facts(v *survey, c *choice, h *histogram, b *columns, margin int64) *facts {
	r := s.Report
	if r == nil {
		r = &Report{}
	}
	r = r.complete()
	f := &facts{
		Title: s.Title, Base: fmt.Sprint(v.first), Span: float64(v.span()), Margin: float64(margin),
		Rows: []rowFacts{}, Channels: [][3]int64{}, Windows: [][2]float64{}, Pairs: [][]string{}, Left: []string{},
		Events: v.totalEvents, Messages: v.total, Inversions: v.inversions, Within: v.within,
		Embedded: embedded{AllEvents: c.allEvents, AllMessages: c.allMessages, Messages: b.messages, Inversions: b.inverted},
		Method:   r.Method, Assumption: r.Assumption, Warnings: r.Warnings,
	}
	for _, n := range b.events {
		f.Embedded.Events += n
	}
	for i := range s.Rows {
		x := rowFacts{Name: fmt.Sprintf("row %d", i+1), Addresses: []string{}, Offset: "-", Bound: "unbounded", Events: v.events[i]}
		if i < len(r.Hosts) {
			h := r.Hosts[i]
			x.Name, x.Component, x.Reference, x.Addresses = h.Name, h.Component, h.Reference, h.Addresses
			x.Offset, x.Bound = optional(h.OffsetNs, offset), bound(h.BoundNs)
			x.Skew = skew(h.SkewPPM, h.SkewLowPPM, h.SkewHighPPM)
		}
		x.LowOK, x.HighOK = s.maps[i].Low != nil, s.maps[i].High != nil
		f.Rows = append(f.Rows, x)
	}
	for i, channel := range s.Channels {
		f.Channels = append(f.Channels, [3]int64{int64(channel.From), int64(channel.To), s.step(i)})
	}
	for _, w := range c.windows {
		f.Windows = append(f.Windows, [2]float64{float64(clock.Sub(w.from, v.first)), float64(clock.Sub(w.to, v.first))})
	}
	if h != nil {
		f.StepWidth = h.width
	}
	for _, p := range r.Pairs {
		f.Pairs = append(f.Pairs, []string{p.A, p.B, count(p.MessagesAB), count(p.MessagesBA), optional(p.MinRTTNs, duration),
			p.Fit, optional(p.OffsetNs, offset), skew(p.SkewPPM, p.SkewLowPPM, p.SkewHighPPM), bound(p.BoundNs)})
	}
	var summary strings.Builder
	r.summary(&summary)
	f.Summary = strings.TrimSpace(summary.String())
	f.Left = s.left(v, c, h, b, f)
	return f
}

// left says what the page does not show one by one.
func (s *scene) left(v *survey, c *choice, h *histogram, b *columns, f *facts) []string {
	lines := []string{}
	if h != nil {
		where := fmt.Sprintf("as density in %s steps of %s", count(int64(h.steps)), duration(h.width))
		if n := v.totalEvents - f.Embedded.Events; n > 0 {
			lines = append(lines, fmt.Sprintf("%s of %s events are shown %s", count(n), count(v.totalEvents), where))
		}
		if n := v.total - b.messages; n > 0 {
			lines = append(lines, fmt.Sprintf("%s of %s messages are shown %s", count(n), count(v.total), where))
		}
		if len(c.windows) > 0 {
			stretches := "at the beginning"
			if n := len(c.windows); n > 1 {
				stretches = fmt.Sprintf("in %d stretches, at the beginning and around the worst inversions", n)
			}
			lines = append(lines, "each event and message stands for itself "+stretches+", underlined in the overview; density is paler")
		}
	}
	if n := v.inversions - b.inverted; n > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s inversions, the less deep ones, are shown as density", count(n), count(v.inversions)))
	}
	if described := s.describable(b); described > b.described {
		lines = append(lines, fmt.Sprintf("%s of %s descriptions are left out", count(described-b.described), count(described)))
	}
	if v.span() > 1<<53 {
		lines = append(lines, fmt.Sprintf("the stamps lie %s apart: the page shows instants to %s", duration(v.span()),
			duration(int64(math.Nextafter(float64(v.span()), math.Inf(1))-float64(v.span())))))
	}
	return lines
}

func (s *scene) describable(b *columns) int64 {
	var n int64
	for row, r := range s.Rows {
		if r.Describe != nil {
			n += b.events[row]
		}
	}
	return n
}

// writeHTML fills the marks (@NAME@) of page.html. The policy lets nothing run but the code whose digest it names, and
// nothing load at all. Title and facts cannot end their elements: html and json escape < and >.
func writeHTML(w io.Writer, title string, facts []byte, b *columns, g *gallery) error {
	out := bufio.NewWriterSize(w, 64<<10)
	style := pageFile("page.css") + chartStyle
	var code strings.Builder
	code.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		code.WriteString(pageFile(name + ".js"))
	}
	code.WriteString("})();\n")
	if title == "" {
		title = "timeline"
	}
	parts := strings.Split(pageFile("page.html"), "@")
	for i, part := range parts {
		if i%2 == 0 {
			out.WriteString(part)
			continue
		}
		switch part {
		case "POLICY":
			fmt.Fprintf(out, "default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
				digest(code.String()), digest(style))
		case "TITLE":
			out.WriteString(html.EscapeString(strings.ToValidUTF8(title, "\ufffd")))
		case "STYLE":
			out.WriteString(style)
		case "FACTS":
			out.Write(facts)
		case "COLUMNS":
			if err := b.write(out); err != nil {
				return err
			}
		case "CLOCKS":
			if err := g.write(out); err != nil {
				return err
			}
		case "SCRIPT":
			out.WriteString(code.String())
		default:
			return fmt.Errorf("page: page.html has the unknown mark %q", part)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func pageFile(name string) string {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic(err) // the file was there when this was compiled
	}
	return string(text)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
