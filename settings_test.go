package commerce_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/commerce-go/commerce"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, data string
		want       commerce.Settings
	}{
		{
			name: "all",
			data: `{"custom_discount_limit":7,"page_length":25,"page_offset_limit":9000,"calculation_method":"simple"}`,
			want: commerce.Settings{
				CustomDiscountLimit: 7, PageLength: 25, PageOffsetLimit: 9000, CalculationMethod: "simple",
			},
		},
		{name: "nothing", data: `{}`, want: commerce.Settings{CustomDiscountLimit: 5}},
		{
			name: "null", data: `{"custom_discount_limit":null,"page_length":null}`,
			want: commerce.Settings{CustomDiscountLimit: 5},
		},
		{name: "a limit of 0", data: `{"custom_discount_limit":0}`},
		{
			name: "other members", data: `{"type":"settings","new":[1]}`,
			want: commerce.Settings{CustomDiscountLimit: 5, Extra: commerce.Extra{
				"type": json.RawMessage(`"settings"`), "new": json.RawMessage(`[1]`),
			}},
		},
	} {
		s := newStub(t, respond(503, ""), respond(200, `{"data":[]}`), respond(200, `{"data":`+tt.data+`}`))
		got, err := s.client(t).Settings(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		diff(t, tt.name, *got, tt.want)
		checkRoundTrip(t, encode(t, got), tt.want)
		if sent := s.sent()[2]; sent.Method != "GET" || sent.Path != "/v2/settings" || sent.RawQuery != "" {
			t.Errorf("%s: request = %+v, want GET /v2/settings", tt.name, sent)
		}
	}
}

func TestSettings_errors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `x`, `[]`, `null`, `{}`, `{"data":null}`, `{"data":[]}`, `{"data":5}`, `{"data":{`,
		`{"data":{},"errors":[{"title":"x"}]}`, `{"data":{},"ERRORS":{"title":"x"}}`,
		`{"data":{"custom_discount_limit":"8"}}`, `{"data":{"custom_discount_limit":8.5}}`,
		`{"data":{"page_offset_limit":true}}`,
	} {
		_, err := newStub(t, respond(200, body)).client(t, attempts(1)).Settings(t.Context())
		checkError(t, err, commerce.Error{
			Op: "Client.Settings", StatusCode: 200, Outcome: commerce.OutcomeNone, Attempts: 1,
		})
		if !errors.Is(err, commerce.ErrBadResponse) {
			t.Errorf("%s: error %v, want ErrBadResponse", body, err)
		}
	}
}
