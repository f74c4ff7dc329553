//go:build unix

package netlab

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// What a client asks for in the nine bytes with which a TCP connection begins: one of these, and a number n.
const (
	up     = 'u' // client sends n bytes, server one
	down   = 'd' // server sends n bytes
	chat   = 'c' // n requests, each answered
	depart = 'r' // server sends n bytes and is the first to close
)

const (
	requestSize = 120
	answerSize  = 900
)

// patience is how long any one thing may take in the lab before it counts as lost or stuck.
const patience = 60 * time.Second

// serve is the server's work: it reads its port, says "ready" and serves until its input ends.
func serve(orders io.Reader, answers io.Writer) error {
	in := bufio.NewReader(orders)
	var port int
	if _, err := fmt.Fscanln(in, &port); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	datagrams, err := net.ListenPacket("udp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				failed <- err
				return
			}
			// A client that lost a connection says so itself.
			go attend(c)
		}
	}()
	go func() { failed <- echo(datagrams) }()
	go func() {
		_, err := io.Copy(io.Discard, in)
		failed <- err
	}()
	fmt.Fprintln(answers, "ready")
	return <-failed
}

// attend serves one TCP connection, of as many wishes as the client has.
func attend(c net.Conn) error {
	defer c.Close()
	in := bufio.NewReaderSize(c, 1<<16)
	for {
		c.SetDeadline(time.Now().Add(patience))
		var wish [9]byte
		if _, err := io.ReadFull(in, wish[:]); err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint64(wish[1:]))
		var err error
		switch wish[0] {
		case up:
			if _, err = io.CopyN(io.Discard, in, n); err == nil {
				_, err = c.Write(wish[:1])
			}
		case down:
			err = pour(c, n)
		case depart:
			return pour(c, n)
		case chat:
			answer := make([]byte, answerSize)
			for i := int64(0); i < n && err == nil; i++ {
				c.SetDeadline(time.Now().Add(patience))
				if _, err = io.CopyN(io.Discard, in, requestSize); err == nil {
					_, err = c.Write(answer)
				}
			}
		default:
			err = errors.New("unknown request")
		}
		if err != nil {
			return err
		}
	}
}

// pour writes n bytes.
func pour(w io.Writer, n int64) error {
	block := make([]byte, 1<<16)
	for n > 0 {
		k := min(n, int64(len(block)))
		if _, err := w.Write(block[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// echo answers each datagram with its complement, so that no answer looks like a request.
func echo(c net.PacketConn) error {
	b := make([]byte, 1<<16)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return err
		}
		for i := range b[:n] {
			b[i] = ^b[i]
		}
		if _, err := c.WriteTo(b[:n], from); err != nil {
			return err
		}
	}
}
