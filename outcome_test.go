package commerce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

func TestOutcome_text(t *testing.T) {
	t.Parallel()
	if commerce.Outcome(0) != commerce.OutcomeUnknown {
		t.Error("the zero Outcome is not OutcomeUnknown")
	}
	for o, want := range []string{
		"unknown", "none", "not sent", "rejected", "partial", "unreadable", "applied", "Outcome(7)",
	} {
		if got := commerce.Outcome(o).String(); got != want {
			t.Errorf("Outcome(%d) = %q, want %q", o, got, want)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("done", "outcome", commerce.Outcome(o))
		if want := fmt.Sprintf(`"outcome":%q`, want); !strings.Contains(log.String(), want) {
			t.Errorf("logged as JSON: %s, want %s", &log, want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	of := func(o commerce.Outcome) error { return &commerce.Error{Outcome: o} }
	for _, tt := range []struct {
		name string
		err  error
		want commerce.Outcome
	}{
		{name: "no error", want: commerce.OutcomeApplied},
		{name: "an error of another package", err: errors.New("x"), want: commerce.OutcomeUnknown},
		{name: "of a context", err: context.Canceled, want: commerce.OutcomeUnknown},
		{name: "the zero Error", err: &commerce.Error{}, want: commerce.OutcomeUnknown},
		{name: "wrapped", err: fmt.Errorf("w: %w", of(commerce.OutcomeRejected)), want: commerce.OutcomeRejected},
		{name: "of arguments", err: &commerce.ValidationError{}, want: commerce.OutcomeNotSent},
		{name: "of a walk", err: &commerce.PagingError{Err: commerce.ErrListDrift}, want: commerce.OutcomeNone},
		{
			name: "of a walk without a token", want: commerce.OutcomeNone,
			err: &commerce.PagingError{Err: of(commerce.OutcomeNotSent)},
		},
		{name: "of a read", err: of(commerce.OutcomeNone), want: commerce.OutcomeNone},
		{
			name: "of a write and a read", want: commerce.OutcomePartial,
			err: errors.Join(of(commerce.OutcomeNone), fmt.Errorf("w: %w", of(commerce.OutcomePartial))),
		},
		{
			name: "not inside an Error", want: commerce.OutcomeRejected,
			err: &commerce.Error{Outcome: commerce.OutcomeRejected, Err: of(commerce.OutcomeUnknown)},
		},
		{
			name: "beside one of another package", want: commerce.OutcomeNotSent,
			err: fmt.Errorf("%w: %w", context.Canceled, of(commerce.OutcomeNotSent)),
		},
	} {
		if got := commerce.OutcomeOf(tt.err); got != tt.want {
			t.Errorf("%s: OutcomeOf(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
	order := []commerce.Outcome{ // most severe first
		commerce.OutcomeUnknown, commerce.OutcomeUnreadable, commerce.OutcomePartial,
		commerce.OutcomeRejected, commerce.OutcomeNotSent, commerce.OutcomeNone,
	}
	for i, worse := range order {
		for _, better := range order[i:] {
			if got := commerce.OutcomeOf(errors.Join(of(better), of(worse))); got != worse {
				t.Errorf("of %v and %v: %v, want %v", better, worse, got, worse)
			}
		}
	}
}

// TestAddCustomDiscounts_outcome goes through the table of outcomes, row by row.
func TestAddCustomDiscounts_outcome(t *testing.T) {
	t.Parallel()
	const (
		addedA = `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"a"}`
		addedB = `{"type":"custom_discount","id":"d09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"b"}`
		againA = `{"type":"custom_discount","id":"e09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"a"}`
		noID   = `{"type":"custom_discount","id":"c09030b0-cdcd-4c47-b889-adbf690c537a"}`
		noID2  = `{"type":"custom_discount","id":"b09030b0-cdcd-4c47-b889-adbf690c537a"}`
		failed = `{"status":404,"title":"Custom discount not added to cart item.","meta":{"id":"` + itemID + `"}}`
	)
	tests := []struct {
		name        string
		status      int
		body        string
		header      string // Content-Encoding
		sent        string // external ids
		all         bool
		want        commerce.Outcome
		is          error
		added       int
		unconfirmed string
	}{
		{
			name: "all added", status: 201,
			body: `{"data":[` + addedA + `,` + addedB + `]}`,
			sent: "a b", want: commerce.OutcomeApplied, added: 2,
		},
		{
			name: "all added under 200", status: 200,
			body: `{"data":[` + addedA + `],"options":{"add_all_or_nothing":false}}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "one added, as an object", status: 201,
			body: `{"data":` + addedA + `}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "added with empty errors", status: 201,
			body: `{"data":[` + addedA + `],"errors":[]}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "added with null errors", status: 201,
			body: `{"data":[` + addedA + `],"errors":null}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "added without external ids", status: 201,
			body: `{"data":[` + noID + `,` + noID2 + `]}`,
			sent: "a b", want: commerce.OutcomeApplied, added: 2,
		},
		{
			name: "one of two without external id", status: 201,
			body: `{"data":[` + noID + `,` + addedA + `]}`,
			sent: "a b", want: commerce.OutcomeApplied, added: 2,
		},
		{
			name: "one id twice, both added", status: 201,
			body: `{"data":[` + addedA + `,` + againA + `]}`,
			sent: "a a", want: commerce.OutcomeApplied, added: 2,
		},

		{
			name: "one id twice, one added", status: 201,
			body: `{"data":[` + addedA + `]}`,
			sent: "a a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "a",
		},
		{
			name: "one added, one failed", status: 201,
			body: `{"data":[` + addedA + `],"errors":[` + failed + `]}`,
			sent: "a b", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "b",
		},
		{
			name: "one added, silence on the other", status: 201,
			body: `{"data":[` + addedB + `]}`,
			sent: "a b", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "a",
		},
		{
			name: "too few without external id", status: 201,
			body: `{"data":[` + noID + `]}`,
			sent: "a b", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "a b",
		},
		{
			name: "another's id echoed", status: 201,
			body: `{"data":[` + addedB + `]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "a",
		},
		{
			name: "all added, and errors", status: 201,
			body: `{"data":[` + addedA + `],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1,
		},
		{
			name: "all added, and Errors in upper case", status: 201,
			body: `{"data":[` + addedA + `],"Errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1,
		},
		{
			name: "all added, and errors of text", status: 201,
			body: `{"data":[` + addedA + `],"errors":["oops"]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1,
		},
		{
			name: "one added under 404", status: 404,
			body: `{"data":[` + addedA + `],"errors":[` + failed + `]}`,
			sent: "a b", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "b",
		},
		{
			name: "all added under 500", status: 500,
			body: `{"data":[` + addedA + `]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1,
		},
		{
			name: "one added under 429", status: 429,
			body: `{"data":[` + addedA + `]}`,
			sent: "a b", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "b",
		},

		{
			name: "as many errors as sent", status: 201,
			body: `{"data":[],"errors":[` + failed + `,` + failed + `]}`,
			sent: "a b", want: commerce.OutcomeRejected,
		},
		{
			name: "all or nothing, one error", status: 200,
			body: `{"data":[],"errors":[` + failed + `]}`,
			sent: "a b", all: true, want: commerce.OutcomeRejected,
		},
		{
			name: "all or nothing, as echoed", status: 200,
			body: `{"errors":[` + failed + `],"options":{"add_all_or_nothing":true}}`,
			sent: "a b", want: commerce.OutcomeRejected,
		},

		{
			name: "fewer errors than sent", status: 200,
			body: `{"data":[],"errors":[` + failed + `]}`,
			sent: "a b", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: errors twice, the last one empty", status: 201,
			body: `{"data":[],"errors":[` + failed + `],"errors":[]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: no data", status: 201,
			body: `{}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: data null", status: 201,
			body: `{"data":null}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: data empty", status: 201,
			body: `{"data":[]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: data of no discounts", status: 201,
			body: `{"data":[{"id":"` + itemID + `","type":"cart_item"},null,5,{}]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: a discount that nothing names, and errors", status: 201,
			body: `{"data":[{"type":"custom_discount","id":"01JA"}],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "400: a discount that nothing names, and errors", status: 400,
			body: `{"data":[{"type":"custom_discount","id":"01JA"}],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
		},
		{
			name: "429: a discount that nothing names", status: 429,
			body: `{"data":[{"type":"custom_discount","amount":{"amount":-1}}]}`,
			sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
		},
		{
			name: "all added, and errors of nothing", status: 201,
			body: `{"data":[` + addedA + `],"errors":[{ },{"\u0061":1}]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1,
		},
		{
			name: "added with an empty error", status: 201,
			body: "{\"data\":[" + addedA + "],\"errors\":[{ },{\n}]}",
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "2xx: null", status: 201,
			body: `null`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{name: "2xx: empty", status: 204, sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse},
		{
			name: "2xx: HTML", status: 200,
			body: `<html>`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: ends early", status: 201,
			body: `{"data":[` + addedA + `]`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: a name twice in data", status: 201,
			body: `{"data":[{"id":"` + itemID + `","external_id":"a","external_id":"b"}]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "2xx: data twice", status: 201,
			body: `{"data":[],"data":[` + addedA + `]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},

		{
			name: "400", status: 400,
			body: `{"errors":[{"title":"Bad Request","detail":"Custom discounts not enabled for this cart"}]}`,
			sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrBadRequest,
		},
		{
			name: "400 with data of text", status: 400,
			body: `{"data":"","errors":[{"title":"A"}]}`,
			sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrBadRequest,
		},
		{
			name: "403 HTML that speaks of data", status: 403,
			body: `<html class="data">`,
			sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrForbidden,
		},
		{name: "401", status: 401, sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrUnauthorized},
		{
			name: "403 HTML", status: 403,
			body: `<html>`,
			sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrForbidden,
		},
		{
			name: "404 with empty data", status: 404,
			body: `{"data":[],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrNotFound,
		},
		{
			name: "404 cut where data may hold discounts", status: 404,
			body: `{"data":[` + addedA + `],"err`,
			sent: "a b", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
		},
		{name: "409", status: 409, sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrConflict},
		{
			name: "422", status: 422,
			body: `{"errors":[{"status":"422","title":"Limit Reached"}]}`,
			sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrUnprocessable,
		},
		{name: "307", status: 307, sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrBadResponse},
		{name: "308", status: 308, sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrBadResponse},

		{name: "408", status: 408, sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown},
		{name: "301", status: 301, sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrBadResponse},
		{name: "302", status: 302, sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown},
		{
			name: "500", status: 500,
			body: `{"errors":[{"status":500,"title":"Internal Server Error"}]}`,
			sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown,
		},
		{
			name: "502 HTML", status: 502,
			body: `<html>`,
			sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrServer,
		},
		{name: "503", status: 503, sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrOutcomeUnknown},
		{name: "504", status: 504, sent: "a", want: commerce.OutcomeUnknown, is: commerce.ErrServer},

		// Two entries with one id are one discount; more than were sent are too many.
		{
			name: "one discount listed twice, two sent", status: 201,
			body: `{"data":[` + addedA + `,` + addedA + `]}`,
			sent: "a a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "a",
		},
		{
			name: "one discount listed twice, one sent", status: 201,
			body: `{"data":[` + addedA + `,` + addedA + `]}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "three discounts for one sent", status: 201,
			body: `{"data":[` + addedA + `,` + againA + `,` + addedB + `]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 3,
		},

		// Names in any letter case, and discounts in places that are not documented.
		{
			name: "Data and Errors", status: 201, body: `{"Data":[` + addedA + `],"Errors":[` + failed + `]}`,
			sent: "a b", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1, unconfirmed: "b",
		},
		{
			name: "429 with DATA", status: 429, body: `{"DATA":[` + addedA + `]}`,
			sent: "a", want: commerce.OutcomePartial, is: commerce.ErrPartialFailure, added: 1,
		},
		{
			name: "data and Data", status: 201, body: `{"data":[],"Data":[` + addedA + `],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "429 with another type", status: 429, body: `{"data":[{"type":"discount","id":"` + itemID + `"}]}`,
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{name: "429 with a bare array", status: 429, body: `[` + addedA + `]`, sent: "a", want: commerce.OutcomeUnknown},
		{name: "422 with a bare array", status: 422, body: `[{"a":1}]`, sent: "a", want: commerce.OutcomeUnknown},
		{name: "422 with an empty array", status: 422, body: ` [ ] `, sent: "a", want: commerce.OutcomeRejected},
		{
			name: "400 with arrays in an array", status: 400,
			body: `[[` + addedA + `]]`,
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{
			name: "201 with arrays in an array", status: 201,
			body: `[[` + addedA + `]]`,
			sent: "a", want: commerce.OutcomeUnreadable,
		},
		{
			name: "201 with arrays in data, and errors", status: 201,
			body: `{"data":[[` + addedA + `]],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomeUnreadable,
		},
		{
			name: "400 with discounts in another member", status: 400, body: `{"custom_discounts":[` + addedA + `]}`,
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{
			name: "201 with discounts in another member, and errors", status: 201,
			body: `{"custom_discounts":[` + addedA + `],"errors":[` + failed + `]}`,
			sent: "a", want: commerce.OutcomeUnreadable,
		},
		{
			name: "422 with a discount deep within", status: 422, body: `{"a":[{"b":{"type":"Custom_Discounts"}}]}`,
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{
			name: "422 with a discount code deep within", status: 422, body: `{"a":[{"b":{"discount_code":null}}]}`,
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{
			name: "422 that names a discount in its errors", status: 422,
			body: `{"errors":[{"title":"x","meta":{"external_id":"a","type":"custom_discount"}}]}`,
			sent: "a", want: commerce.OutcomeRejected, is: commerce.ErrUnprocessable,
		},
		{
			name: "422 with other JSON", status: 422,
			body: `{"message":"no","type":"about:blank"}`,
			sent: "a", want: commerce.OutcomeRejected,
		},
		{name: "422 with a JSON string", status: 422, body: `"no"`, sent: "a", want: commerce.OutcomeRejected},
		{name: "422 with data: {}", status: 422, body: `{"data":{}}`, sent: "a", want: commerce.OutcomeUnknown},

		// Bodies that cannot be read.
		{name: "422 in UTF-16", status: 422, body: "\xff\xfe{\x00}\x00", sent: "a", want: commerce.OutcomeUnknown},
		{name: "422 in UTF-16 without a mark", status: 422, body: "\x00{\x00}", sent: "a", want: commerce.OutcomeUnknown},
		{
			name: "422, compressed with deflate", status: 422, header: "deflate",
			body: "\x4b\x4c",
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{
			name: "422 whose gzip was not removed", status: 422, header: "gzip",
			body: "\x1f\x8b\x08",
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{name: "422, identity", status: 422, header: "identity", body: `{}`, sent: "a", want: commerce.OutcomeRejected},
		{
			name: "201 with a wrong Content-Encoding", status: 201, header: "utf-8", body: `{"data":[` + addedA + `]}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{name: "422 with invalid JSON", status: 422, body: `{"errors":[}`, sent: "a", want: commerce.OutcomeUnknown},
		{
			name: "422 with text after the JSON", status: 422,
			body: `{"errors":[]} too late`,
			sent: "a", want: commerce.OutcomeUnknown,
		},
		{name: "422 with plain text", status: 422, body: `too many discounts`, sent: "a", want: commerce.OutcomeRejected},

		{
			name: "202 with an object that has an id only", status: 202,
			body: `{"data":{"id":"` + itemID + `","name":"My Cart"}}`,
			sent: "a", want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse,
		},
		{
			name: "404 with an object that has an id only", status: 404, body: `{"data":{"id":"` + itemID + `"}}`,
			sent: "a", want: commerce.OutcomeUnknown,
		},

		// Values of errors that say that there is none.
		{
			name: "added, errors: 0", status: 201,
			body: `{"data":[` + addedA + `],"errors":0}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "added, errors: [0]", status: 201,
			body: `{"data":[` + addedA + `],"errors":[0]}`,
			sent: "a", want: commerce.OutcomeApplied, added: 1,
		},
		{
			name: "2xx: errors: 0", status: 201,
			body: `{"data":[],"errors":0}`,
			sent: "a", want: commerce.OutcomeUnreadable,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sent []commerce.NewCustomDiscount
			for externalID := range strings.FieldsSeq(tt.sent) {
				sent = append(sent, discount(externalID))
			}
			s := newStub(t, answerWith(tt.status, tt.body, "X-Request-Id", "req-1", "Content-Encoding", tt.header))
			opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: tt.all}
			res, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, sent, opts)
			if got := commerce.OutcomeOf(err); got != tt.want {
				t.Errorf("outcome = %v, want %v (error %v)", got, tt.want, err)
			}
			if got := len(s.got(t)); got != 1 {
				t.Errorf("%d requests, want 1", got)
			}
			checkBatchError(t, err, tt.status, tt.want, tt.is)
			if (res != nil) != (tt.want == commerce.OutcomePartial || tt.want == commerce.OutcomeApplied) {
				t.Fatalf("result %+v with outcome %v", res, tt.want)
			}
			if res == nil {
				return
			}
			var unconfirmed []string
			for _, d := range res.Unconfirmed {
				unconfirmed = append(unconfirmed, d.ExternalID)
			}
			diff(t, "unconfirmed", strings.Join(unconfirmed, " "), tt.unconfirmed)
			if len(res.Added) != tt.added || res.Response.StatusCode != tt.status || res.Response.RequestID != "req-1" {
				t.Errorf("result %+v, want %d added", res, tt.added)
			}
		})
	}
}

// checkBatchError compares the error of a batch with its outcome.
func checkBatchError(t *testing.T, err error, status int, outcome commerce.Outcome, is error) {
	t.Helper()
	if outcome == commerce.OutcomeApplied {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	var e *commerce.Error
	if !errors.As(err, &e) || e.StatusCode != status || e.Op != "Carts.AddCustomDiscounts" || e.Attempts != 1 {
		t.Fatalf("error = %+v, want status %d and 1 attempt", err, status)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %v does not match %v", err, is)
	}
	for sentinel, want := range map[error]bool{
		commerce.ErrOutcomeUnknown: outcome == commerce.OutcomeUnknown,
		commerce.ErrPartialFailure: outcome == commerce.OutcomePartial,
	} {
		if got := errors.Is(err, sentinel); got != want {
			t.Errorf("error %v is %q: %v, want %v", err, sentinel, got, want)
		}
	}
	if outcome != commerce.OutcomePartial {
		return
	}
	for _, sentinel := range []error{
		commerce.ErrNotFound, commerce.ErrServer, commerce.ErrRateLimited, commerce.ErrBadResponse,
	} {
		if errors.Is(err, sentinel) {
			t.Errorf("a partial success matches %v", sentinel)
		}
	}
}

// A transport that writes a request on two connections at once returns one response.
// What it says does not hold for the other copy.
func TestAddCustomDiscounts_sentTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   commerce.Outcome
	}{
		{name: "refused", status: 404, want: commerce.OutcomeUnknown},
		{name: "rate limited", status: 429, want: commerce.OutcomeUnknown},
		{name: "refused with errors", status: 200, body: `{"errors":[{"title":"x"}]}`, want: commerce.OutcomeUnreadable},
		{name: "added", status: 201, body: `{"data":[{"external_id":"a"}]}`, want: commerce.OutcomeApplied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, func(req *http.Request) (*http.Response, error) {
				hooks := httptrace.ContextClientTrace(req.Context())
				for range 2 {
					hooks.GetConn("store.example:443")
				}
				for range 2 {
					hooks.WroteHeaderField("Host", []string{"store.example"})
				}
				return answer(tt.status, tt.body)(req)
			})
			_, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
			if got := commerce.OutcomeOf(err); got != tt.want {
				t.Errorf("outcome %v, want %v (error %v)", got, tt.want, err)
			}
		})
	}
}

// TestAddCustomDiscounts_causes tells what is behind an answer that can't be used.
func TestAddCustomDiscounts_causes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		responder httpmock.Responder
		cause     string // of the error; "" for none
	}{
		{name: "404 of HTML: the status says it all", responder: answer(404, "<html>")},
		{name: "201 of HTML", responder: answer(201, "<html>"), cause: "unusable response: not a JSON object"},
		{name: "201 that is cut", responder: cutAnswer(201, `{"data":[`), cause: "unusable response: unexpected EOF"},
		{
			name: "201 without a word", responder: answer(201, `{}`),
			cause: "unusable response: the response does not show what was added",
		},
		{name: "302", responder: answer(302, "")},
	} {
		c := newStub(t, tt.responder).client(t)
		_, err := c.Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
		var e *commerce.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		cause := ""
		if e.Err != nil {
			cause = e.Err.Error()
		}
		diff(t, tt.name, cause, tt.cause)
	}
}

// batchBody is the response to a batch, put together from pieces that each say what
// they mean for the table of outcomes.
type batchBody struct {
	text      string
	shown     []shownDiscount // in data, if text can be read
	dataOdd   bool            // data is neither absent nor null nor an array without elements
	errors    int             // entries that say something
	echo      *bool           // options.add_all_or_nothing
	elsewhere bool            // a discount outside of data and errors
	form      string          // object, array, html, text, truncated, trailing, utf-16
	encoding  string
}

// shownDiscount is an element of data; ref is "" if it has no external id.
type shownDiscount struct{ id, ref string }

// chooser makes choices from the bytes of a fuzz input.
type chooser []byte

func (c *chooser) pick(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

func choose[T any](c *chooser, list ...T) T { return list[c.pick(len(list))] }

// newBatchBody builds a response.
func newBatchBody(c *chooser) *batchBody {
	b := &batchBody{}
	var members []string
	if data := b.data(c); data != "" {
		members = append(members, choose(c, `"data"`, `"Data"`, `"DATA"`)+":"+data)
	}
	switch c.pick(6) {
	case 0:
	case 1:
		nothing := choose(c, `null`, `[]`, `0`, `false`, `""`, `{}`, `[{},0]`)
		members = append(members, choose(c, `"errors"`, `"Errors"`)+":"+nothing)
	default:
		b.errors = 1 + c.pick(3)
		entry := choose(c, `{"title":"Limit Reached"}`, `"no"`, `{"meta":{"id":"x","external_id":"a"}}`,
			`{"type":"custom_discount"}`)
		members = append(members, choose(c, `"errors"`, `"ERRORS"`)+":["+strings.Repeat(entry+",", b.errors-1)+entry+"]")
	}
	if c.pick(3) == 0 {
		echo := c.pick(2) == 0
		b.echo = &echo
		members = append(members, fmt.Sprintf(`"options":{"add_all_or_nothing":%v}`, echo))
	}
	switch c.pick(5) {
	case 0:
		b.elsewhere = true
		members = append(members, choose(c, `"custom_discounts":[{"external_id":"a"}]`, `"a":[[{"b":{"Discount_Code":1}}]]`,
			`"a":{"type":"custom_discounts"}`, `"included":{"x":[{"discount_engine":"e"}]}`))
	case 1:
		members = append(members, choose(c, `"meta":{"a":[1,{"type":"cart"}]}`, `"message":"external_id"`, `"type":"error"`))
	}
	b.text = "{" + strings.Join(members, ",") + "}"
	b.reshape(c)
	return b
}

// data returns the value of data, "" for none.
func (b *batchBody) data(c *chooser) string {
	switch c.pick(5) {
	case 0:
		return choose(c, "", "null", "[]", " [ ] ")
	case 1:
		b.dataOdd = true
		return choose(c, `5`, `"x"`, `true`, `{}`, `{"a":{}}`,
			`{"id":"`+itemID+`"}`, `{"type":"cart_item","id":"`+itemID+`"}`)
	}
	var list []string
	for range 1 + c.pick(4) {
		if c.pick(4) == 0 {
			b.dataOdd = true
			list = append(list, choose(c, `null`, `7`, `[]`, `[{"external_id":"a"}]`, `{}`, `{"type":"custom_discount"}`,
				`{"type":"discount","id":"`+itemID+`"}`, `{"EXTERNAL_ID":"a"}`, `{"external_id":"a","external_id":"b"}`))
			continue
		}
		d := shownDiscount{
			id:  choose(c, "", nth(1).String(), nth(2).String(), nth(3).String()),
			ref: choose(c, "a", "b", "c", "d", ""),
		}
		if d.id == "" && d.ref == "" {
			d.ref = "a"
		}
		text := `{"type":"custom_discount"`
		if d.ref != "" && c.pick(3) == 0 {
			text = `{"x":[]`
		}
		if d.id != "" {
			text += `,"id":"` + d.id + `"`
		}
		if d.ref != "" {
			text += `,"external_id":"` + d.ref + `"`
		}
		list = append(list, text+"}")
		b.shown = append(b.shown, d)
	}
	if len(list) == 1 && c.pick(2) == 0 && list[0][0] == '{' {
		return list[0]
	}
	return "[" + strings.Join(list, ",") + "]"
}

// reshape may put the body into another form, which hides what it shows.
func (b *batchBody) reshape(c *chooser) {
	b.form, b.encoding = "object", choose(c, "", "", "", "gzip", "identity", "deflate", "br")
	switch c.pick(16) {
	case 0:
		b.form, b.text = "array", "["+b.text+"]"
	case 1:
		b.form, b.text = "html", choose(c, "<html><body>"+b.text+"</body></html>", "<!DOCTYPE html>")
	case 2:
		b.form, b.text = "text", choose(c, "", "slow down", "429 Too Many Requests", "null", `"external_id"`, "true", " \n")
	case 3:
		b.form, b.text = "broken", b.text[:1+c.pick(len(b.text)-1)]
	case 4:
		b.form, b.text = "broken", b.text+choose(c, "x", "{}", "]")
	case 5:
		b.form, b.text = "binary", "\xff\xfe"+strings.Join(strings.Split(b.text, ""), "\x00")+"\x00"
	case 6:
		b.form, b.text = "empty array", "[ ]"
	}
}

// want reads the table of outcomes in the documentation of the project, row by row.
func (b *batchBody) want(status, sent int, allOrNothing bool) commerce.Outcome {
	isObject, is2xx := b.form == "object", status <= 299
	if b.echo != nil {
		allOrNothing = *b.echo
	}
	// What the body shows: each id once; without ids, each entry counts.
	ids, refs, anonymous, shown := map[string]bool{}, map[string]int{}, 0, 0
	for _, d := range b.shown {
		if d.id != "" && ids[d.id] {
			continue
		}
		ids[d.id] = true
		shown++
		if d.ref == "" {
			anonymous++
		} else {
			refs[d.ref]++
		}
	}
	unconfirmed := 0
	for i := range sent {
		if ref := string(rune('a' + i)); refs[ref] > 0 {
			refs[ref]--
		} else {
			unconfirmed++
		}
	}
	all := unconfirmed <= anonymous && shown <= sent
	if isObject && shown > 0 {
		if is2xx && all && b.errors == 0 {
			return commerce.OutcomeApplied
		}
		return commerce.OutcomePartial
	}
	mayHold := isObject && (b.dataOdd || b.elsewhere) || b.form == "array" || b.form == "broken" || b.form == "binary" ||
		b.encoding != "" && b.encoding != "gzip" && b.encoding != "identity"
	refused := isObject && b.errors > 0 && (b.errors >= sent || allOrNothing)
	switch {
	case is2xx && refused && !mayHold:
		return commerce.OutcomeRejected
	case is2xx:
		return commerce.OutcomeUnreadable
	case !mayHold && (status == 307 || status == 308 || status >= 400 && status <= 499 && status != 408):
		return commerce.OutcomeRejected
	}
	return commerce.OutcomeUnknown
}

// FuzzBatchOutcome builds responses from pieces, and compares the outcome with a
// reading of the table that knows the pieces, and not the body.
func FuzzBatchOutcome(f *testing.F) {
	for seed := range 64 {
		choices := make([]byte, 40)
		for i := range choices {
			choices[i] = byte((seed*31 + i*i*7) ^ seed>>2)
		}
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := chooser(choices)
		status := choose(&c, 200, 201, 207, 301, 307, 308, 400, 401, 404, 408, 409, 421, 422, 425, 429, 500, 502, 503)
		sent, allOrNothing := 1+c.pick(3), c.pick(2) == 0
		b := newBatchBody(&c)
		s := newStub(t, answerWith(status, b.text, "Content-Encoding", b.encoding))
		var batch []commerce.NewCustomDiscount
		for i := range sent {
			batch = append(batch, discount(string(rune('a'+i))))
		}
		client := s.client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
		opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: allOrNothing}
		_, err := client.Carts.AddCustomDiscounts(bg, cartID, batch, opts)
		if got, want := commerce.OutcomeOf(err), b.want(status, sent, allOrNothing); got != want {
			t.Errorf("outcome %v, want %v; status %d, %d sent, all or nothing %v, Content-Encoding %q, body\n%s",
				got, want, status, sent, allOrNothing, b.encoding, b.text)
		}
		// The retry decision reads the same response: it repeats what was rejected only.
		again := 0
		counted := tripper(func(req *http.Request) (*http.Response, error) {
			again++
			return answerWith(status, b.text, "Content-Encoding", b.encoding)(req)
		})
		client = s.client(t, commerce.WithHTTPClient(&http.Client{Transport: counted}))
		_, err = client.Carts.AddCustomDiscounts(bg, cartID, batch, opts)
		isRetried := status == 421 || status == 425 || status == 429
		if want := commerce.OutcomeOf(err) == commerce.OutcomeRejected && isRetried; again > 1 != want {
			t.Errorf("sent %d times with outcome %v; status %d, body\n%s", again, commerce.OutcomeOf(err), status, b.text)
		}
	})
}
