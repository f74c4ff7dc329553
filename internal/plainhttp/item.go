package plainhttp

import (
	"strconv"
	"strings"
)

// What an item says.
type What uint8

const (
	Request  What = iota // a request begins: Text is its method and path
	Response             // a response begins: Text is its status
	GRPC                 // Text is the status of a call, a number
	End                  // the sender's part of a stream ends
	Reset                // the stream ends at once
	Interim              // a response of HTTP/1 begins that another follows, such as 100 (RFC 9110, section 15.2): Text is its status
)

// Unknown is the text of a request or a response whose name was not captured.
const Unknown = "?"

// Item is something that begins or ends in a segment.
type Item struct {
	Stream uint32 // of HTTP/2; 0 for HTTP/1
	What   What
	Text   string
}

// Append appends items as people read them: "#5 GET /cart; #5 end".
func Append(b []byte, items []Item) []byte {
	for n, i := range items {
		if n > 0 {
			b = append(b, "; "...)
		}
		if i.Stream != 0 {
			b = append(strconv.AppendUint(append(b, '#'), uint64(i.Stream), 10), ' ')
		}
		switch i.What {
		case GRPC:
			b = append(append(b, "grpc "...), i.Text...)
		case End:
			b = append(b, "end"...)
		case Reset:
			b = append(b, "reset"...)
		case Interim:
			b = append(append(b, "interim "...), i.Text...)
		case Request:
			b = append(append(b, "request "...), i.Text...)
		default:
			b = append(append(b, "status "...), i.Text...)
		}
	}
	return b
}

// Parse reads what [Append] wrote. Of other texts it returns what it can read.
func Parse(text string) (items []Item) {
	for text != "" {
		one, rest, _ := strings.Cut(text, "; ")
		text = rest
		var i Item
		if number, after, is := strings.Cut(one, " "); is && strings.HasPrefix(number, "#") {
			n, err := strconv.ParseUint(number[1:], 10, 31)
			if err != nil {
				continue
			}
			i.Stream, one = uint32(n), after
		}
		what, value, _ := strings.Cut(one, " ")
		switch i.Text = value; what {
		case "request":
			i.What = Request
		case "status":
			i.What = Response
		case "grpc":
			i.What = GRPC
		case "end":
			i.What = End
		case "reset":
			i.What = Reset
		case "interim":
			i.What = Interim
		default:
			continue
		}
		items = append(items, i)
	}
	return items
}

// printable returns a name without what would not fit into a line of items, and no longer than mostName.
func printable(s string) string {
	if len(s) > mostName {
		s = s[:mostName] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == 0xfffd {
			return '_'
		}
		return r
	}, s)
}
