package show

import (
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
)

// gallery is the part of the page that shows how the clocks wandered: pictures of hosts, then of pairs.
type gallery struct {
	pictures     []string // SVG without a style
	hosts, pairs int
	left         string // what is not drawn; "" for nothing
}

func (s *scene) gallery() (*gallery, error) {
	g := &gallery{}
	if s.Report == nil || len(s.Report.Hosts) < len(s.Rows) {
		return g, nil
	}
	all := Gallery{Channels: s.Channels}
	for i, r := range s.Rows {
		h := &s.Report.Hosts[i]
		all.Clocks = append(all.Clocks, GalleryClock{h.Name, h.Reference, h.Component, s.maps[i], r.First, r.Last, h.BoundNs})
	}
	drawings, left, err := all.Draw()
	for _, d := range drawings {
		g.pictures = append(g.pictures, strings.Replace(d.SVG, "<style>"+chartStyle+"</style>\n", "", 1))
	}
	g.hosts, g.left = min(len(all.drawnClocks()), mostPictures), left
	g.pairs = len(drawings) - g.hosts
	return g, err
}

// write writes the pictures as a JSON array, deflated and in base64: no name in them is near any markup of the page.
func (g *gallery) write(w io.Writer) error {
	text := base64.NewEncoder(base64.StdEncoding, w)
	small, err := flate.NewWriter(text, flate.BestSpeed)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(small).Encode(append([]string{}, g.pictures...)); err != nil {
		return err
	}
	if err := small.Close(); err != nil {
		return err
	}
	return text.Close()
}
