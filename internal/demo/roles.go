package demo

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// demoHosts are the hosts of the demo, each asking the next.
var demoHosts = []string{"web", "app", "db"}

// pages are what users ask for.
var pages = []string{"/", "/search", "/item", "/cart"}

// minRequests is how many requests each user makes at least, also when the time is up: on a busy machine no host may have
// run by then, and without messages there is no timeline.
const minRequests = 3

// web is several users. Each sends a request, waits for the reply and pauses.
func (h *actor) web(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	end := time.Now().Add(h.order.Duration)
	for user := range h.order.Callers {
		group.Go(func() error {
			d := h.newDiary("user", user+1)
			app, err := h.call(ctx, "app", d)
			if err != nil {
				return err
			}
			defer app.Close()
			random := h.random(uint64(user))
			for asked := 0; ; asked++ {
				thinking := random.pause(50 * time.Millisecond)
				if asked >= minRequests && time.Now().Add(thinking).After(end) {
					return nil
				}
				if err := pause(ctx, thinking); err != nil {
					return err
				}
				number := uint64(user + asked*h.order.Callers)
				page := pages[random.IntN(len(pages))]
				if err := d.do("GET "+page, func() error { return app.ask(demoRequest, number, demoReply) }); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// app answers one user with what it asks the database for, once or several times.
func (h *actor) app(ctx context.Context, web *conn, number uint64) error {
	db, err := h.call(ctx, "db", web.diary)
	if err != nil {
		return err
	}
	defer db.Close()
	random, d := h.random(number), web.diary
	for query := number << 32; ; { // no two threads of this host number queries alike
		request, err := web.receive(demoRequest)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		d.begin("handle", web.at, map[string]any{"request": request})
		for range 1 + random.IntN(3) {
			if err := d.do("compute", func() error { return pause(ctx, random.pause(time.Millisecond)) }); err != nil {
				return err
			}
			query++
			if err := d.do("ask db", func() error { return db.ask(demoQuery, query, demoAnswer) }); err != nil {
				return err
			}
		}
		if err := web.send(demoReply, request); err != nil {
			return err
		}
		d.end("handle")
	}
}

// db answers one connection of the application's.
func (h *actor) db(ctx context.Context, app *conn, number uint64) error {
	random, d := h.random(number), app.diary
	for {
		query, err := app.receive(demoQuery)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		d.begin("execute", app.at, nil)
		if err := d.do("read rows", func() error { return pause(ctx, random.pause(2*time.Millisecond)) }); err != nil {
			return err
		}
		if err := app.send(demoAnswer, query); err != nil {
			return err
		}
		d.end("execute")
	}
}

// source is the luck of one connection.
type source struct{ *rand.Rand }

func (h *actor) random(connection uint64) source {
	return source{rand.New(rand.NewPCG(h.order.Seed, connection<<8+uint64(len(h.name))))}
}

// pause draws a length of the given mean, as people and queues take it, but none that would bore a spectator.
func (r source) pause(mean time.Duration) time.Duration {
	return time.Duration(float64(mean) * min(r.ExpFloat64(), 5))
}

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pause: %w", context.Cause(ctx))
	}
}
