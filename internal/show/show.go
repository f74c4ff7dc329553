// Package show hands the result to people: in goes what alignment found, out come a report, a table and pictures.
//
//	Report    --> Write     report.json, for programs
//	          --> Table     what meridian align prints, for a terminal
//	Gallery   --> Draw      pictures of how the clocks wandered, for the page
//	HostPlot, PairPlot, BroadcastPlot, PlotPage    pictures of one clock, one pair, and a page of them
//	NewPicture              the timeline itself as SVG or PNG
//
// A [Report] holds the numbers. Nothing here shows an instant without saying how sure it is. The timeline in a browser has
// packages of its own: show/index and show/view.
package show
