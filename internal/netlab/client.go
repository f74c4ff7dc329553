//go:build unix

package netlab

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// lossPatience is how long an answer to a datagram is waited for. On virtual wires it takes microseconds.
const lossPatience = 100 * time.Millisecond

// talk is the client's work: it reads its errand and does all of it at once.
func talk(orders io.Reader) error {
	var e errand
	if err := json.NewDecoder(orders).Decode(&e); err != nil {
		return err
	}
	var jobs []func() error
	for _, n := range e.Bulk {
		jobs = append(jobs, func() error { return e.bulk(n) })
	}
	for range e.Chats {
		jobs = append(jobs, e.chat)
	}
	jobs = append(jobs, e.reuse, e.datagrams, e.pings, e.queries)
	failures := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, job := range jobs {
		all.Go(func() { failures[i] = job() })
	}
	all.Wait()
	return errors.Join(failures...)
}

// paced calls each so many times, evenly over the errand's duration.
func (e *errand) paced(times int, each func(i int) error) error {
	if times == 0 {
		return nil
	}
	beat := time.NewTicker(max(e.Over/time.Duration(times), time.Nanosecond))
	defer beat.Stop()
	for i := range times {
		if err := each(i); err != nil {
			return err
		}
		<-beat.C
	}
	return nil
}

func (e *errand) dial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", e.Server.String(), patience)
	if err == nil {
		c.SetDeadline(time.Now().Add(patience + e.Over))
	}
	return c, err
}

func wish(c net.Conn, what byte, n int64) error {
	_, err := c.Write(binary.BigEndian.AppendUint64([]byte{what}, uint64(n)))
	return err
}

func (e *errand) bulk(n int64) error {
	c, err := e.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := wish(c, up, n); err != nil {
		return err
	}
	if err := pour(c, n); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		return err
	}
	if err := wish(c, down, n); err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, c, n)
	return err
}

func (e *errand) chat() error {
	c, err := e.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := wish(c, chat, int64(e.Requests)); err != nil {
		return err
	}
	request, answer := make([]byte, requestSize), make([]byte, answerSize)
	return e.paced(e.Requests, func(int) error {
		if _, err := c.Write(request); err != nil {
			return err
		}
		_, err := io.ReadFull(c, answer)
		return err
	})
}

// reuse makes connections of equal addresses and ports, each after the last has ended. The server closes first and
// keeps the waiting state (RFC 9293, TIME-WAIT), from which a new SYN may wake the connection.
func (e *errand) reuse() error {
	from := &net.TCPAddr{Port: 20000} // below those that the system gives to others
	dialer := net.Dialer{LocalAddr: from, Timeout: patience, ControlContext: shared}
	for range e.Reuses {
		c, err := dialer.Dial("tcp", e.Server.String())
		for limit := time.Now().Add(patience); errors.Is(err, syscall.EADDRNOTAVAIL) && time.Now().Before(limit); {
			// The last acknowledgement of the connection before is still on its way, or lost.
			<-time.After(5 * time.Millisecond)
			c, err = dialer.Dial("tcp", e.Server.String())
		}
		if err != nil {
			return err
		}
		c.SetDeadline(time.Now().Add(patience))
		err = wish(c, depart, 3000)
		if err == nil {
			_, err = io.Copy(io.Discard, c)
		}
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// shared lets a socket take a local port that an earlier connection still holds.
func shared(_ context.Context, _, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	})
	return errors.Join(err, failed)
}

// datagrams sends UDP requests with random payloads of random lengths. The first of each ten has no life of its own: a
// keep-alive that only its IP identification tells from the others.
func (e *errand) datagrams() error {
	c, err := net.Dial("udp", e.Server.String())
	if err != nil {
		return err
	}
	defer c.Close()
	random := rand.New(rand.NewPCG(1, uint64(e.Datagrams)))
	answer := make([]byte, 1<<16)
	return e.paced(e.Datagrams, func(i int) error {
		request := []byte("still here")
		if i%10 != 0 {
			request = make([]byte, 8+random.IntN(1200))
			for j := range request {
				request[j] = byte(random.Uint32())
			}
		}
		if _, err := c.Write(request); err != nil {
			return err
		}
		c.SetReadDeadline(time.Now().Add(lossPatience))
		_, err := c.Read(answer)
		return unlessLost(err)
	})
}

const (
	queryAlike   = 100 // bytes that all attempts of a query have in common
	queryRetry   = 20 * time.Millisecond
	queryTries   = 4
	queryTwice   = 2 // each so many is asked twice at once, as impatient resolvers do
	queryBetween = 350 * time.Microsecond
)

// queries asks one question after the other. Its attempts differ in their last bytes alone.
func (e *errand) queries() error {
	attempts := uint64(0)
	return e.paced(e.Queries, func(i int) error {
		c, err := net.Dial("udp", e.Server.String())
		if err != nil {
			return err
		}
		defer c.Close()
		answer := make([]byte, 1<<16)
		ask := func() error {
			q := binary.BigEndian.AppendUint64(nil, uint64(i)<<8|1)
			q = append(q, make([]byte, queryAlike-len(q))...)
			attempts++
			_, err := c.Write(binary.BigEndian.AppendUint64(q, attempts))
			return err
		}
		for range queryTries {
			if err := ask(); err != nil {
				return err
			}
			if i%queryTwice == 0 {
				<-time.After(queryBetween)
				if err := ask(); err != nil {
					return err
				}
			}
			c.SetReadDeadline(time.Now().Add(queryRetry))
			if _, err := c.Read(answer); err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
		}
		return nil
	})
}

func unlessLost(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// pings sends ICMP echo requests, which the other kernel answers.
func (e *errand) pings() error {
	network, request := "ip4:icmp", byte(8)
	if e.Target.Is6() {
		network, request = "ip6:ipv6-icmp", 128
	}
	if e.Pings == 0 {
		return nil
	}
	c, err := net.Dial(network, e.Target.String())
	if err != nil {
		return err
	}
	defer c.Close()
	answer := make([]byte, 1<<16)
	return e.paced(e.Pings, func(i int) error {
		p := make([]byte, 64)
		p[0] = request
		binary.BigEndian.PutUint16(p[4:], uint16(os.Getpid()))
		binary.BigEndian.PutUint16(p[6:], uint16(i+1))
		copy(p[8:], fmt.Sprintf("ping %d", i))
		if e.Target.Is4() { // for IPv6 the kernel does it
			binary.BigEndian.PutUint16(p[2:], internetChecksum(p))
		}
		if _, err := c.Write(p); err != nil {
			return err
		}
		c.SetReadDeadline(time.Now().Add(lossPatience))
		_, err := c.Read(answer)
		return unlessLost(err)
	})
}

// internetChecksum is that of RFC 1071 over an even number of bytes.
func internetChecksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
