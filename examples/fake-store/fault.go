package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

// defaultLate is the delay of a late fault.
const defaultLate = 2 * time.Second

// parseFault reads a fault, see the comment of the package.
func parseFault(text string) (f commercetest.Fault, err error) {
	words := strings.Split(text, ":")
	if len(words) < 2 {
		return f, errors.New("must be an operation and a response, such as add:504")
	}
	if f.Operation, err = readOperation(words[0]); err != nil {
		return f, err
	}
	if err := readResponse(words[1], &f); err != nil {
		return f, err
	}
	for i, word := range words[2:] {
		if slices.Contains(words[2:2+i], word) {
			return f, fmt.Errorf("has the word %q twice", word)
		}
		if err := readWord(word, &f); err != nil {
			return f, err
		}
	}
	if f.Apply && f.Late {
		return f, errors.New("must not be both applied and late")
	}
	if f.Late && f.Delay == 0 {
		f.Delay = defaultLate
	}
	return f, nil
}

func readOperation(word string) (commercetest.Operation, error) {
	if word == "any" {
		return commercetest.OpAny, nil
	}
	names := []string{"any"}
	for _, op := range commercetest.Operations() {
		name := strings.ReplaceAll(string(op), " ", "-")
		if name == word {
			return op, nil
		}
		names = append(names, name)
	}
	return "", fmt.Errorf("has the unknown operation %q, must be one of %s", word, strings.Join(names, ", "))
}

func readResponse(word string, f *commercetest.Fault) error {
	if word == "cut" {
		f.Cut = true
		return nil
	}
	status, err := strconv.Atoi(word)
	if err != nil || status < 200 || status > 599 {
		return fmt.Errorf("has the response %q, must be a status from 200 to 599, or cut", word)
	}
	f.Status = status
	return nil
}

func readWord(word string, f *commercetest.Fault) error {
	times, timesErr := strconv.Atoi(word)
	delay, delayErr := time.ParseDuration(word)
	switch {
	case word == "applied":
		f.Apply = true
	case word == "late":
		f.Late = true
	case word == "always" && f.Times == 0:
		f.Times = -1
	case timesErr == nil && times > 0 && f.Times == 0:
		f.Times = times
	case timesErr != nil && delayErr == nil && delay > 0 && f.Delay == 0:
		f.Delay = delay
	default:
		return fmt.Errorf("has the word %q, must be applied, late, one delay such as 500ms, "+
			"and one number of times such as 3, or always", word)
	}
	return nil
}
