// Package terminal prepares text of others for the terminal of the user.
package terminal

import (
	"strings"
	"unicode"
)

// Plain returns s without what would disturb a line or a terminal; "-" for nothing.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}
