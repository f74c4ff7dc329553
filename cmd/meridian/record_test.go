//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"meridian/sensor"
)

func init() {
	processes["emit"], processes["chat"], processes["waiter"], processes["number"] = emit, chat, waiter, number
	processes["meridian-sealing"] = func() { // meridian, of which a kill meets the writing of the index
		sealInterval = 50 * time.Millisecond
		main()
	}
	processes["meridian-spilling"] = func() { // meridian, of which a kill meets arrays in files
		spillAll = true
		main()
	}
	processes["meridian-patient"] = func() { // meridian, to which signals of one minute are the same, however busy the machine is
		sameSignal = time.Minute
		main()
	}
}

var emitted = sensor.NewEvent2[int, string]("test", "number", "n", "text")

// emit is a program with sensors:
//
//	emit N              emits N events, if somebody switched its sensors on
//	emit N CODE         and ends with this code
//	emit N interrupt    and has who started it end, and ends when it is told to itself
//	emit N small DIR    emits them into a ring in DIR that is too small for many
//	emit N start        starts and stops recording itself
//	emit N record DIR   writes a trace of its own
func emit() {
	n, err := strconv.Atoi(os.Args[1])
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "emit:", err)
			os.Exit(99)
		}
	}
	check(err)
	what := ""
	if len(os.Args) > 2 {
		what = os.Args[2]
	}
	if what == "small" {
		check(sensor.Start(sensor.Options{Dir: os.Args[3], Buffers: 2, BufferSize: 4096}))
	}
	switch what {
	case "start":
		check(sensor.Start(sensor.Options{}))
		defer func() { check(sensor.Stop()) }()
	case "record":
		stop, err := sensor.Record(os.Args[3], sensor.Options{})
		check(err)
		defer func() { check(stop()) }()
	}
	for i := range n {
		emitted.Emit(i, "event")
	}
	fmt.Println("emitted", n)
	switch what {
	case "", "small", "start", "record":
		return
	case "interrupt":
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, syscall.SIGTERM)
		check(syscall.Kill(os.Getppid(), syscall.SIGTERM)) // an interrupt, where this runs at a terminal, is for all there
		<-interrupted
		return
	}
	code, err := strconv.Atoi(what)
	check(err)
	os.Exit(code)
}

// chat PORT N sends N datagrams to itself, to a port of 127.0.0.1.
func chat() {
	to, err := net.ListenPacket("udp", "127.0.0.1:"+os.Args[1])
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "chat:", err)
			os.Exit(99)
		}
	}
	check(err)
	n, err := strconv.Atoi(os.Args[2])
	check(err)
	b := make([]byte, 64)
	for i := range n {
		binary.BigEndian.PutUint32(b, uint32(i))
		_, err := to.WriteTo(b, to.LocalAddr())
		check(err)
		_, _, err = to.ReadFrom(b)
		check(err)
	}
}

// waiter emits an event and waits for the end of its input.
func waiter() {
	emitted.Emit(1, "waiting")
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// number emits its numbered events every millisecond into a ring until its standard input ends, and prints how many there were. The numbers begin
// with NUMBER_FROM, 0 without it. With NUMBER_SMALL the ring has room for few.
func number() {
	from, _ := strconv.Atoi(os.Getenv("NUMBER_FROM"))
	o := sensor.Options{Dir: os.Getenv("NUMBER_RINGS")}
	if os.Getenv("NUMBER_SMALL") != "" {
		o.Buffers, o.BufferSize = 2, 4096
	}
	if err := sensor.Start(o); err != nil {
		fmt.Fprintln(os.Stderr, "number:", err)
		os.Exit(99)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for i := 0; ; i++ {
		select {
		case <-ended:
			if err := sensor.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, "number:", err)
				os.Exit(99)
			}
			fmt.Println(i)
			return
		case <-time.After(time.Millisecond):
			emitted.Emit(from+i, "event")
		}
	}
}
