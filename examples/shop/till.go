package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/sensor"
)

// subject is where orders go; one of the workers takes each.
const subject = "orders"

// tagHeader carries the tag of a message, by which its two ends are found in the traces.
const tagHeader = "Meridian-Tag"

// The two messages of an order: marks with names of their own.
var (
	request = sensor.NewMark("shop", "order")
	answer  = sensor.NewMark("shop", "answer")
)

var (
	ordered  = sensor.NewEvent2[int64, string]("shop", "ordered", "order", "item")
	sold     = sensor.NewEvent1[int64]("shop", "sold", "order")
	checkout = sensor.NewSlice2[int64, string]("shop", "checkout", "order", "item")
)

// till serves customers, one after the other.
func till(ctx context.Context, s settings) error {
	broker, err := nats.Connect(s.nats)
	if err != nil {
		return fmt.Errorf("%s: %w", s.nats, err)
	}
	defer broker.Close()
	items := []string{"lamp", "lamp", "chair"} // everybody wants the lamp
	next := time.NewTicker(s.every)
	defer next.Stop()
	for i := range s.orders {
		if err := buy(ctx, broker, int64(s.first+i), items[i%len(items)]); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
	}
	return nil
}

// buy orders an item and waits until it is sold.
func buy(ctx context.Context, broker *nats.Conn, order int64, item string) error {
	defer checkout.Begin(order, item).End()
	ordered.Emit(order, item)
	tag := sensor.NewTag()
	m := nats.NewMsg(subject)
	m.Header.Set(tagHeader, tag.String())
	m.Data = fmt.Appendf(nil, "%d %s", order, item)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request.Send(tag.ID())
	reply, err := broker.RequestMsgWithContext(ctx, m)
	if err != nil {
		return fmt.Errorf("order %d: %w", order, err)
	}
	if tag, err := sensor.ParseTag(reply.Header.Get(tagHeader)); err == nil {
		answer.Receive(tag.ID())
	}
	sold.Emit(order)
	if string(reply.Data) != "sold" {
		return fmt.Errorf("order %d: %s", order, reply.Data)
	}
	return nil
}
