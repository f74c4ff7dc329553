package main

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/publish"
)

func TestATimelineWhoseBrokerHasGoneIsAnErrorThatSaysSo(t *testing.T) {
	gone := errors.New("the broker has gone")
	var f timelineFlags
	if _, err := f.open(&publish.Options{}, "", nil, func() (*nats.Conn, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
}
