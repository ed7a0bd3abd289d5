package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
)

// A printed command names the store that is in use, and a shell reads each of its words as it is.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for want, row := range map[string]struct {
		e       environment
		command string
	}{
		"epcommerce doctor":                             {command: "doctor"},
		"epcommerce --demo discounts show demo":         {environment{demo: true, cart: "demo"}, "discounts show CART"},
		"epcommerce --store b discounts show c":         {environment{store: "b", cart: "c"}, "discounts show CART"},
		`epcommerce --env-file 'it'\''s $1.env' doctor`: {environment{envFile: "it's $1.env"}, "doctor"},
		"epcommerce discounts remove --id 1 -- -c":      {environment{cart: "-c"}, "discounts remove CART --id 1"},
		"epcommerce discounts show 'a;b'":               {environment{cart: "a;b"}, "discounts show CART"},
		"epcommerce api GET v2/carts/a%20b/items":       {environment{cart: "a b"}, "api GET v2/carts/CART/items"},
	} {
		if got := row.e.line(row.command); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// storeFile writes a file that names a store, and returns its path.
func storeFile(t *testing.T, path string, s *commercetest.Store) string {
	t.Helper()
	text := "COMMERCE_BASE_URL=" + s.URL() + "\nCOMMERCE_TOKEN=" + commercetest.DefaultToken + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Somebody runs two shops, and pastes what a command on the second one prints: the first one, which
// the environment names, stays as it is.
func TestPaste_otherStore(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"file": {"--env-file", ""}, "name": {"--store", "second"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := filepath.Join(t.TempDir(), "it's here")
			first, second := commercetest.New(t, commercetest.Config{}), commercetest.New(t, commercetest.Config{})
			cart := first.AddCart(commerce.CartItemRef{}) // the ids of both stores are the same
			if other := second.AddCart(commerce.CartItemRef{}); other != cart {
				t.Fatalf("got the carts %s and %s, want the same id", cart, other)
			}
			path := storeFile(t, filepath.Join(config, "epcommerce", "second.env"), second)
			if flags[1] == "" {
				flags = []string{flags[0], path}
			}
			env := storeEnv(first)
			env["XDG_CONFIG_HOME"] = config
			c := caller{env: env}
			got := c.run(t, append([]string{"carts", "check", cart}, flags...)...)
			printed := printedCommand.FindStringSubmatch(got.stdout)
			if printed == nil {
				t.Fatalf("got %+v, want a command", got)
			}
			if got := c.run(t, append(shellWords(t, printed[1]), "--yes")...); got.code != 0 {
				t.Errorf("%s: got %+v, want exit code 0", printed[1], got)
			}
			isEnabled := func(s *commercetest.Store) bool {
				c, err := s.Client().Carts.Get(t.Context(), cart)
				return err == nil && c.CustomDiscountsEnabled
			}
			if isEnabled(first) || !isEnabled(second) {
				t.Errorf("enabled in the first store: %t, in the second: %t, want the second only",
					isEnabled(first), isEnabled(second))
			}
		})
	}
}

// Each advice with a command can be pasted, in a cart of any id.
func TestTodos_commands(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	all := map[string]step{"again": again, "may be late": mayBeLate}
	for name, todo := range todos {
		all[name] = todo
	}
	for _, cart := range []string{s.AddCart(commerce.CartItemRef{}), "-starts-with-a-dash", "quote'"} {
		for _, todo := range all {
			if text := (&environment{cart: cart}).todo(todo); todo.command != "" {
				caller{env: storeEnv(s)}.paste(t, text)
				if strings.Contains(text, "CART") || !printedCommand.MatchString(text) {
					t.Errorf("got %q, want a command with the cart %s", text, cart)
				}
			}
		}
	}
	if text := (&environment{}).todo(takesMore); printedCommand.MatchString(text) {
		t.Errorf("without a cart: got %q, want no command", text)
	}
}

// An error without an advice of its own has that of its remedy.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const change = "correct what the service names"
	refused := func(status int, errs ...commerce.ErrorObject) error {
		return &commerce.Error{StatusCode: status, Errors: errs, Outcome: commerce.OutcomeRejected}
	}
	title := commerce.ErrorObject{Title: "No"}
	unknown := &commerce.Error{Op: "Carts.SetCustomDiscounts", Err: commerce.ErrTimeout}
	ofAPI := &commerce.Error{Op: "Client.Do", Err: commerce.ErrTimeout}
	for name, row := range map[string]struct {
		err  error
		e    environment
		want string
	}{
		"no response": {
			err: &commerce.Error{Outcome: commerce.OutcomeNone, Err: commerce.ErrTimeout}, want: again.text,
		},
		"server error":       {err: refused(500, title), want: again.text},
		"refused":            {err: refused(422, title), want: change},
		"refused, no name":   {err: refused(415, title), want: change},
		"of its own":         {err: refused(404, title), want: "check the id"},
		"a path":             {err: refused(404, title), e: environment{isAPI: true}, want: "paths begin with v2"},
		"of the tool":        {err: errors.New("x")},
		"forbidden":          {err: refused(403, title), want: "use client credentials that may"},
		"an HTML page":       {err: refused(403, commerce.ErrorObject{Detail: "<html>"}), want: "a gateway or a firewall"},
		"offset limit":       {err: &commerce.PagingError{Err: commerce.ErrOffsetLimit}, want: "select fewer"},
		"drift":              {err: &commerce.PagingError{Err: commerce.ErrListDrift}, want: "run the same command again"},
		"no progress":        {err: &commerce.PagingError{Err: commerce.ErrNoProgress}, want: again.text},
		"an API in doubt":    {err: ofAPI, e: environment{isAPI: true}, want: "sends the request again"},
		"in doubt":           {err: unknown, want: "first finds out what was done"},
		"a cart is in doubt": {err: unknown, e: environment{cart: "c"}, want: "wait a minute"},
		"Redis": {
			err: fmt.Errorf("%w: %w", commerce.ErrLock, rediscommerce.ErrUnavailable), want: "COMMERCE_REDIS_URL",
		},
	} {
		if got := row.e.advice(row.err); !strings.Contains(got, row.want) || (row.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

// Texts for people have no names of Go, and count from 1.
func TestDescribe(t *testing.T) {
	t.Parallel()
	const none = commerce.OutcomeNone
	notFound := &commerce.Error{Op: "Client.Do", StatusCode: 404, Outcome: none}
	invalid := &commerce.ValidationError{Fields: []commerce.FieldError{
		{Index: 0, Field: "amount", Message: "must be less than zero"},
		{Index: -1, Field: "engines", Message: "are wrong"},
	}}
	for want, err := range map[string]error{
		"404 Not Found":             notFound,
		"after 3: 404 Not Found":    fmt.Errorf("after 3: %w", notFound),
		"token: 401 Unauthorized":   &commerce.Error{Op: "token", StatusCode: 401, Outcome: none},
		"the server cannot be used": rediscommerce.ErrUnavailable,
		"discount 1: amount must be less than zero; engines are wrong": invalid,
		"walk stopped after 0 records: 500 Internal Server Error": &commerce.PagingError{
			Err: &commerce.Error{Op: "Walk", StatusCode: 500, Outcome: none},
		},
	} {
		if got := (&environment{}).describe(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// After a write without a response the tool says how long to wait, and what shows a copy.
func TestExplain_inDoubt(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]commercetest.Fault{
		"unread": {
			{Operation: commercetest.OpAdd, Cut: true},
			{Operation: commercetest.OpCart, After: 2, Status: 500, Times: -1},
		},
		"sent twice": {{Operation: commercetest.OpAdd, Status: 504, Late: true, Delay: 1 << 40}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cart := s.AddCart(commerce.CartItemRef{})
			s.Inject(faults...)
			got := caller{env: storeEnv(s), stdin: twoDiscounts}.run(t, "discounts", "apply", cart, "-", "--yes")
			check := "    epcommerce carts check " + cart
			isSaid := strings.Contains(got.stderr, "wait a minute") && strings.Contains(got.stderr, check)
			if got.code != exitUnfinished || !isSaid {
				t.Errorf("got %+v, want exit code %d, how long to wait, and carts check", got, exitUnfinished)
			}
		})
	}
}

// What is known about writes is said of commands that write.
func TestExplain_reads(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(1)
	cart := s.AddCart(commerce.CartItemRef{})
	s.Inject(commercetest.Fault{Status: 422, Body: `{"errors":[{"title":"No"}]}`, Times: -1})
	for _, row := range []struct {
		args  string
		known bool
	}{
		{args: "subscriptions list"}, {args: "subscriptions get " + uuid.NewString()}, {args: "discounts show " + cart},
		{args: "carts check " + cart}, {args: "api GET /v2/settings"},
		{args: "api PUT /v2/settings/cart --yes", known: true},
	} {
		got := caller{env: storeEnv(s)}.run(t, strings.Fields(row.args)...)
		if got.code != exitFailed || strings.Contains(got.stderr, "known: ") != row.known {
			t.Errorf("%s: got %+v, want what is known about writes: %t", row.args, got, row.known)
		}
	}
}
