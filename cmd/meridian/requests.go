package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/align"
	"meridian/internal/pipeline"
	"meridian/internal/show"
	"meridian/internal/show/view"
)

// requestFlags is what the command line says.
type requestFlags struct {
	viewFlags
	slowest int
	match   string
	sort    string
	json    bool
	groups  bool
	packets int
}

func newRequests() *cobra.Command {
	var f requestFlags
	cmd := &cobra.Command{
		Use:   "requests [HOST=]TRACE...",
		Short: "List requests over hosts, the slowest first, with what made each slow",
		Long: `Put traces on one time base as 'meridian align' does and list the requests in them, as CSV on stdout: how long each took, of that the
server and both ways of the network, between which lengths each way took by the bounds of the clocks, and what of its critical path took longest.

Requests are found in spans (OTLP, Jaeger), in tagged messages, in each TCP connection of captures and kernel traces, and in other messages that go
there and back by turns. Requests of HTTP/1, HTTP/2 and gRPC have method, path and status where a capture has their headers in clear. Total, server and
network are by one clock each, and exact. Where one end alone was recorded the request is not divided, and its path leads through that end. Where the
bounds leave several causes, all are named, with "or" between them. "beyond" is by how much a request is beyond the median of its like: of one
name, between the same hosts.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host was left unaligned or unbounded, an inversion remains, the traces have gaps (damaged or cut short),
or requests beyond --packets are not listed; the reason is on stderr.`,
		Example: `  meridian requests spans.json
  meridian requests web=web-trace/ db=db-trace/ --slowest 20 --match "GET /cart" --json
  meridian requests monday.mvx --percentiles`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&f.slowest, "slowest", "n", 100, "at most `N` requests, 1 to 1000")
	flags.StringVar(&f.match, "match", "", "only requests whose name and hosts contain all of these `WORDS`")
	flags.StringVar(&f.sort, "sort", "total", "the first by `WHAT`: total, server, network, client, transfer, beyond, begin")
	flags.BoolVar(&f.json, "json", false, "print a line of JSON for each, with the pieces of its path")
	flags.BoolVar(&f.groups, "percentiles", false, "print percentiles for each name and pair of hosts instead")
	flags.IntVar(&f.packets, "packets", view.DefaultPackets, "look at the first `N` packets, some 150 bytes of memory each, and at four times as many events of threads")
	flags.StringVar(&f.index, "index", "", "keep the index as `FILE`, to be used again without the traces")
	f.filterFlags.add(cmd)
	f.methodFlags.add(cmd, append(align.Methods(), pipeline.AsRecorded))
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{
		"slowest": choices("10", "100"), "packets": choices(), "match": choices(), "sort": choices(view.RequestSorts()...),
	})
	return cmd
}

func (f *requestFlags) run(cmd *cobra.Command, args []string) error {
	if err := needTraces(cmd, args); err != nil {
		return err
	}
	q := view.RequestQuery{Sort: f.sort, Text: f.match, Most: f.slowest}
	if f.groups {
		q.MostGroups = math.MaxInt
	}
	if f.slowest < 1 || f.slowest > 1000 {
		return wrong("--slowest %d: want 1 to 1000", f.slowest)
	}
	if err := q.Check(); err != nil {
		return wrong("--%v", err)
	}
	if f.packets < 1 {
		return wrong("--packets %d: want 1 or more", f.packets)
	}
	t, broken, err := f.timeline(cmd, args)
	if err != nil {
		return err
	}
	defer t.Close()
	t.LimitPackets(f.packets)
	list, err := t.Requests(q)
	if err != nil {
		return err
	}
	if list.Contradiction != "" {
		broken = append(broken, list.Contradiction)
	}
	if list.UpTo != 0 {
		broken = append(broken, fmt.Sprintf("requests after %s are not listed: there are more than %d packets, or four times as many events of threads (--packets)",
			time.Unix(0, int64(t.About().Origin)+list.UpTo).UTC().Format("2006-01-02 15:04:05.000000000"), f.packets))
	}
	if !f.quiet {
		leftOut(cmd.ErrOrStderr(), list, f.groups)
	}
	out := forTerminal(cmd.OutOrStdout())
	switch {
	case f.groups:
		err = printGroups(out, t, list, f.json)
	case f.json:
		err = printRequestsJSON(out, t, list)
	default:
		err = printRequests(out, t, list)
	}
	if err == nil && len(broken) > 0 {
		err = &brokenPromise{strings.Join(broken, "; ")}
	}
	return err
}

// leftOut says what a list does not have.
func leftOut(w io.Writer, list *view.RequestList, groups bool) {
	if shown := len(list.Requests); !groups && shown < list.Matched {
		fmt.Fprintf(w, "%s of %s requests (--slowest)\n", show.Count(int64(shown)), show.Count(int64(list.Matched)))
	}
	if l := list.Lost; l != nil {
		fmt.Fprintf(w, "%s requests have no reply in the traces and are not listed: %s\n", show.Count(int64(l.Count)), strings.Join(l.Names, ", "))
	}
}

// causeNames names the items of a path that can be the longest: one, or several with "or" between them.
func causeNames(t *view.Timeline, p *view.Path, list []int) string {
	hosts := t.About().Hosts
	var names []string
	for _, i := range list {
		it := &p.Items[i]
		name := it.Name
		switch {
		case it.FromHost >= 0:
			name = "network " + hosts[it.FromHost].Name + " to"
		case name == "":
			name = "no slice on"
		case name == "at the host":
		default:
			name += " on"
		}
		names = append(names, name+" "+hosts[it.Host].Name)
	}
	return strings.Join(names, " or ")
}

func printRequests(w io.Writer, t *view.Timeline, list *view.RequestList) error {
	a := t.About()
	out := csv.NewWriter(w)
	_ = out.Write([]string{"name", "client", "server", "kind", "begin_ns", "total_ns", "beyond_ns", "server_ns", "network_ns", "client_ns", "transfer_ns",
		"there_low_ns", "there_high_ns", "back_low_ns", "back_high_ns", "longest", "longest_beyond", "status", "sent_again", "peer"}) // Flush has the error
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	side := func(n *int64) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	for i := range list.Requests {
		r := &list.Requests[i]
		p, err := t.Path(r.ID)
		if err != nil {
			return err
		}
		row := []string{r.Name, cmp.Or(r.ClientAddress, a.Hosts[a.Rows[r.Client].Host].Name), cmp.Or(r.ServerAddress, a.Hosts[a.Rows[r.Server].Host].Name), r.Kind, number(int64(a.Origin) + r.Begin), number(r.Total), number(r.Beyond)}
		switch {
		case r.Overlapping:
			row = append(row, "", "", "", "", "", "", "", "", "overlapping", "")
		case r.Alone:
			names := causeNames(t, p, p.Total)
			if slices.ContainsFunc(p.Pieces, func(x view.Piece) bool { return x.Unresolved }) {
				names = "the other end is not recorded"
			}
			row = append(row, "", "", "", "", "", "", "", "", names, causeNames(t, p, p.Beyond))
		default:
			row = append(row, number(r.ServerTime), number(r.Network), number(r.ClientTime), number(r.Transfer), side(r.There.Low), side(r.There.High), side(r.Back.Low), side(r.Back.High),
				causeNames(t, p, p.Total), causeNames(t, p, p.Beyond))
		}
		_ = out.Write(append(row, r.Status, strconv.Itoa(r.Again), r.Peer))
	}
	out.Flush()
	return out.Error()
}

// rowName says what a row's number stands for.
type rowName struct {
	Host string `json:"host"`
	Name string `json:"name"`
}

func printRequestsJSON(w io.Writer, t *view.Timeline, list *view.RequestList) error {
	a := t.About()
	out := json.NewEncoder(w)
	for i := range list.Requests {
		p, err := t.Path(list.Requests[i].ID)
		if err != nil {
			return err
		}
		hosts := func(row int) string { return a.Hosts[a.Rows[row].Host].Name }
		rows := make(map[int]rowName)
		for _, piece := range p.Pieces {
			for _, row := range []int{piece.Row, piece.From} {
				if row >= 0 {
					rows[row] = rowName{hosts(row), a.Rows[row].Name}
				}
			}
		}
		err = out.Encode(struct {
			Client        string          `json:"client"`
			Server        string          `json:"server"`
			Origin        int64           `json:"origin,string"` // ns since 1970, of the instants
			Longest       string          `json:"longest"`
			LongestBeyond string          `json:"longest_beyond"`
			Path          *view.Path      `json:"path"`
			Rows          map[int]rowName `json:"rows"` // of the path's pieces
		}{cmp.Or(p.Request.ClientAddress, hosts(p.Request.Client)), cmp.Or(p.Request.ServerAddress, hosts(p.Request.Server)), int64(a.Origin), causeNames(t, p, p.Total), causeNames(t, p, p.Beyond), p, rows})
		if err != nil {
			return err
		}
	}
	return nil
}

func printGroups(w io.Writer, t *view.Timeline, list *view.RequestList, asJSON bool) error {
	hosts := t.About().Hosts
	client := func(g *view.RequestGroup) string { return cmp.Or(g.ClientAddress, hosts[g.Client].Name) }
	server := func(g *view.RequestGroup) string { return cmp.Or(g.ServerAddress, hosts[g.Server].Name) }
	if asJSON {
		out := json.NewEncoder(w)
		for _, g := range list.Groups {
			if err := out.Encode(struct {
				Name, Client, Server string
				Count                int
				P50, P90, P99, Most  int64
			}{g.Name, client(&g), server(&g), g.Count, g.P50, g.P90, g.P99, g.Most}); err != nil {
				return err
			}
		}
		return nil
	}
	out := csv.NewWriter(w)
	_ = out.Write([]string{"name", "client", "server", "requests", "p50_ns", "p90_ns", "p99_ns", "most_ns"}) // Flush has the error
	for _, g := range list.Groups {
		_ = out.Write([]string{g.Name, client(&g), server(&g), fmt.Sprint(g.Count), fmt.Sprint(g.P50), fmt.Sprint(g.P90), fmt.Sprint(g.P99), fmt.Sprint(g.Most)})
	}
	out.Flush()
	return out.Error()
}
