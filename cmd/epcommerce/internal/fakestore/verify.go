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
			problems = append(problems,
				fmt.Sprintf("fault %d was met %d of %d times: %s", f.Number, f.Met, f.Met+f.Left, encode(f)))
		}
	}
	stubs, _ := listStubs(c, none{})
	for _, s := range stubs.Stubs {
		if s.Met == 0 {
			problems = append(problems, fmt.Sprintf("the stub %s %s was not met", s.Method, s.Path))
		}
	}
	listed := 0
	for _, in := range c.store().Requests() {
		if in.State != commercetest.StateEnded {
			listed++
			problems = append(problems, fmt.Sprintf("%s is pending: GET /_store/wait?pending=0 waits for it", name(&in)))
		}
	}
	if n := c.store().Pending(); n > listed {
		problems = append(problems, fmt.Sprintf("%d requests are pending that the list does not have", n-listed))
	}
	if len(problems) == 0 {
		return none{}, nil
	}
	problems[0] += "; " + c.lastRequests()
	return none{}, &statusError{http.StatusConflict, strings.Join(problems, "\n")}
}

// lastRequests names the last three requests. If there are none, it says where they may be.
func (c *call) lastRequests() string {
	all := c.store().Requests()
	if len(all) == 0 {
		text := "the namespace " + c.namespace.Name + " got no request at all"
		if first := c.server.Namespaces()[0].Name; first != c.namespace.Name {
			text += ": a request without its token goes to " + first
		}
		return text
	}
	var last []string
	for _, in := range all[max(0, len(all)-3):] {
		last = append(last, name(&in))
	}
	return "the last requests were " + strings.Join(last, ", ")
}

// name returns the operation, method and path of a request.
func name(in *commercetest.Request) string {
	operation := "no operation"
	if in.Operation != commercetest.OpAny {
		operation = strconv.Quote(string(in.Operation))
	}
	return operation + " " + in.Method + " " + in.Path
}
