package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"meridian/tools/golist"
)

// plan says how the tests of each package run. A package is in plain, in raced, or in plain and one of the others.
type plan struct {
	plain     []string
	raced     []string // all their tests run under the race detector
	racedSome []string // only the tests of computes run under the race detector
}

// computes are the folders whose tests compute for long, which the race detector makes five to ten times slower. All their tests run
// without it. Under it run a few: those in which the goroutines of the package meet, with all that they share.
var computes = map[string][]string{
	"align": {
		"TestChainsOfAnyLengthStayWithinTheirBounds", "TestIslandsAreAlignedEachWithinItself",
		"TestHostsWithTwoClocksAreBoundedThroughBoth", "TestStagesRunAgainMakeTheSame",
	},
	"cmd/meridian": {
		"TestServersHaveAgentsDoNothingButRecord", "TestViewFollowsARecordingAndTheOneAfterIt",
		"TestTailPrintsEventsAsTheyAreRecordedEachOnce", "TestPipelineOfThreeHosts",
	},
	"format/pcap": {
		"TestChunksBringTheFramesOfTheWholeFile", "TestAFileThatHasOtherFramesThanItHadIsAnError",
		"TestFollowerReturnsTheOfflineFramesOfAnyGrowth",
	},
	"internal/cause":        {"TestWiderBoundsNeverDecideWhatWasOpen", "TestManyUnboundedMessagesDoNotOverflow"},
	"internal/cause/thread": {"TestPiecesSumToTheRequestWhateverWasRecorded", "TestWiderBoundsNeverDecideWhatWasOpenOnThreads"},
	"internal/collect": {
		"TestWhateverIsKilledAllArrivesAndWhatIsAcknowledgedStays", "TestWhatServersHaveIsReleasedAndNothingIsLost",
		"TestAServerWithANewDiskIsFilledFromAnotherWithWhatTheHostHasNoMore", "TestAFloodDelaysNobody",
		"TestAServerSendsNothingToAnotherThatItDoesNotStoreOrThatIsOutOfBounds",
	},
	"internal/collect/archive": {
		"TestTheArchiveIsReadAsTheDirectoryThatWasStored", "TestAllServersOfASessionAreReadAsOne",
		"TestAnArchiveRunsUntilItIsStoppedAndGoesOnAfterAnOutage", "TestTwoServersOfOneNameLoseNothing",
	},
	"internal/live": {
		"TestPageThatGrowsShowsEachMessageOnceAcrossRestarts", "TestRecordedPacketsThatGrowAreTheMessagesThatOfflineFinds",
		"TestDirectoriesThatAreReadAtOnceAreReadAbreast", "TestEventsOfHostsWithWrongClocksComeOnceInOrderWithinTrueBounds",
		"TestFirstDropOfTheIndexIsToldOnceWhileTheViewGoesOn",
	},
	"internal/pipeline": {
		"TestEveryEncapsulationIsMatchedByThePacketInside", "TestPacketsOfAClockThatWasSetBackAreMergedInTheirTrueOrder",
		"TestStatedGranularityHolds", "TestWhereverItIsInterruptedNothingIsLeft", "TestRequestsOfManyConnectionsAreToldApartAndLostPacketsMarked",
	},
	"internal/probe": {
		"TestRoundsAskAllHostsAtOnce", "TestOneClientAsksManyHostsThroughOneSocket", "TestExchangesOverLoopbackCarryStampsOfTheKernel",
		"TestEventsOfBothEndsPairUp", "TestHostileDatagramsGetNoAnswerAndLeaveNoState", "TestQuietWindowsHoldProbesBack",
		"TestAClientFindsAServerThatBeganAnew",
	},
	"internal/record": {
		"TestKilledRecordersLoseAndRepeatNothing", "TestFollowersReturnWhatKilledRecordersWrote", "TestWhatFailsEndsNothingElse",
		"TestARingThatFailsEndsNothingElse", "TestProgramsAreRecordedWholeIntoOneTrace", "TestPacketsAreInTheFileWhileTheRecorderRuns",
		"TestEventsThatMeetATriggerAreInItsSnapshot", "TestEventsOfSourcesAreReadAsTheyWereGiven",
	},
	"internal/record/kernel": {"TestSwitchesAreThoseOfTheProcessAndItsChildren", "TestEveryPacketThatTcpdumpSeesIsAmongTheEvents"},
	"internal/record/packet": {
		"TestBothSidesCaptureWhatTcpdumpCaptures", "TestAnInterfaceThatReappearsIsCaptured",
		"TestInterfacesThatAppearLaterAreCapturedAndLoopbackOnce",
	},
	"internal/record/tracefs": {"TestSwitchesAreThoseOfTheProcessAndItsChildren", "TestPacketsAreThoseOfTheRecorderByEBPF"},
	"internal/s3": {
		"TestAnyPartOfAFileIsWhatIsThere", "TestAFileThatIsReadOnwardsNeedsFewRequests",
		"TestAFileThatIsClosedGivesUpItsRequestsAndNobodyElses",
	},
	"internal/show": {"TestPicturesOfAGalleryStaySmallHoweverWildTheyAre"},
	"internal/show/index": {
		"TestOneIndexAnswersManyAtOnce", "TestViewsAreReadWhileTheIndexGrows", "TestALaneThatCannotBeReadEndsTheWorkOnAll",
		"TestPartsOfATileAreTheTile",
	},
	"internal/show/view": {
		"TestTheSameTimelineMakesTheSameFile", "TestHostileNamesAreNoMarkupServedOrInAFile", "TestPageIsToldOfEachPictureAndOfTheEnd",
		"TestRequestsOfATimelineThatGrowsAreThoseOfOneThatHasEnded", "TestRequestsAreFoundAnewOnceTheyAreOldAndAtTheEnd",
		"TestAServerAnswersUntilItIsToldToStop", "TestAnAnswerOfTilesIsBounded",
	},
	"internal/spill":        {"TestArraysStayWhatTheyAreWhilePagesAreUnmapped", "TestWhoeverReadsUnmapsWhatIsTooMuch"},
	"internal/synchroniser": {"TestBoundsHoldForClocksThatDiffer", "TestDaemonEndsSlewsInTimeAndReleasesTheClock"},
	"match": {
		"TestMessagesComeInTheSameOrderWhoeverMatchedThem", "TestALongFlowIsGatheredOverSeveralGroups", "TestWhereArraysAreKeptChangesNothing",
	},
	"order": {
		"TestErrorsEndTheMergeAndAllItsGoroutines", "TestManyBatchesStayInOrder", "TestAPushIsMetAndFadesGently",
		"TestTheMergeIsTheSortByTimeThenSourceThenNumber", "TestPartsTogetherAreTheSortByTimeThenSourceThenNumber",
		"TestThoseThatKeepNoneEndToo", "TestWhatASourceLearnsTravelsWithTheEventsThatAreReadAhead",
	},
}

// differs are the folders whose code is another under the race detector. All their tests run both ways.
var differs = []string{"sensor"}

// longest are the folders whose tests take longest. They begin first, so that nothing is left to wait for when the others have ended.
var longest = []string{"cmd/meridian", "tools/viewtest", "internal/pipeline", "tools/release", "internal/record", "internal/collect"}

// racedByOthers are the folders whose goroutines run in the tests of others, with all that they share: those of align run the stages that
// it is made of. Those of tools, netlab and traceprocessor serve tests, or measure code that has tests of its own.
var racedByOthers = []string{
	"align/bound", "align/envelope", "align/pair", "align/steps", "clock", "internal/netlab", "internal/pipeline/evaluate",
	"internal/traceprocessor", "tools", "trace",
}

// racedAllTheSame are folders of racedByOthers that are no such laboratory.
var racedAllTheSame = []string{"tools/sensorkill"}

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// newPlan makes the plan of the packages of a checkout that match the patterns and have tests.
func newPlan(checkout string, patterns ...string) (plan, error) {
	packages, err := golist.Packages[listed](patterns)
	if err != nil {
		return plan{}, err
	}
	top, err := filepath.Abs(checkout)
	if err != nil {
		return plan{}, err
	}
	slices.SortStableFunc(packages, func(a, b listed) int { return cmp.Compare(a.rank(top), b.rank(top)) })
	var p plan
	for _, l := range packages {
		if len(l.TestGoFiles)+len(l.XTestGoFiles) == 0 {
			continue
		}
		folder, err := filepath.Rel(top, l.Dir)
		if err != nil {
			return plan{}, err
		}
		shares, err := l.sharesMemory()
		if err != nil {
			return plan{}, err
		}
		switch {
		case !shares, within(folder, racedByOthers) && !within(folder, racedAllTheSame):
			p.plain = append(p.plain, l.ImportPath)
		case computes[filepath.ToSlash(folder)] != nil:
			p.plain = append(p.plain, l.ImportPath)
			p.racedSome = append(p.racedSome, l.ImportPath)
		case within(folder, differs):
			p.plain = append(p.plain, l.ImportPath)
			p.raced = append(p.raced, l.ImportPath)
		default:
			p.raced = append(p.raced, l.ImportPath)
		}
	}
	return p, nil
}

// rank returns the place of a package among the longest, and one behind them for all others.
func (l listed) rank(top string) int {
	i := slices.IndexFunc(longest, func(folder string) bool { return l.Dir == filepath.Join(top, filepath.FromSlash(folder)) })
	if i < 0 {
		return len(longest)
	}
	return i
}

// someTests returns the flag of go test that chooses the tests of computes.
func someTests() string {
	var names []string
	for _, tests := range computes {
		names = append(names, tests...)
	}
	slices.Sort(names)
	return "-run=^(" + strings.Join(names, "|") + ")$"
}

// all returns the packages of the plan, each once.
func (p plan) all() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.plain, p.raced))))
}

// within says whether a folder is one of the others or lies under one.
func within(folder string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return strings.HasPrefix(filepath.ToSlash(folder)+"/", other+"/")
	})
}

// sharesMemory says whether a package's code, tests aside, starts goroutines or imports what protects memory that goroutines share.
func (l listed) sharesMemory() (bool, error) {
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		for _, i := range f.Imports {
			switch i.Path.Value {
			case `"sync"`, `"sync/atomic"`, `"golang.org/x/sync/errgroup"`:
				return true, nil
			}
		}
		starts := false
		ast.Inspect(f, func(n ast.Node) bool {
			_, isGo := n.(*ast.GoStmt)
			starts = starts || isGo
			return !starts
		})
		if starts {
			return true, nil
		}
	}
	return false, nil
}
