//go:build !race

package viewtest

import (
	"reflect"
	"testing"
)

var features = []struct {
	what  string
	tests []string
}{
	{"rows fold", []string{"HostsAreFoldedByAClick", "HostsAreFoldedAndMovedByKeys", "WhatIsFoldedIsSummedUpAtEveryZoom"}},
	{"rows are moved", []string{"HostsAndRowsAreMovedByDragging", "HostsAreFoldedAndMovedByKeys"}},
	{"rows are searched", []string{"RowsAreFoundByTyping", "TheFilterKeepsRowsAndWhatTheyLieUnder"}},
	{"marks and slices", []string{"EventsAreMarksAndSlicesAreBars", "ManyEventsAreDrawnAsHowManyTheyAre", "ALaneOfOneDensityLooksTheSameOnBothSidesOfATilesEnd", "LinesOfMessagesLieBehindSlices"}},
	{"arrows with their delay", []string{"MessagesAreArrowsWithTheirDelay"}},
	{"types, rows, hosts and links are switched", []string{"WhatIsSwitchedOffIsNotDrawn", "SwitchesHideWhatTheyName"}},
	{"zoom and pan by wheel and drag", []string{"TheWheelZoomsAtThePointerAndDraggingMoves", "WheelRulerAndButtonsZoomAndMove"}},
	{"zoom and pan by keys", []string{"HeldKeysMoveAndZoom", "KeysMoveZoomAndShowAll"}},
	{"minimap", []string{"TheMapMovesAndStretchesTheView"}},
	{"next and previous event", []string{"TheNextEventIsTheNextOneOfTheRow", "EverythingIsReachedByKeys"}},
	{"next and previous message", []string{"TheNextMessageIsSelectedWithBothEnds"}},
	{"next and previous inversion", []string{"EveryViolationIsOneKeyAway", "ViolationsAreListedByVerdictAndGoneTo"}},
	{"measuring", []string{"ASpanIsMeasuredByDraggingAndByTwoClicks", "ASpanBetweenTwoHostsIsNeverSurerThanBothBounds"}},
	{"details", []string{"DetailsSayAllThatIsKnownOfAnEvent", "WhatIsHoveredIsTold"}},
	{"chain of a request", []string{"AChainIsFollowedAcrossHosts", "TheChainOfARequestIsTheOneThatWasMade"}},
	{"search", []string{"ASearchGoesOnOverSeveralAnswersAndMarksWhatItFinds", "SearchFindsWhatTheExamplesSay", "AFileFromADiskSearchesByItself"}},
	{"sharing", []string{"AViewIsSharedAndOutlivesAReload", "AViewIsFollowedOnlyOfTheSameTimeline", "ASharedLinkShowsTheSame", "ASharedAddressBringsBackTheViewAndNothingThatDoesNotFit"}},
	{"help", []string{"HelpListsEveryKeyOnce"}},
	{"light and dark", []string{"LightAndDarkAreChosenByTheSystemAndByHand", "ColoursCanBeToldFromTheGround"}},
	{"colour-blind", []string{"ViolationsDifferByShapeForEveryEye", "ColoursCanBeToldFromTheGround"}},
	{"keyboard", []string{"EverythingIsReachedByKeys", "PanelsCanBeUsedWithoutSeeingThem"}},
	{"screen reader", []string{"AScreenReaderHasTheTables", "AScreenReaderHasTheRowsAndIsToldWhatHappens", "TablesSayWhatIsInView"}},
	{"bound at every zoom", []string{"TheBoundIsABandAtEveryZoom", "TheBoundIsABandAroundTheCursor"}},
	{"can these two be ordered", []string{"TheOrderOfTwoEventsIsAnsweredWithItsReason", "EventsThatNoMessageOrdersAreJudgedByTheirIntervals", "TwoEventsAreOrderedIfAndOnlyIfEveryPairOfTrueTimesIs"}},
	{"interval of a delay", []string{"MessagesAreArrowsWithTheirDelay", "DetailsSayAllThatIsKnownOfAnEvent"}},
	{"raw and corrected", []string{"RawTimeMovesWhatIsDrawnByTheOffset", "RawTimeIsWhatTheHostsClockSaid", "RawTimeOfAClockThatWasSetBackIsRightOnBothSides"}},
	{"inversions, certain and undecidable, too fast", []string{"ViolationsDifferByShapeForEveryEye", "ViolationsAreDrawnAtEveryScale", "ViolationsAreListedByVerdictAndGoneTo"}},
	{"plots of clocks, histograms of delays", []string{"DelaysAndClocksAreDrawnAndTold", "HistogramsKeepTheirOrderAndSharesWithinTheBox"}},
	{"hostile traces", []string{"NothingOfATraceRuns", "NothingOfATraceIsMarkupInThePanels"}},
}

func TestEveryFeatureHasATest(t *testing.T) {
	all := reflect.TypeFor[*panelBrowser]()
	for _, f := range features {
		for _, name := range f.tests {
			if _, is := all.MethodByName(name); !is {
				t.Errorf("%s: there is no test %s", f.what, name)
			}
		}
	}
}

func TestFeatures(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"EventsAreMarksAndSlicesAreBars", b.EventsAreMarksAndSlicesAreBars},
		{"MessagesAreArrowsWithTheirDelay", b.MessagesAreArrowsWithTheirDelay},
		{"WhatIsSwitchedOffIsNotDrawn", b.WhatIsSwitchedOffIsNotDrawn},
		{"ManyEventsAreDrawnAsHowManyTheyAre", b.ManyEventsAreDrawnAsHowManyTheyAre},
		{"ALaneOfOneDensityLooksTheSameOnBothSidesOfATilesEnd", b.ALaneOfOneDensityLooksTheSameOnBothSidesOfATilesEnd},
		{"LinesOfMessagesLieBehindSlices", b.LinesOfMessagesLieBehindSlices},
		{"HostsAreFoldedByAClick", b.HostsAreFoldedByAClick},
		{"WhatIsFoldedIsSummedUpAtEveryZoom", b.WhatIsFoldedIsSummedUpAtEveryZoom},
		{"HostsAndRowsAreMovedByDragging", b.HostsAndRowsAreMovedByDragging},
		{"RowsAreFoundByTyping", b.RowsAreFoundByTyping},
		{"EverythingIsReachedByKeys", b.EverythingIsReachedByKeys},
		{"WheelRulerAndButtonsZoomAndMove", b.WheelRulerAndButtonsZoomAndMove},
		{"HeldKeysMoveAndZoom", b.HeldKeysMoveAndZoom},
		{"TheMapMovesAndStretchesTheView", b.TheMapMovesAndStretchesTheView},
		{"TheNextMessageIsSelectedWithBothEnds", b.TheNextMessageIsSelectedWithBothEnds},
		{"TheRowOfWhatIsSelectedIsFocusedBeforeAFrameIsDrawn", b.TheRowOfWhatIsSelectedIsFocusedBeforeAFrameIsDrawn},
		{"AViewIsSharedAndOutlivesAReload", b.AViewIsSharedAndOutlivesAReload},
		{"AViewIsFollowedOnlyOfTheSameTimeline", b.AViewIsFollowedOnlyOfTheSameTimeline},
		{"TheBoundIsABandAtEveryZoom", b.TheBoundIsABandAtEveryZoom},
		{"RawTimeMovesWhatIsDrawnByTheOffset", b.RawTimeMovesWhatIsDrawnByTheOffset},
		{"RawTimeOfAClockThatWasSetBackIsRightOnBothSides", b.RawTimeOfAClockThatWasSetBackIsRightOnBothSides},
		{"ViolationsDifferByShapeForEveryEye", b.ViolationsDifferByShapeForEveryEye},
		{"ColoursCanBeToldFromTheGround", b.ColoursCanBeToldFromTheGround},
		{"LightAndDarkAreChosenByTheSystemAndByHand", b.LightAndDarkAreChosenByTheSystemAndByHand},
		{"AScreenReaderHasTheTables", b.AScreenReaderHasTheTables},
		{"AScreenReaderHasTheRowsAndIsToldWhatHappens", b.AScreenReaderHasTheRowsAndIsToldWhatHappens},
		{"NothingOfATraceRuns", b.NothingOfATraceRuns},
	})
}
