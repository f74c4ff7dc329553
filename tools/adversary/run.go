package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// runLimit is how long the command may take for a world; one takes some 50 ms.
const runLimit = 3 * time.Minute

// Outcome is what the command said of a world.
type Outcome struct {
	Exit     int
	Stderr   string
	Rows     []Row
	Ends     []Row // of captures: rows of messages, beside those of their packets
	Hosts    map[string]HostReport
	Warnings []string
	Took     time.Duration
}

// Row is one event as the table of events has it.
type Row struct {
	Host     string
	Recorded int64
	Low      int64
	High     int64
	Bounded  bool // a bound is there; a side without one reaches to infinity
	Number   int  // of a packet in its capture, from 1; 0 for a row of a list
}

// HostReport is what the report says of a host.
type HostReport struct {
	Name      string
	Component int
	Reference string
	Bound     *int64 `json:"bound_ns"`
}

// command runs an executable on worlds.
type command struct {
	path  string
	flags map[string]bool // the long flags that its help names
}

// newCommand asks the executable which flags of align it knows: worlds state what can be stated.
func newCommand(path string) (*command, error) {
	out, err := exec.Command(path, "align", "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("%s align --help: %w", path, err)
	}
	c := &command{path: path, flags: map[string]bool{}}
	for _, word := range strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" \n,=[", r) }) {
		if strings.HasPrefix(word, "--") {
			c.flags[word] = true
		}
	}
	return c, nil
}

// arguments are those of the command for inputs; options with flags that it does not know are left out.
func (c *command) arguments(w *World, inputs []string) []string {
	args := append([]string{"align"}, inputs...)
	for i := 0; i+1 < len(w.Options); i += 2 {
		if c.flags[w.Options[i]] {
			args = append(args, w.Options[i], w.Options[i+1])
		}
	}
	return append(args, "-o", "events.csv", "-o", "report.json")
}

// run aligns the inputs in dir.
func (c *command) run(w *World, dir string, inputs []string) (*Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, c.arguments(w, inputs)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begin := time.Now()
	err := cmd.Run()
	o := &Outcome{Stderr: stderr.String(), Took: time.Since(begin)}
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return o, fmt.Errorf("not done after %v", runLimit)
	}
	if errors.As(err, &exit) {
		o.Exit = exit.ExitCode()
	} else if err != nil {
		return o, err
	}
	if strings.Contains(o.Stderr, "panic:") || strings.Contains(o.Stderr, "goroutine ") || o.Exit < 0 || o.Exit > 3 {
		return o, fmt.Errorf("exit code %d: %s", o.Exit, firstLines(o.Stderr, 3))
	}
	if o.Exit == 1 || o.Exit == 2 {
		return o, nil
	}
	return o, o.read(dir)
}

// read reads the command's outputs.
func (o *Outcome) read(dir string) error {
	if err := o.readReport(filepath.Join(dir, "report.json")); err != nil {
		return err
	}
	return o.readRows(filepath.Join(dir, "events.csv"))
}

func (o *Outcome) readReport(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var report struct {
		Hosts    []HostReport
		Warnings []string
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return fmt.Errorf("report.json: %w", err)
	}
	o.Hosts, o.Warnings = map[string]HostReport{}, report.Warnings
	for _, h := range report.Hosts {
		o.Hosts[h.Name] = h
	}
	return nil
}

// readRows reads the events of the table; the samples of the bound that it contains as well are none.
func (o *Outcome) readRows(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.ReuseRecord = true
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("events.csv: %w", err)
	}
	column := map[string]int{}
	for i, name := range header {
		column[name] = i
	}
	var columns [7]int
	for i, name := range []string{"host", "recorded_ns", "low_ns", "high_ns", "row_kind", "event", "number"} {
		at, ok := column[name]
		if columns[i] = -1; !ok && name == "number" {
			continue
		}
		if !ok {
			return fmt.Errorf("events.csv: no column %s", name)
		}
		columns[i] = at
	}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("events.csv: %w", err)
		}
		if record[columns[4]] == "bounds" {
			continue
		}
		row, err := newRow(record, columns)
		if err != nil {
			return fmt.Errorf("events.csv: %w", err)
		}
		// A packet's row and that of the message that it is an end of are one event.
		if columns[6] >= 0 && record[columns[5]] != "packet" {
			o.Ends = append(o.Ends, row)
		} else {
			o.Rows = append(o.Rows, row)
		}
	}
}

// newRow reads a row of the table; columns are those of readRows.
func newRow(record []string, columns [7]int) (Row, error) {
	row := Row{Host: strings.Clone(record[columns[0]]), Low: minInt64, High: maxInt64}
	var err error
	if row.Recorded, err = strconv.ParseInt(record[columns[1]], 10, 64); err != nil {
		return row, err
	}
	if low := record[columns[2]]; low != "" {
		row.Bounded = true
		if row.Low, err = strconv.ParseInt(low, 10, 64); err != nil {
			return row, err
		}
	}
	if high := record[columns[3]]; high != "" {
		row.Bounded = true
		if row.High, err = strconv.ParseInt(high, 10, 64); err != nil {
			return row, err
		}
	}
	if row.Low > row.High {
		return row, fmt.Errorf("low_ns %d is above high_ns %d at stamp %d of %s", row.Low, row.High, row.Recorded, row.Host)
	}
	if columns[6] >= 0 && record[columns[6]] != "" {
		row.Number, err = strconv.Atoi(record[columns[6]])
	}
	return row, err
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(s), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], " | ")
}
