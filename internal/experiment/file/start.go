package file

import _ "embed"

// Start is a file to begin with: it runs as it is, and its comments say what else there is.
//
//go:embed start.yaml
var Start string
