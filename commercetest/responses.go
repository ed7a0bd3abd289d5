package commercetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
)

// response is what the store sends back for a request.
type response struct {
	status int
	header http.Header // may be nil
	body   []byte
	// cutAfter is the number of bytes of the body that are sent before the
	// connection is cut. 0: it is not cut.
	cutAfter int
}

// sent returns what is sent of the body.
func (r response) sent() []byte {
	if r.cutAfter > 0 {
		return r.body[:r.cutAfter]
	}
	return r.body
}

// errCut means that the connection is cut before a response.
var errCut = fmt.Errorf("commercetest: connection cut: %w", io.ErrUnexpectedEOF)

// withDefaultHeader adds the headers that every response has. Those that r has
// already stay.
func (r response) withDefaultHeader(requestID string) response {
	header := http.Header{"X-Request-Id": {requestID}}
	if len(r.body) > 0 {
		header.Set("Content-Type", contentType(r.body))
	}
	if bodyAllowed(r.status) {
		header.Set("Content-Length", strconv.Itoa(len(r.body)))
	} else {
		r.body = nil
	}
	maps.Copy(header, r.header)
	r.header = header
	return r
}

// errorObject is an entry of the errors array.
type errorObject struct {
	// Status is a string or an integer, because the service sends both. nil: left out.
	Status any        `json:"status,omitempty"`
	Title  string     `json:"title"`
	Detail string     `json:"detail,omitempty"`
	Meta   *errorMeta `json:"meta,omitempty"`
}

type errorMeta struct {
	ID   string `json:"id,omitempty"`
	Code string `json:"code,omitempty"` // of a promotion
}

// jsonResponse returns a response with v as its JSON body.
func jsonResponse(status int, v any) response { return response{status: status, body: encode(v)} }

// encode returns v as JSON. It panics if v cannot be encoded.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	return raw
}

// errorsResponse returns a response with these errors.
func errorsResponse(status int, errs ...errorObject) response {
	return jsonResponse(status, struct {
		Errors []errorObject `json:"errors"`
	}{errs})
}

// errorResponse returns a response with one error, whose status is a string.
func errorResponse(status int, title, detail string) response {
	return errorsResponse(status, errorObject{Status: strconv.Itoa(status), Title: title, Detail: detail})
}

// failure is what the service, or a gateway before it, sends with a status to a request of op.
func failure(op Operation, status int) response {
	isOfGateway := status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
	o := errorObject{Status: strconv.Itoa(status), Title: cmp.Or(http.StatusText(status), "Error")}
	switch status {
	case http.StatusUnauthorized:
		o.Title = "Unable to validate access token"
	case http.StatusConflict:
		o.Detail = "Write conflict detected"
	}
	switch {
	case status < 400:
		return response{status: status}
	case op == OpSettings: // its specification declares errors with a number for each status
		o.Status = status
	case isOfGateway:
		return response{status: status, body: []byte(http.StatusText(status) + "\n")}
	case status == http.StatusUnauthorized && op.isOfCarts(): // printed so
		return jsonResponse(status, map[string]errorObject{"errors": o})
	case op == OpUpdateCart && status == http.StatusUnprocessableEntity: // see updateCart
		o.Status = status
		return jsonResponse(status, o)
	}
	return errorsResponse(status, o)
}

// contentType returns the media type of a body, which may come from a [Fault].
func contentType(body []byte) string {
	if bytes.HasPrefix(body, []byte("{")) || bytes.HasPrefix(body, []byte("[")) {
		return "application/json"
	}
	return http.DetectContentType(body)
}

// bodyAllowed reports whether HTTP allows a body in a response with this status.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
