package main

import (
	"fmt"
	"io"
	"strings"
)

// find returns a contender by its name; nil if it was not measured.
func (b *bench) find(name string) *contender {
	for _, c := range b.all {
		if c.name == name && len(c.samples) > 0 {
			return c
		}
	}
	return nil
}

// print writes the table: medians, the middle half of the samples, ratios of medians.
func (b *bench) print(w io.Writer, markdown bool) {
	format, head := "%-40s %9s  %-17s %8s  %7s  %s\n", ""
	if markdown {
		format, head = "| %s | %s | %s | %s | %s | %s |\n", "|---|--:|--:|--:|--:|---|\n"
	}
	fmt.Fprintf(w, format, "an event of six integers", "ns", "middle half", "x limit", "allocs", "keeps")
	fmt.Fprint(w, head)
	limit := b.find(limitName).median()
	for _, c := range b.all {
		allocs := "-"
		if c.inside {
			allocs = fmt.Sprintf("%.0f", c.allocs)
		}
		keeps := c.keeps
		if keeps == "" {
			keeps = "nothing"
		}
		row := fmt.Sprintf(format, c.name, fmt.Sprintf("%.2f", c.median()),
			fmt.Sprintf("%.2f - %.2f", c.quantile(0.25), c.quantile(0.75)), fmt.Sprintf("%.2f", c.median()/limit), allocs, keeps)
		fmt.Fprint(w, strings.TrimRight(row, " \n")+"\n")
	}
	for _, m := range b.missing {
		fmt.Fprintln(w, "not measured:", m)
	}
}
