package daemons

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"meridian/internal/experiment/protocol"
)

// iperf3 is the load of the user's program iperf3, which must be installed where the daemon runs: without it the experiment does not begin.
var iperf3 = &standard{
	spec: protocol.Spec{Name: "iperf3", Doc: "bulk load by the program iperf3, which must be installed", Phases: []protocol.PhaseSpec{
		{Name: "serve", Doc: "listens from now on, for one sender at a time", With: []protocol.Param{{Name: "port", Doc: "of TCP (default 5201)"}}},
		{Name: "send", Doc: "sends; its result has sent_bytes, received_bytes, sent_bits_per_second, received_bits_per_second, retransmits", With: []protocol.Param{
			{Name: "to", Doc: "the host that serves", Required: true},
			{Name: "port", Doc: "of TCP (default 5201)"},
			{Name: "for", Doc: "seconds, such as 5s (default 1s)"},
			{Name: "bytes", Doc: "how much, instead of for"},
			{Name: "rate", Doc: "most bits per second (default: as much as the network takes)"},
		}},
	}},
	make: func(context.Context) (map[string]protocol.Phase, func(), error) {
		e, err := readEnvironment()
		if err != nil {
			return nil, nil, err
		}
		path, err := exec.LookPath("iperf3")
		if err != nil {
			return nil, nil, fmt.Errorf("%w; install it on host %s (Debian: apt-get install iperf3)", err, e.host)
		}
		s := &iperfHost{environment: e, program: path}
		return map[string]protocol.Phase{"serve": s.serve, "send": s.send}, s.end, nil
	},
}

const iperfPort = 5201

// iperfHost serves and sends.
type iperfHost struct {
	*environment
	program string
	server  *exec.Cmd
	drained chan struct{} // closed when all output of the server was read
}

func (s *iperfHost) serve(ctx context.Context, c *protocol.Call) (any, error) {
	with := struct {
		Port uint16 `json:"port"`
	}{iperfPort}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	if s.server != nil {
		return nil, errors.New("it serves already")
	}
	own, err := s.address(s.host)
	if err != nil {
		return nil, err
	}
	server := exec.Command(s.program, "--server", "--bind", own, "--port", strconv.Itoa(int(with.Port)), "--forceflush")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	s.server, s.drained = server, make(chan struct{})
	listens := make(chan struct{})
	go func() {
		defer close(s.drained)
		r := bufio.NewScanner(out)
		for open := true; open && r.Scan(); {
			if strings.Contains(r.Text(), "Server listening") {
				open = false
				close(listens)
			}
		}
		if err := r.Err(); err != nil {
			fmt.Fprintln(os.Stderr, "reading what iperf3 --server prints:", err)
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case <-listens:
		return nil, nil
	case <-s.drained:
		return nil, errors.New("iperf3 --server has ended: its log says why")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end ends the server.
func (s *iperfHost) end() {
	if s.server != nil {
		_ = s.server.Process.Kill()
		<-s.drained
		_ = s.server.Wait()
	}
}

// iperfSent is the result of send.
type iperfSent struct {
	SentBytes             int64   `json:"sent_bytes"`
	ReceivedBytes         int64   `json:"received_bytes"`
	SentBitsPerSecond     float64 `json:"sent_bits_per_second"`
	ReceivedBitsPerSecond float64 `json:"received_bits_per_second"`
	Retransmits           int64   `json:"retransmits"`
}

func (s *iperfHost) send(ctx context.Context, c *protocol.Call) (any, error) {
	with := struct {
		To    string `json:"to"`
		Port  uint16 `json:"port"`
		For   string `json:"for"`
		Bytes int64  `json:"bytes"`
		Rate  int64  `json:"rate"`
	}{Port: iperfPort, For: "1s"}
	if err := c.Bind(&with); err != nil {
		return nil, err
	}
	address, err := s.address(with.To)
	if err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	d, err := time.ParseDuration(with.For)
	switch {
	case err != nil || d < time.Second || d%time.Second != 0:
		return nil, fmt.Errorf("for: %q: want whole seconds such as 5s, as iperf3 does", with.For)
	case with.Bytes < 0 || with.Rate < 0:
		return nil, fmt.Errorf("bytes: %d, rate: %d: want 0 or more", with.Bytes, with.Rate)
	}
	args := []string{"--client", address, "--port", strconv.Itoa(int(with.Port)), "--json"}
	if with.Bytes > 0 {
		args = append(args, "--bytes", strconv.FormatInt(with.Bytes, 10))
	} else {
		args = append(args, "--time", strconv.FormatInt(int64(d/time.Second), 10))
	}
	if with.Rate > 0 {
		args = append(args, "--bitrate", strconv.FormatInt(with.Rate, 10))
	}
	client := exec.CommandContext(ctx, s.program, args...)
	client.Stderr = os.Stderr
	out, failed := client.Output()
	return readIperf(out, failed)
}

// readIperf reads what iperf3 --json wrote. It says there why it failed.
func readIperf(out []byte, failed error) (*iperfSent, error) {
	type sum struct {
		Bytes         int64   `json:"bytes"`
		BitsPerSecond float64 `json:"bits_per_second"`
		Retransmits   int64   `json:"retransmits"`
	}
	var said struct {
		Error string `json:"error"`
		End   struct {
			Sent     *sum `json:"sum_sent"`
			Received *sum `json:"sum_received"`
		} `json:"end"`
	}
	err := json.Unmarshal(out, &said)
	switch {
	case said.Error != "":
		return nil, fmt.Errorf("iperf3: %s", said.Error)
	case failed != nil:
		return nil, fmt.Errorf("iperf3: %w", failed)
	case err != nil:
		return nil, fmt.Errorf("iperf3 --json: %w", err)
	case said.End.Sent == nil || said.End.Received == nil:
		return nil, errors.New("iperf3 --json: no sum_sent or no sum_received")
	}
	sent, received := said.End.Sent, said.End.Received
	return &iperfSent{sent.Bytes, received.Bytes, sent.BitsPerSecond, received.BitsPerSecond, sent.Retransmits}, nil
}
