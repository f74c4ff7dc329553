package sensorhttp_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"meridian/sensor"
	"meridian/sensor/sensorhttp"
)

// A server and a client that tag their messages. Usually they are two processes, each with a recording of its own.
func Example() {
	dir, err := os.MkdirTemp("", "sensorhttp")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stop, err := sensor.Record(filepath.Join(dir, "trace"), sensor.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "tagged: ", r.Header.Get(sensorhttp.Header) != "")
	})
	server := httptest.NewServer(sensorhttp.Handler(mux))
	client := &http.Client{Transport: &sensorhttp.Transport{}}

	reply, err := client.Get(server.URL + "/hello")
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		log.Fatal(err)
	}
	reply.Body.Close()
	fmt.Printf("%s, and so is the reply: %t\n", body, reply.Header.Get(sensorhttp.Header) != "")

	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	server.Close()
	if err := stop(); err != nil {
		log.Fatal(err)
	}
	// Output: tagged: true, and so is the reply: true
}
