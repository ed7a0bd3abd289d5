package exhaustive_test

import (
	"fmt"
	"strconv"
	"strings"
)

// choices are the numbers of the options that a run takes, in order. A run with the same choices is
// the same run.
type choices struct {
	taken   []int
	options []int    // number of options of each choice
	texts   []string // of the options that were taken
	made    int      // in this run
}

// choose returns the number of an option: the one of the path, and after its end the first one.
func (c *choices) choose(options []string) int {
	switch {
	case len(options) == 1:
		c.texts = append(c.texts, options[0])
		return 0
	case c.made == len(c.taken):
		c.taken, c.options = append(c.taken, 0), append(c.options, len(options))
	case c.made == len(c.options): // a path to replay
		c.options = append(c.options, len(options))
	}
	n := c.taken[c.made]
	if c.options[c.made] != len(options) || n >= len(options) {
		panic(fmt.Sprintf("choice %d of %v now has the options %q: a run cannot be repeated", c.made, c.taken, options))
	}
	c.made++
	c.texts = append(c.texts, options[n])
	return n
}

// isNew reports whether the next choice comes after the path.
func (c *choices) isNew() bool { return c.made == len(c.taken) }

// next moves to the next path in depth-first order. It reports whether there is one.
func (c *choices) next() bool {
	c.taken, c.options = c.taken[:c.made], c.options[:c.made]
	for len(c.taken) > 0 {
		last := len(c.taken) - 1
		if c.taken[last]++; c.taken[last] < c.options[last] {
			break
		}
		c.taken, c.options = c.taken[:last], c.options[:last]
	}
	c.made, c.texts = 0, nil
	return len(c.taken) > 0
}

// String returns the choices as parseChoices reads them, e.g. "0.2.1", or "-" if there were none.
func (c *choices) String() string {
	if c.made == 0 {
		return "-"
	}
	var numbers []string
	for _, n := range c.taken[:c.made] {
		numbers = append(numbers, strconv.Itoa(n))
	}
	return strings.Join(numbers, ".")
}

func parseChoices(s string) (*choices, error) {
	c := &choices{}
	if s == "-" {
		return c, nil
	}
	for text := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		c.taken = append(c.taken, n)
	}
	return c, nil
}
