package show

import (
	"fmt"
	"io"
	"net/url"
)

// PlotPage is one page with many plots.
type PlotPage struct {
	Title, Note string
	Plots       []Plot
}

// Plot is a picture that was written as SVG, and the name of its file.
type Plot struct {
	File string
	SVG  []byte
}

const plotPageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>
body{margin:0 auto;max-width:1000px;padding:16px;font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;background:#fbfcfd;color:#17212b}
h1{font-size:20px;margin:0 0 4px}p{margin:0 0 16px;color:#566575}
figure{margin:0 0 24px;border:1px solid #d3dbe3}figure>svg{display:block;width:100%%;height:auto}
figcaption{padding:4px 12px;border-top:1px solid #d3dbe3;font-size:12px}a{color:#2563b0}
@media (prefers-color-scheme:dark){body{background:#0f141a;color:#dbe3ea}p{color:#8a99a8}figure,figcaption{border-color:#2a3541}a{color:#8fbdf5}}
</style>
</head>
<body>
<h1>%s</h1>
<p>%s</p>
`

// Write writes the page. It holds the pictures themselves and asks for no other file; the links under them lead to the
// files for those who want one alone.
func (p *PlotPage) Write(w io.Writer) error {
	if _, err := fmt.Fprintf(w, plotPageHead, escaped(p.Title), escaped(p.Title), escaped(p.Note)); err != nil {
		return fmt.Errorf("plots: %w", err)
	}
	for _, plot := range p.Plots {
		_, err := fmt.Fprintf(w, "<figure>\n%s<figcaption><a href=\"%s\">%s</a></figcaption>\n</figure>\n",
			plot.SVG, escaped((&url.URL{Path: plot.File}).String()), escaped(plot.File))
		if err != nil {
			return fmt.Errorf("plots: %w", err)
		}
	}
	if _, err := io.WriteString(w, "</body>\n</html>\n"); err != nil {
		return fmt.Errorf("plots: %w", err)
	}
	return nil
}
