//go:build !race

package view

import "testing"

func TestFeatures(t *testing.T) {
	b := startPanelBrowser(t)
	for _, rule := range []struct {
		name string
		test func(*testing.T)
	}{
		{"EventsAreMarksAndSlicesAreBars", b.EventsAreMarksAndSlicesAreBars},
		{"MessagesAreArrowsWithTheirDelay", b.MessagesAreArrowsWithTheirDelay},
		{"WhatIsSwitchedOffIsNotDrawn", b.WhatIsSwitchedOffIsNotDrawn},
		{"ManyEventsAreDrawnAsHowManyTheyAre", b.ManyEventsAreDrawnAsHowManyTheyAre},
		{"HostsAreFoldedByAClick", b.HostsAreFoldedByAClick},
		{"HostsAndRowsAreMovedByDragging", b.HostsAndRowsAreMovedByDragging},
		{"RowsAreFoundByTyping", b.RowsAreFoundByTyping},
		{"EverythingIsReachedByKeys", b.EverythingIsReachedByKeys},
		{"WheelRulerAndButtonsZoomAndMove", b.WheelRulerAndButtonsZoomAndMove},
		{"HeldKeysMoveAndZoom", b.HeldKeysMoveAndZoom},
		{"TheMapMovesAndStretchesTheView", b.TheMapMovesAndStretchesTheView},
		{"TheNextMessageIsSelectedWithBothEnds", b.TheNextMessageIsSelectedWithBothEnds},
		{"AViewIsSharedAndOutlivesAReload", b.AViewIsSharedAndOutlivesAReload},
		{"TheBoundIsABandAtEveryZoom", b.TheBoundIsABandAtEveryZoom},
		{"RawTimeMovesWhatIsDrawnByTheOffset", b.RawTimeMovesWhatIsDrawnByTheOffset},
		{"ViolationsDifferByShapeForEveryEye", b.ViolationsDifferByShapeForEveryEye},
		{"ColoursCanBeToldFromTheGround", b.ColoursCanBeToldFromTheGround},
		{"LightAndDarkAreChosenByTheSystemAndByHand", b.LightAndDarkAreChosenByTheSystemAndByHand},
		{"AScreenReaderHasTheTables", b.AScreenReaderHasTheTables},
		{"AScreenReaderHasTheRowsAndIsToldWhatHappens", b.AScreenReaderHasTheRowsAndIsToldWhatHappens},
		{"NothingOfATraceRuns", b.NothingOfATraceRuns},
	} {
		t.Run(rule.name, rule.test)
	}
}
