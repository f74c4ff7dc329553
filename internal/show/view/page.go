package view

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"
	"sync"
)

//go:generate go run ../../../tools/pagebundle page page_bundle.js

// What the page is made of: its markup, its style sheets and its script, which is the modules under page/ joined into one.
var (
	//go:embed page/page.html
	pageMarkup string
	//go:embed page/page.css
	pageStyle string
	//go:embed page/panels.css
	panelStyle string
	//go:embed page_bundle.js
	pageScript string
)

// page is the page without a timeline: text before its marks (@NAME@) and the marks, by turns.
type page struct {
	parts         []string
	style, script string
	policy        string
}

// thePage is put together once.
var thePage = sync.OnceValue(func() *page {
	p := &page{parts: strings.Split(pageMarkup, "@"), style: pageStyle + panelStyle, script: pageScript}
	p.policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		digest(p.script), digest(p.style))
	return p
})

// write writes the page. Served, it makes requests to its server; in a file, data writes what answers them.
func (p *page) write(w io.Writer, title string, served bool, data func(io.Writer) error) error {
	for i, part := range p.parts {
		var err error
		switch {
		case i%2 == 0:
			_, err = io.WriteString(w, part)
		case part == "POLICY":
			_, err = io.WriteString(w, p.policyOf(served))
		case part == "TITLE":
			_, err = io.WriteString(w, html.EscapeString(clean(title)))
		case part == "STYLE":
			_, err = io.WriteString(w, p.style)
		case part == "DATA":
			err = data(w)
		case part == "SCRIPT":
			_, err = io.WriteString(w, p.script)
		default:
			err = fmt.Errorf("view: page.html has the unknown placeholder %q", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// policyOf is the content security policy: only the script and style of these digests run, and only a served page may
// make requests, to its own server. Framing is forbidden by a header, since a policy in the page cannot.
func (p *page) policyOf(served bool) string {
	if served {
		return p.policy + "; connect-src 'self'"
	}
	return p.policy
}

// clean makes a title harmless beyond the escaping of markup. It replaces what is not text, controls a terminal or reorders
// letters.
func clean(title string) string {
	if title == "" {
		return "timeline"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029:
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(title, "\ufffd"))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
