package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"meridian/internal/collect/broker"
)

func init() {
	processes["chaos-broker"], processes["chaos-sloth"], processes["chaos-get"] = chaosBroker, chaosSloth, chaosGet
}

// chaosBroker is a broker in a process of its own, at an address.
func chaosBroker() {
	b, err := broker.Start(broker.Options{Listen: os.Args[1], Name: "chaos"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(b.URL())
	select {} // until it is killed
}

// chaosGet prints what is at a URL.
func chaosGet() {
	r, err := http.Get(os.Args[1])
	if err == nil {
		defer r.Body.Close()
		_, err = io.Copy(os.Stdout, r.Body)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// chaosSloth subscribes to all that servers publish of sessions, again and again, and reads none of it.
func chaosSloth() {
	for ; ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", os.Args[1])
		if err != nil {
			continue
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		_, err = io.WriteString(c, "CONNECT {\"verbose\":false}\r\nSUB meridian.v1.session.> 1\r\n")
		for ; err == nil; time.Sleep(50 * time.Millisecond) {
			_, err = io.WriteString(c, "PONG\r\n")
		}
		c.Close()
	}
}
