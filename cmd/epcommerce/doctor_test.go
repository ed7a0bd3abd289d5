package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{DiscountsEnabled: true}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(5)
		cart := s.AddCart(commerce.CartItemRef{})
		got := caller{env: storeEnv(s)}.run(t, "doctor", "--cart", cart)
		if got.code != 0 || strings.Contains(got.stdout, "FAIL") || strings.Count(got.stdout, "\n") != 7 {
			t.Errorf("got %+v, want 7 checks without a failure", got)
		}
		if want := s.Config().Generation.String() + " generation"; !strings.Contains(got.stdout, want) {
			t.Errorf("got %q, want %q", got.stdout, want)
		}
	})
}

func TestDoctor_failures(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		config  commercetest.Config
		prepare func(*commercetest.Store)
		env     map[string]string
		want    string
	}{
		"wrong token":        {env: map[string]string{"COMMERCE_TOKEN": "x"}, want: "FAIL  token"},
		"no server":          {env: map[string]string{"COMMERCE_BASE_URL": "http://127.0.0.1:1"}, want: "FAIL  address"},
		"discounts disabled": {config: commercetest.Config{CartDiscountLimit: -1}, want: "FAIL  cart"},
		"accounts refused": {
			prepare: func(s *commercetest.Store) {
				s.Inject(commercetest.Fault{Operation: commercetest.OpAccounts, Status: 403, Times: -1})
			},
			want: "FAIL  accounts",
		},
		"simple calculation": {
			prepare: func(s *commercetest.Store) {
				body := `{"data": {"calculation_method": "simple"}}`
				s.Inject(commercetest.Fault{Operation: commercetest.OpSettings, Status: 200, Body: body, Times: -1})
			},
			want: "FAIL  settings",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, row.config)
			if row.prepare != nil {
				row.prepare(s)
			}
			env := storeEnv(s)
			for name, value := range row.env {
				env[name] = value
			}
			got := caller{env: env}.run(t, "doctor", "--cart", s.AddCart(commerce.CartItemRef{}))
			if got.code != exitFailed || !strings.Contains(got.stdout, row.want) || !strings.Contains(got.stdout, "to do: ") {
				t.Errorf("got %+v, want %q and what to do", got, row.want)
			}
		})
	}
}

func TestDoctor_clock(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		s.ServeHTTP(w, r)
	}))
	defer late.Close()
	env := storeEnv(s)
	env["COMMERCE_BASE_URL"] = late.URL
	if got := (caller{env: env}).run(t, "doctor"); !strings.Contains(got.stdout, "FAIL  clock") {
		t.Errorf("got %+v, want a clock that is an hour ahead", got)
	}
}
