package tunnel

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// subjects are where a stream publishes and listens.
type subjects struct {
	c       *nats.Conn
	to      string
	replies string // of the broker's word that there is no listener
	frames  *nats.Subscription
	answers *nats.Subscription
}

// listen hands on the other end's frames from a subject, and the broker's answers.
func (s *subjects) listen(subject string, take func([]byte), answered nats.MsgHandler) (err error) {
	if s.frames, err = s.c.Subscribe(subject, func(m *nats.Msg) { take(m.Data) }); err != nil {
		return err
	}
	if s.answers, err = s.c.Subscribe(s.replies, answered); err == nil {
		err = s.c.Flush()
	}
	if err != nil {
		s.drop()
	}
	return err
}

// drop ends the subscriptions. The connection may be gone.
func (s *subjects) drop() {
	for _, sub := range []*nats.Subscription{s.frames, s.answers} {
		if sub != nil {
			_ = sub.Unsubscribe()
		}
	}
}

// catchUp waits until the frames that have come are handled: the client calls back each subscription by itself.
func catchUp(s *Stream) {
	for {
		waiting, _, gone := s.frames.Pending()
		delivered, _ := s.frames.Delivered() // of a subscription that ended, as the number before
		s.mu.Lock()
		done := gone != nil || waiting == 0 && s.handled == delivered || isClosed(s.over)
		s.mu.Unlock()
		if done {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// lost returns the error of a broken stream for its users; nil if it is not broken. The mutex is held.
func lost(s *Stream) error {
	var refused *RefusedError
	if s.err == nil || errors.As(s.err, &refused) {
		return s.err
	}
	return fmt.Errorf("the link to the %s is lost: %w", s.other, s.err)
}

// live says that this end is there, and breaks the stream when the other is not, until the stream is over or closed.
func live(s *Stream) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	var since time.Time // of the time without a connection
	for {
		select {
		case <-s.over:
			return
		case <-s.closed:
			return
		case now := <-tick.C:
			if s.c.IsConnected() {
				since = time.Time{}
			} else if since.IsZero() {
				since = now
			}
			s.say(kindAlive, nil)
			s.mu.Lock()
			switch {
			case !since.IsZero() && now.Sub(since) >= reconnectWithin:
				s.fail(errors.New("the connection to the broker is lost"))
			case now.Sub(s.heard) > silence:
				s.fail(fmt.Errorf("nothing was heard for %v", silence))
			}
			s.mu.Unlock()
		}
	}
}
