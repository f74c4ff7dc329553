package main

import (
	"fmt"
	"io"
	"strings"
)

// judge holds the figures against what is promised and returns how many promises were broken. What could not be measured
// counts as broken.
func (b *bench) judge(w io.Writer) (missed int) {
	for _, bar := range []struct {
		what, of, to string
		most         float64
		orNs         float64 // good too if not above this
	}{
		{what: "six integers against the limit", of: sixName, to: limitName, most: 1.5},
		{what: "six integers against LTTng-UST", of: sixName, to: lttngName, most: 0.2},
		{what: "a disabled event against an atomic load", of: offName, to: loadName, most: 2, orNs: 1},
		{what: "two writers on two cores against one", of: twoName, to: sixName, most: 1.2},
		{what: "the C header against its own limit", of: headerName, to: headerLimitName, most: 1.2},
		{what: "six integers against the cheapest other that keeps the data", of: sixName, to: b.cheapest(), most: 0.2},
	} {
		of, to := b.find(bar.of), b.find(bar.to)
		if of == nil || to == nil {
			fmt.Fprintf(w, "FAIL  %s: not measured\n", bar.what)
			missed++
			continue
		}
		word, ratio := "PASS", of.median()/to.median()
		if ratio > bar.most && of.median() > bar.orNs {
			word = "FAIL"
			missed++
		}
		limit := fmt.Sprintf("at most %g", bar.most)
		if bar.orNs > 0 {
			limit += fmt.Sprintf(", or %g ns", bar.orNs)
		}
		fmt.Fprintf(w, "%s  %s: %.2f / %.2f ns = %.3f (%s; %s)\n", word, bar.what, of.median(), to.median(), ratio, limit, bar.to)
	}
	return missed
}

// cheapest names the cheapest of what a Go programmer would use instead that keeps all of an event.
func (b *bench) cheapest() string {
	var least *contender
	for _, c := range b.all {
		if !c.other || !strings.HasPrefix(c.keeps, "all") || len(c.samples) == 0 {
			continue
		}
		if least == nil || c.median() < least.median() {
			least = c
		}
	}
	if least == nil {
		return ""
	}
	return least.name
}
