package ctf

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testseed"
	"meridian/trace"
	"pgregory.net/rapid"
)

var tsdlWords = regexp.MustCompile(`\w+|\s+|"[^"]*"|.`)

// TestMetadataOfMovedWordsIsPrintedSo: metadata whose words were left out, repeated or moved says something else, which is
// printed so that it is read back, as FuzzPrint has it. Changes of single bytes seldom keep it metadata.
func TestMetadataOfMovedWordsIsPrintedSo(t *testing.T) {
	var seeds [][]string
	for _, m := range []*Metadata{usualMetadata(), lttngMetadata()} {
		seeds = append(seeds, tsdlWords.FindAllString(printed(t, m), -1))
	}
	for _, text := range writtenByHand {
		seeds = append(seeds, tsdlWords.FindAllString(text, -1))
	}
	testseed.Check(t, func(t *rapid.T) {
		stretch := func(words []string) (from, to int) {
			from = rapid.IntRange(0, len(words)-1).Draw(t, "from")
			return from, min(len(words), from+rapid.IntRange(1, 40).Draw(t, "length"))
		}
		words := slices.Clone(rapid.SampledFrom(seeds).Draw(t, "seed"))
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			if len(words) == 0 {
				return
			}
			from, to := stretch(words)
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				words = slices.Delete(words, from, to)
			case 1:
				words = slices.Insert(words, to, slices.Clone(words[from:to])...)
			default:
				other := rapid.SampledFrom(seeds).Draw(t, "other")
				low, high := stretch(other)
				words = slices.Insert(words, from, other[low:high]...)
			}
		}
		if err := reprinted([]byte(strings.Join(words, ""))); err != "" {
			t.Fatal(err)
		}
	})
}

// reprinted parses metadata, prints it, parses what was printed and prints that. It returns what is wrong with the second.
func reprinted(text []byte) string {
	var w trace.Warnings
	m, err := ParseMetadata(text, "metadata", &w)
	if err != nil {
		return ""
	}
	var once, twice bytes.Buffer
	if err := m.WriteTSDL(&once); err != nil {
		return ""
	}
	again, err := ParseMetadata(once.Bytes(), "printed", &w)
	if err == nil {
		err = again.WriteTSDL(&twice)
	}
	if err != nil {
		return err.Error() + " in\n" + once.String()
	}
	if !bytes.Equal(once.Bytes(), twice.Bytes()) {
		return "another text:\n" + firstDifference(twice.String(), once.String())
	}
	return ""
}
