package messages_test

import (
	"fmt"
	"log"
	"strings"

	"meridian/format/messages"
	"meridian/trace"
)

func ExampleRead() {
	const text = `
web db  12.000123 12.000187   # FROM TO SENT RECEIVED
db  web 12.000200 12.000190
db  web never     12.5
`
	var warnings trace.Warnings
	list, err := messages.Read(strings.NewReader(text), "list.txt", &warnings)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range list.Channels {
		for _, m := range c.Messages {
			fmt.Println(list.Hosts[c.From], "to", list.Hosts[c.To], m.Received-m.Sent, "ns")
		}
	}
	fmt.Println(strings.Join(warnings.Lines(), "\n"))
	// Output:
	// web to db 64000 ns
	// db to web -10000 ns
	// list.txt: line skipped: a time is not a decimal number of seconds (list.txt:4)
}
