package session_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/session"
	"meridian/internal/collect/wire"
)

// An agent that falls silent before servers have everything is a problem of its session; one that has ended is none.
func TestASilentAgentWithMoreToSendIsAProblem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.connect()
	d := session.NewDirector(session.Options{Conn: l.connect(), Server: "a", Registry: open(t, t.TempDir()), Log: t.Logf,
		Stored: func() (map[string]map[string]int64, error) {
			return map[string]map[string]int64{"night": {"web": 5, "db": 7, "mail": 9}}, nil
		},
		Lacking: func() func(string) string {
			return func(host string) string {
				if host == "mail" {
					return "it has no key"
				}
				return ""
			}
		}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	l.settled("a")
	for _, s := range []wire.AgentStatus{
		{Host: "web", Recorded: 10, Acknowledged: 5}, {Host: "db", Recorded: 7, Acknowledged: 7, Ended: true}, {Host: "mail", Recorded: 10, Acknowledged: 9, Ended: true},
	} {
		s.Version, s.Session = wire.Version, "night"
		if err := c.Publish(wire.OfHost(s.Host, "alive"), wire.Encode(s)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"web": "nothing is heard of its agent since 20", "db": "", "mail": "it has no key"}
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		m, err := c.Request(wire.ControlSessions, nil, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		list, err := wire.Decode[wire.SessionList](m.Data)
		if err != nil || len(list.Sessions) != 1 || len(list.Sessions[0].Stats) != 3 {
			t.Fatalf("%v: %s", err, m.Data)
		}
		good := 0
		for _, h := range list.Sessions[0].Stats {
			if problem := want[h.Host]; strings.HasPrefix(h.Error, problem) && (problem != "" || h.Error == "") && (h.State == wire.StateAway) == (problem != "") {
				good++
			}
			if h.State == wire.StateAway && h.Waiting == 0 {
				t.Errorf("%+v: nothing waits", h)
			}
		}
		if good == 3 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s", m.Data)
		}
	}
}

// Of several servers, one may have begun after the agent fell silent: what the other has heard counts. An agent that speaks has no such problem.
func TestOfASilentHostTheServerThatHeardItIsBelieved(t *testing.T) {
	t.Parallel()
	of := func(state wire.StateName, problem string, recorded int64) wire.SessionList {
		h := wire.SessionOfHost{HostState: wire.HostState{Host: "web", State: state, Error: problem}, Recorded: recorded, Stored: 1, Servers: 1}
		return wire.SessionList{Sessions: []wire.SessionStatus{{Session: wire.Session{Name: "night"}, State: wire.SessionRunning, Stats: []wire.SessionOfHost{h}}}}
	}
	heard, began, stored, speaks := of(wire.StateAway, "silent since noon", 10), of(wire.StateAway, "not heard since the server began", 0), of(wire.StateStored, "", 0), of(wire.StateRecording, "", 10)
	for _, c := range []struct {
		lists []wire.SessionList
		want  string
		state wire.StateName
	}{
		{[]wire.SessionList{heard, began}, "silent since noon", wire.StateAway}, {[]wire.SessionList{began, heard}, "silent since noon", wire.StateAway},
		{[]wire.SessionList{stored, heard}, "silent since noon", wire.StateAway}, {[]wire.SessionList{heard, stored}, "silent since noon", wire.StateAway},
		{[]wire.SessionList{heard, speaks}, "", wire.StateRecording}, {[]wire.SessionList{speaks, heard}, "", wire.StateRecording}, {[]wire.SessionList{speaks, began}, "", wire.StateRecording},
	} {
		got := session.Join(c.lists)[0].Stats[0]
		if got.Error != c.want || got.State != c.state || got.Servers != 2 {
			t.Errorf("%+v, want %s: %q", got, c.state, c.want)
		}
	}
}
