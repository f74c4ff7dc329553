package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/nats-io/nats.go"

	"meridian/sensor"
	"meridian/sensor/sensorhttp"
)

var (
	handle = sensor.NewSlice2[int64, string]("shop", "handle", "order", "item")
	lock   = sensor.NewSlice1[string]("shop", "wait_for_lock", "item")
	pay    = sensor.NewSlice1[int64]("shop", "pay", "order")
)

// workplace is what a worker works with.
type workplace struct {
	stock redis.Conn
	bank  *http.Client
	url   string // of the bank
}

// worker takes orders, one at a time. The lock of an item is a list in Redis with one element: who takes it out has the lock.
func worker(ctx context.Context, s settings) error {
	stock, err := redis.DialContext(ctx, "tcp", s.redis)
	if err != nil {
		return fmt.Errorf("%s: %w", s.redis, err)
	}
	defer stock.Close()
	w := workplace{stock: stock, bank: &http.Client{Transport: &sensorhttp.Transport{}}, url: s.bank}
	broker, err := nats.Connect(s.nats)
	if err != nil {
		return fmt.Errorf("%s: %w", s.nats, err)
	}
	defer broker.Close()
	orders := make(chan *nats.Msg, 100) // taken in, and not yet handled
	_, err = broker.QueueSubscribe(subject, "workers", func(m *nats.Msg) {
		if tag, err := sensor.ParseTag(m.Header.Get(tagHeader)); err == nil {
			request.Receive(tag.ID())
		}
		orders <- m
	})
	if err != nil {
		return err
	}
	if err := broker.Flush(); err != nil {
		return err
	}
	fmt.Println("waits for orders")
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-orders:
			if err := w.order(ctx, m); err != nil {
				fmt.Println(err)
			}
		}
	}
}

// order handles an order, and answers.
func (w *workplace) order(ctx context.Context, m *nats.Msg) error {
	var order int64
	var item string
	text := "sold"
	_, err := fmt.Sscanf(string(m.Data), "%d %s", &order, &item)
	if err == nil {
		err = w.sell(ctx, order, item)
	}
	if err != nil {
		text = err.Error()
	}
	tag := sensor.NewTag()
	reply := nats.NewMsg(m.Reply)
	reply.Header.Set(tagHeader, tag.String())
	reply.Data = []byte(text)
	answer.Send(tag.ID())
	return m.RespondMsg(reply)
}

// sell takes the money for an item and the item from the stock. Meanwhile nobody else may sell one.
func (w *workplace) sell(ctx context.Context, order int64, item string) error {
	defer handle.Begin(order, item).End()
	begin := time.Now()
	waited, err := w.lock(ctx, item)
	if err != nil {
		return err
	}
	paid, err := w.pay(order)
	if err == nil {
		_, err = redis.DoContext(w.stock, ctx, "DECR", "stock:"+item)
	}
	if _, failed := redis.DoContext(w.stock, ctx, "LPUSH", "lock:"+item, "free"); err == nil {
		err = failed
	}
	fmt.Printf("order %d: %.1f ms, of these %.1f for the lock of the %s and %.1f for the bank\n",
		order, ms(time.Since(begin)), ms(waited), item, ms(paid))
	return err
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func (w *workplace) lock(ctx context.Context, item string) (waited time.Duration, err error) {
	defer lock.Begin(item).End()
	begin := time.Now()
	_, err = redis.DoContext(w.stock, ctx, "BLPOP", "lock:"+item, 0)
	return time.Since(begin), err
}

func (w *workplace) pay(order int64) (took time.Duration, err error) {
	defer pay.Begin(order).End()
	begin := time.Now()
	reply, err := w.bank.Post(w.url+"/charge", "text/plain", strings.NewReader(fmt.Sprint(order)))
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return 0, err
	}
	if reply.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("order %d: the bank says %s", order, reply.Status)
	}
	return time.Since(begin), nil
}
