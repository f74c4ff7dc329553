package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect"
	"meridian/internal/collect/publish"
	"meridian/internal/collect/wire"
)

// timelineFlags say what 'meridian server' makes of the sessions that it stores.
type timelineFlags struct {
	sessions, http, tokenFile, otlp string
	latency                         time.Duration
}

func (f *timelineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.sessions, "timeline", "", "make the timeline of sessions while they are recorded: `on`, off, or names separated by commas (default: off without --http and --otlp)")
	flags.DurationVar(&f.latency, "latency", publish.DefaultLatency, "how long events of the timeline wait for earlier ones, `TIME` from 1ms to 1h")
	flags.StringVar(&f.http, "http", "", "serve sessions, their events and metrics at `ADDRESS`")
	flags.StringVar(&f.tokenFile, "http-token", "", "`FILE` with the token that --http asks for; needed beyond this machine")
	flags.StringVar(&f.otlp, "otlp", "", "export the timeline's slices as spans to the OTLP collector at `URL`, such as http://127.0.0.1:4318")
	completions(cmd, map[string]cobra.CompletionFunc{"timeline": choices("on", "off"), "latency": choices("2ms", "20ms", "100ms", "1s"),
		"http": choices("127.0.0.1:8090"), "otlp": choices("http://127.0.0.1:4318")})
}

// timelineServer is what runs beside the collection.
type timelineServer struct {
	publisher *publish.Publisher
	exporter  *publish.Exporter
	conn      *nats.Conn
	listener  net.Listener
	handler   http.Handler
}

// options checks the flags; nil where no timeline is wanted.
func (f *timelineFlags) options() (o *publish.Options, token string, err error) {
	if f.latency < time.Millisecond || f.latency > time.Hour {
		return nil, "", wrong("--latency %v: want a time from 1ms to 1h", f.latency)
	}
	if f.tokenFile != "" {
		b, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, "", wrong("--http-token: %v", err)
		}
		if token = strings.TrimSpace(string(b)); token == "" {
			return nil, "", wrong("--http-token: %s is empty", f.tokenFile)
		}
	}
	if f.http != "" {
		if err := publish.CheckListen(f.http, token); err != nil {
			return nil, "", wrong("--http: %v", err)
		}
	} else if f.tokenFile != "" {
		return nil, "", wrong("--http-token needs --http")
	}
	if f.otlp != "" {
		if u, err := url.Parse(f.otlp); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, "", wrong("--otlp %q: want a URL such as http://127.0.0.1:4318", f.otlp)
		}
	}
	o = &publish.Options{Latency: f.latency}
	switch f.sessions {
	case "":
		if f.http == "" && f.otlp == "" {
			return nil, "", nil
		}
	case "on":
	case "off":
		if f.http != "" || f.otlp != "" {
			return nil, "", wrong("--timeline off: --http and --otlp need a timeline")
		}
		return nil, "", nil
	default:
		for name := range strings.SplitSeq(f.sessions, ",") {
			if err := wire.CheckSession(name); err != nil {
				return nil, "", wrong("--timeline: %v", err)
			}
			o.Sessions = append(o.Sessions, name)
		}
	}
	return o, token, nil
}

// open prepares the timelines of what a server stores; nil where none are wanted. Connect returns a connection for them alone.
func (f *timelineFlags) open(o *publish.Options, token string, server *collect.Server, connect func() (*nats.Conn, error)) (_ *timelineServer, err error) {
	t := new(timelineServer)
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.conn, err = connect(); err != nil {
		return nil, err
	}
	o.Conn = t.conn
	if f.otlp != "" {
		t.exporter = publish.NewExporter(publish.ExporterOptions{URL: f.otlp, Log: o.Log})
		o.OTLP = t.exporter
	}
	if t.publisher, err = publish.New(*o); err != nil {
		return nil, err
	}
	if f.http == "" {
		return t, nil
	}
	if t.listener, err = net.Listen("tcp", f.http); err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	t.handler = t.publisher.Handler(token, func() (list []publish.Agent) {
		for _, a := range server.Agents() {
			if a.Session == "" {
				continue // it waits for commands
			}
			list = append(list, publish.Agent{Host: a.Host, Session: a.Session, Recorded: a.Recorded, Acknowledged: a.Acknowledged, Lost: a.Lost, Probing: a.Probing})
		}
		return list
	})
	o.Log("events and metrics: http://%s/sessions", t.listener.Addr())
	return t, nil
}

// run makes timelines until ctx ends.
func (t *timelineServer) run(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return t.publisher.Run(ctx) })
	if t.exporter != nil {
		all.Go(func() error { return t.exporter.Run(ctx) })
	}
	if t.listener != nil {
		s := &http.Server{Handler: t.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
			BaseContext: func(net.Listener) context.Context { return ctx }}
		all.Go(func() error {
			if err := s.Serve(t.listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		all.Go(func() error {
			<-ctx.Done()
			return s.Close()
		})
	}
	return all.Wait()
}

func (t *timelineServer) close() error {
	if t.conn != nil {
		t.conn.Close()
	}
	if t.listener != nil {
		if err := t.listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
	}
	return nil
}
