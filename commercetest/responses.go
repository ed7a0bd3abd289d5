package commercetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// errorObject is an entry of the errors array (specification, section 2.6).
type errorObject struct {
	// Status is a string or an integer: the service has both. nil: left out.
	Status any        `json:"status,omitempty"`
	Title  string     `json:"title"`
	Detail string     `json:"detail,omitempty"`
	Meta   *errorMeta `json:"meta,omitempty"`
}

type errorMeta struct {
	ID string `json:"id"`
}

// reply returns an answer with v as its JSON body.
func reply(status int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic("commercetest: " + err.Error()) // what is stored was encoded once already
	}
	return answer{status: status, body: body}
}

// refusal returns an answer with errors.
func refusal(status int, faults ...errorObject) answer {
	return reply(status, struct {
		Errors []errorObject `json:"errors"`
	}{faults})
}

// failure returns an answer with one error, whose status is a string.
func failure(status int, title, detail string) answer {
	return refusal(status, errorObject{Status: strconv.Itoa(status), Title: title, Detail: detail})
}

// contentType guesses the media type of a body that may be a [Fault]'s.
func contentType(body []byte) string {
	if bytes.HasPrefix(body, []byte("{")) || bytes.HasPrefix(body, []byte("[")) {
		return "application/json"
	}
	return http.DetectContentType(body)
}

// bodyAllowed reports whether HTTP lets an answer of that status have a body.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
