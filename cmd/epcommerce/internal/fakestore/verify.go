package fakestore

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/commerce-go/commerce/commercetest"
)

// verify returns an error with a line for each fault and each stub that was not met, and one if
// requests are pending.
func verify(c *call, _ none) (none, error) {
	var problems []string
	faults, _ := listFaults(c, none{}) // it has no errors
	for _, f := range faults.Faults {
		switch {
		case f.Met == 0:
			problems = append(problems, fmt.Sprintf("fault %d was not met: %s", f.Number, encode(f)))
		case f.Left > 0:
			problems = append(problems, fmt.Sprintf("fault %d was not met by all that it is for: %s", f.Number, encode(f)))
		}
	}
	stubs, _ := listStubs(c, none{})
	for _, s := range stubs.Stubs {
		if s.Met == 0 {
			problems = append(problems, fmt.Sprintf("the stub %s %s was not met", s.Method, s.Path))
		}
	}
	all := c.store().Requests()
	for _, in := range all {
		if in.State != commercetest.StateEnded {
			problems = append(problems, fmt.Sprintf("%s is pending: GET /_store/wait?pending=0 waits for it", name(&in)))
		}
	}
	if len(problems) == 0 {
		return none{}, nil
	}
	problems[0] += "; the last requests were " + namesOfLast(all)
	return none{}, &statusError{http.StatusConflict, strings.Join(problems, "\n")}
}

// namesOfLast names the last three requests.
func namesOfLast(all []commercetest.Request) string {
	var last []string
	for _, in := range all[max(0, len(all)-3):] {
		last = append(last, name(&in))
	}
	if last == nil {
		return "none"
	}
	return strings.Join(last, ", ")
}

// name returns the operation, method and path of a request.
func name(in *commercetest.Request) string {
	operation := "no operation"
	if in.Operation != commercetest.OpAny {
		operation = strconv.Quote(string(in.Operation))
	}
	return operation + " " + in.Method + " " + in.Path
}
