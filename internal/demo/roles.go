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

// minRequests is how many requests each user makes at least, also when the time is up: on a busy machine no host may have
// run by then, and without messages there is no timeline.
const minRequests = 3

// web is several users. Each sends a request, waits for the reply and pauses.
func (h *actor) web(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	end := time.Now().Add(h.order.Duration)
	for user := range h.order.Callers {
		group.Go(func() error {
			app, err := h.call(ctx, "app")
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
				if err := app.ask(demoRequest, number, demoReply); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// app answers one user with what it asks the database for, once or several times.
func (h *actor) app(ctx context.Context, web *conn, number uint64) error {
	db, err := h.call(ctx, "db")
	if err != nil {
		return err
	}
	defer db.Close()
	random := h.random(number)
	for query := uint64(0); ; {
		request, err := web.receive(demoRequest)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for range 1 + random.IntN(3) {
			if err := pause(ctx, random.pause(time.Millisecond)); err != nil {
				return err
			}
			query++
			if err := db.ask(demoQuery, query, demoAnswer); err != nil {
				return err
			}
		}
		if err := web.send(demoReply, request); err != nil {
			return err
		}
	}
}

// db answers one connection of the application's.
func (h *actor) db(ctx context.Context, app *conn, number uint64) error {
	random := h.random(number)
	for {
		query, err := app.receive(demoQuery)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := pause(ctx, random.pause(2*time.Millisecond)); err != nil {
			return err
		}
		if err := app.send(demoAnswer, query); err != nil {
			return err
		}
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
