package csv_test

import (
	"log"
	"os"

	"meridian/clock"
	"meridian/format/csv"
	"meridian/trace"
)

func ExampleNewWriter() {
	length := trace.Field{Name: "len", Type: trace.Type{Kind: trace.Int}}
	schema := trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "eth0", Host: "web", Kind: trace.Device}}}
	schema.Maps = []trace.HostMap{{Map: new(clock.Map)}}
	schema.Classes = append(schema.Classes, trace.Class{Name: "packet", Category: "net", Fields: []trace.Field{length}})
	table, err := csv.NewWriter(os.Stdout, &schema, csv.Options{})
	if err != nil {
		log.Fatal(err)
	}
	at := trace.TimelineEvent{Event: trace.Event{Time: 1_700_000_000_000_000_250}, Time: 1_700_000_000_000_000_000}
	at.Bounded, at.Low, at.High = true, at.Time-100, at.Time+100
	at.Values = []trace.Value{trace.OfInt(1500)}
	if err = table.Write(&at); err == nil {
		err = table.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// time,time_ns,low_ns,high_ns,recorded_ns,host,row,row_kind,event,category,phase,slice,flow,role,component,len,fields
	// 2023-11-14T22:13:20.000000000Z,1700000000000000000,1699999999999999900,1700000000000000100,1700000000000000250,web,eth0,device,packet,net,instant,,,,0,1500,
}
