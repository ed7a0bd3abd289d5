package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const twoDiscounts = `[
	{"amount": -100, "description": "d", "discount_code": "c", "discount_engine": "e", "external_id": "1"},
	{"amount": -200, "description": "d", "discount_code": "c", "discount_engine": "e", "external_id": "2"}]`

// onCart returns the external ids of the discounts on a cart.
func onCart(s *commercetest.Store, cart string) string {
	var ids []string
	for _, d := range s.Discounts(cart) {
		ids = append(ids, d.DiscountEngine+"/"+d.ExternalID+d.Amount.Amount.String())
	}
	return strings.Join(ids, " ")
}

func add(s *commercetest.Store, cart, engine, id string) { addAmount(s, cart, engine, id, -1) }

func addAmount(s *commercetest.Store, cart, engine, id string, amount int64) {
	s.AddDiscount(cart, commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(amount)}, DiscountEngine: engine, ExternalID: id,
		Description: "d", DiscountCode: "c",
	})
}

func TestApply(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		flags    []string
		stdin    string
		terminal bool
		faults   []commercetest.Fault
		code     int
		cart     string // what is on it afterwards
		plan     string // the signs of the changes
	}{
		"add":            {flags: []string{"--yes", "--update"}, cart: "e/1-100 x/1-1 e/2-200", plan: "~+"},
		"prune":          {flags: []string{"-y", "--update", "--prune", "--engine=x"}, cart: "e/1-100 e/2-200", plan: "-~+"},
		"dry run":        {flags: []string{"--dry-run", "--update"}, cart: "e/1-1 x/1-1", plan: "~+"},
		"no terminal":    {flags: []string{"--update"}, code: exitUsage, cart: "e/1-1 x/1-1"},
		"without update": {flags: []string{"--yes"}, code: exitUnfinished, cart: "e/1-1 x/1-1 e/2-200", plan: "+!"},
		"refused": {
			flags: []string{"--yes"}, faults: []commercetest.Fault{{Operation: commercetest.OpAdd, Status: 403}},
			code: exitFailed, cart: "e/1-1 x/1-1", plan: "+!",
		},
		"response lost": {
			flags:  []string{"--yes", "--update"},
			faults: []commercetest.Fault{{Operation: commercetest.OpAdd, Status: 504, Apply: true}},
			cart:   "e/1-100 x/1-1 e/2-200", plan: "~+",
		},
		"in doubt": {
			flags: []string{"--yes", "--update"},
			faults: []commercetest.Fault{
				{Operation: commercetest.OpAdd, Status: 504}, {Operation: commercetest.OpCart, After: 2, Status: 403, Times: -1},
			},
			code: exitUnfinished, cart: "e/1-100 x/1-1", plan: "~+",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cart := s.AddCart(commerce.CartItemRef{})
			add(s, cart, "e", "1")
			add(s, cart, "x", "1")
			s.Inject(row.faults...)
			args := append([]string{"discounts", "apply", cart, "-"}, row.flags...)
			got := caller{env: storeEnv(s), stdin: twoDiscounts}.run(t, args...)
			if got.code != row.code || onCart(s, cart) != row.cart {
				t.Errorf("got %+v and the cart %q, want exit code %d and %q", got, onCart(s, cart), row.code, row.cart)
			}
			signs := ""
			for line := range strings.Lines(got.stdout) {
				if signs += line[12:13]; line[0] == ' ' { // an error
					signs = signs[:len(signs)-1]
				}
			}
			if signs != row.plan {
				t.Errorf("got the plan\n%swant the changes %s", got.stdout, row.plan)
			}
			if row.code == exitFailed && !strings.Contains(got.stderr, "known: nothing was changed") {
				t.Errorf("got %q, want what is known", got.stderr)
			}
		})
	}
}

// FILE of apply may have what editors and the service put around the list.
func TestApply_file(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"array":              {text: twoDiscounts},
		"object":             {text: `{"data": ` + twoDiscounts + `, "errors": []}`},
		"byte order mark":    {text: "\uFEFF" + twoDiscounts},
		"mark and object":    {text: "\uFEFF" + ` {"data": ` + twoDiscounts + `}`},
		"UTF-16":             {text: "\xff\xfe[\x00]\x00", want: "it is UTF-16"},
		"UTF-16, big endian": {text: "\xfe\xff\x00[\x00]", want: "it is UTF-16"},
		"an object":          {text: `{"list": ` + twoDiscounts + `}`, want: "neither an array nor an object"},
		"data is an object":  {text: `{"data": {"amount": 1}}`, want: "neither an array"},
		"data is null":       {text: `{"data": null}`, want: "neither an array"},
		"null":               {text: `null`, want: "neither an array"},
		"half":               {text: twoDiscounts[:30], want: "neither an array"},
		"empty":              {text: "", want: "neither an array"},
		"no discount":        {text: `{"data": []}`, want: "FILE has no discounts"},
		"unknown member":     {text: `[{"amount": -1, "extern_id": "x"}]`, want: "discount 1 of FILE"},
		"invalid":            {text: `[{"amount": 1}]`, want: "discount 1: "},
		"a point":            {text: `[{"amount": -10.00}]`, want: "must be in the smallest unit"},
		"a text":             {text: `[{"amount": "-10.00"}]`, want: "must be in the smallest unit"},
		"a fraction":         {text: `[{"amount": -5e-1}]`, want: "must be in the smallest unit"},
		"twice":              {text: `[{"amount": -1, "amount": -2}]`, want: "discount 1 of FILE: duplicate"},
		"a wrong one":        {text: `[{}, {"amount": "x"}]`, want: "discount 2 of FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cart := s.AddCart(commerce.CartItemRef{})
			path := filepath.Join(t.TempDir(), "discounts.json")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := caller{env: storeEnv(s)}.run(t, "discounts", "apply", cart, path, "--yes")
			if row.want == "" && (got.code != 0 || onCart(s, cart) != "e/1-100 e/2-200") {
				t.Errorf("got %+v and %q, want both discounts", got, onCart(s, cart))
			}
			if row.want != "" && (got.code != exitUsage || !strings.Contains(got.stderr, row.want)) {
				t.Errorf("got %+v, want exit code %d and %q", got, exitUsage, row.want)
			}
		})
	}
}

// add is apply with one discount, and reads its flags.
func TestAdd(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{Type: commerce.ItemTypeCustomItem})
	item := s.CartItems(cart)[0].ID.String()
	args := []string{
		"discounts", "add", cart, "--amount=-500", "--engine=e", "--external-id=1", "--code=c", "--description=d",
	}
	c := caller{env: storeEnv(s)}
	for name, row := range map[string]struct {
		flags []string
		code  int
		cart  string
	}{
		"dry run":   {flags: []string{"--dry-run"}},
		"no flags":  {code: exitUsage},
		"no amount": {flags: []string{"--yes", "--amount=0"}, code: exitUsage},
		"bad item":  {flags: []string{"--yes", "--item=x"}, code: exitUsage},
		"no item":   {flags: []string{"--yes", "--item=" + unknownID}, code: exitUsage},
	} {
		if got := c.run(t, append(slices.Clone(args), row.flags...)...); got.code != row.code || onCart(s, cart) != "" {
			t.Errorf("%s: got %+v, want exit code %d and no discount", name, got, row.code)
		}
	}
	for range 2 {
		for _, flags := range [][]string{{"--yes"}, {"--yes", "--item", item, "--external-id", "2"}} {
			if got := c.run(t, append(slices.Clone(args), flags...)...); got.code != 0 {
				t.Errorf("got %+v, want exit code 0", got)
			}
		}
	}
	if got := onCart(s, cart); got != "e/1-500 e/2-500" || s.Discounts(cart)[1].Item == nil {
		t.Errorf("the cart has %q, want one for the cart and one for its item", got)
	}
}

// What show prints as JSON, apply puts on another cart.
func TestShow_appliesAgain(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	first, second := s.AddCart(commerce.CartItemRef{}), s.AddCart(commerce.CartItemRef{})
	add(s, first, "e", "1")
	add(s, first, "x", "2")
	shown := caller{env: storeEnv(s)}.run(t, "discounts", "show", first, "-o", "json")
	got := caller{env: storeEnv(s), stdin: shown.stdout}.run(t, "discounts", "apply", second, "-", "--yes")
	if got.code != 0 || onCart(s, second) != onCart(s, first) {
		t.Errorf("%s: got %+v and %q, want %q", shown.stdout, got, onCart(s, second), onCart(s, first))
	}
}

// A discount that is there twice is found before a change, unless the change repairs it.
func TestApply_doubled(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{})
	for range 2 {
		addAmount(s, cart, "e", "1", -100)
	}
	c := caller{env: storeEnv(s), stdin: twoDiscounts}
	got := c.run(t, "discounts", "apply", cart, "-", "--dry-run")
	isFirst := strings.HasPrefix(got.stdout, "not tried   -  -$1.00 ") &&
		strings.Contains(got.stdout, "\nunchanged   =  -$1.00 ") // the other copy
	if got.code != 0 || strings.Contains(got.stderr, "doubled") || !isFirst {
		t.Errorf("got %+v, want a plan that deletes one, and exit code 0", got)
	}
	if got := c.run(t, "discounts", "apply", cart, "-", "--yes"); got.code != 0 || onCart(s, cart) != "e/1-100 e/2-200" {
		t.Errorf("got %+v and %q, want each once", got, onCart(s, cart))
	}
}

func TestEnable(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	cart := s.AddCart(commerce.CartItemRef{})
	for _, row := range []struct {
		c    caller
		args []string
		code int
		want string
	}{
		{code: exitUsage, want: "needs --yes"},
		{c: caller{terminal: true, stdin: "n\n"}, code: exitFailed, want: capital(mayEnd)},
		{c: caller{terminal: true, stdin: "y\n"}, want: "1 done"},
		{args: []string{"--yes"}, want: "nothing to do"},
	} {
		row.c.env = storeEnv(s)
		got := row.c.run(t, append([]string{"discounts", "enable", cart}, row.args...)...)
		if got.code != row.code || !strings.Contains(got.stderr, row.want) {
			t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.want)
		}
	}
	add := []string{"discounts", "apply", cart, "-", "--yes"}
	if got := (caller{env: storeEnv(s), stdin: twoDiscounts}).run(t, add...); got.code != 0 {
		t.Errorf("after enable: got %+v, want the discounts on the cart", got)
	}
}

// Promotions may stay on the cart, or the service may refuse to enable it: no advice leads back to
// a command that was tried.
func TestEnable_promotions(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{PromotionsStay: true})
	cart := s.AddCart(commerce.CartItemRef{})
	s.AddPromotion(cart)
	s.Inject(commercetest.Fault{
		Operation: commercetest.OpUpdateCart, Status: 422,
		Body: `{"status":422,"title":"Cannot use both discounts together"}`,
	})
	const enable = "discounts enable CART --yes"
	for _, row := range []struct {
		name, command string
		code          int
		want          string
	}{
		{name: "refused", command: enable, code: exitFailed, want: "or take another cart"},
		{name: "enabled", command: enable, want: "1 done"},
		{name: "checked", command: "carts check CART", code: exitFailed, want: "or take another cart"},
		{name: "applied", command: "discounts apply CART - --yes", code: exitFailed, want: "or take another cart"},
	} {
		c := caller{env: storeEnv(s), stdin: twoDiscounts}
		got := c.run(t, strings.Fields(strings.ReplaceAll(row.command, "CART", cart))...)
		all := got.stdout + got.stderr
		if got.code != row.code || !strings.Contains(all, row.want) || strings.Contains(all, "to do: epcommerce") {
			t.Errorf("%s: got %+v, want exit code %d, %q and no command", row.name, got, row.code, row.want)
		}
	}
}

// A write in doubt is no success, also if the call had no error.
func TestReport_inDoubt(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	inDoubt := []commerce.NewCustomDiscount{{DiscountEngine: "e", ExternalID: "1"}}
	s := &shop{environment: &environment{stderr: &stderr, output: "json"}}
	l := s.resultOf(t.Context(), &commerce.CustomDiscountsResult{InDoubt: inDoubt}, nil, resultDone, nil)
	err := l.finish(t.Context(), l.print(&stderr, "csv"))
	exit, ok := errors.AsType[*exitError](err)
	if !ok || exit.code != exitUnfinished || !strings.Contains(stderr.String(), "\nadd,in doubt,,e,1,0,") {
		t.Errorf("got %v and %q, want exit code %d and the discount", err, stderr.String(), exitUnfinished)
	}
}

const unknownID = "11111111-1111-4111-8111-111111111111"

func TestRemove(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		flags []string
		reply string
		code  int
		cart  string
		says  string // on standard error
	}{
		"engine, yes": {flags: []string{"--engine", "e"}, reply: "y\n", cart: "x/1-1"},
		"engine, no":  {flags: []string{"--engine", "e"}, reply: "n\n", code: exitFailed, cart: "e/1-1 x/1-1"},
		"no reply":    {flags: []string{"--engine", "e"}, code: exitFailed, cart: "e/1-1 x/1-1"},
		"unknown": {
			flags: []string{"--engine", "z"}, cart: "e/1-1 x/1-1", says: `no discount of "z"; its engines are e: 1, x: 1`,
		},
		"unknown id":    {flags: []string{"--id", unknownID}, cart: "e/1-1 x/1-1", says: unknownID},
		"no id":         {flags: []string{"--id", "nonsense"}, code: exitUsage, cart: "e/1-1 x/1-1", says: "--id"},
		"no engine":     {flags: []string{"--engine", ""}, code: exitUsage, cart: "e/1-1 x/1-1", says: "--engine"},
		"spaces":        {flags: []string{"--engine", "e "}, code: exitUsage, cart: "e/1-1 x/1-1", says: "--engine"},
		"upper case":    {flags: []string{"--id", "UPPER"}, reply: "y\n", cart: "e/1-1"},
		"id":            {flags: []string{"--id", "ID"}, reply: "YES\n", cart: "e/1-1"},
		"engine and id": {flags: []string{"--id", "ID", "--engine", "e", "--yes"}, cart: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cart := s.AddCart(commerce.CartItemRef{})
			add(s, cart, "e", "1")
			add(s, cart, "x", "1")
			args := append([]string{"discounts", "remove", cart}, row.flags...)
			for i := range args {
				id := s.Discounts(cart)[1].ID.String()
				args[i] = strings.NewReplacer("ID", id, "UPPER", strings.ToUpper(id)).Replace(args[i])
			}
			got := caller{env: storeEnv(s), stdin: row.reply, terminal: true}.run(t, args...)
			if got.code != row.code || onCart(s, cart) != row.cart || !strings.Contains(got.stderr, row.says) {
				t.Errorf("got %+v and the cart %q, want exit code %d, %q and %q",
					got, onCart(s, cart), row.code, row.cart, row.says)
			}
		})
	}
}

// A program that is interrupted while it asks changes nothing.
func TestConfirm_interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	after := func(*commercetest.Store, commercetest.Request) { cancel() }
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true, AfterRequest: after})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	c := caller{ctx: ctx, env: storeEnv(s), terminal: true}
	got := c.run(t, "discounts", "remove", cart, "--engine", "e")
	if got.code != exitInterrupted || onCart(s, cart) == "" {
		t.Errorf("got %+v, want exit code %d and the cart as before", got, exitInterrupted)
	}
}

// A request for a cart that nobody has makes it, and says so. So does the removal of nothing.
func TestDiscounts_unknownCart(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	for _, args := range []string{
		"enable unknown-1 --yes", "remove unknown-2 --id " + unknownID, "remove unknown-3 --engine e", "show unknown-4",
	} {
		got := caller{env: storeEnv(s)}.run(t, append([]string{"discounts"}, strings.Fields(args)...)...)
		if got.code != 0 || !strings.Contains(got.stderr, "has no items: the id may be wrong") {
			t.Errorf("%s: got %+v, want a warning that the id may be wrong", args, got)
		}
	}
	cart := s.AddCart(commerce.CartItemRef{})
	got := caller{env: storeEnv(s)}.run(t, "discounts", "remove", cart, "--id", unknownID)
	if got.code != 0 || !strings.Contains(got.stderr, "the cart has no discount with the id "+unknownID) {
		t.Errorf("got %+v, want that the cart has no such discount", got)
	}
}

// A plan after which the customer would pay less than 0 is named before it is carried out.
func TestApply_belowZero(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true}) // the item costs $100.00
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	c := caller{env: storeEnv(s)}
	for _, row := range []struct {
		id, amount string
		code       int
	}{
		{id: "2", amount: "-99.99"}, {id: "2", amount: "-100.00", code: exitFailed}, {id: "1", amount: "-100.00"},
		{id: "1", amount: "-100.01", code: exitFailed},
	} {
		got := c.run(t, "discounts", "add", cart, "--amount", row.amount, "--engine", "e", "--external-id", row.id,
			"--code", "c", "--description", "d", "--update", "--dry-run")
		if got.code != row.code || strings.Contains(got.stderr, "the customer pays -0.01 USD") != (row.code != 0) {
			t.Errorf("%+v: got %+v, want exit code %d", row, got, row.code)
		}
	}
}

// A removal that ends early says that a part was changed.
func TestRemove_ends(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	add(s, cart, "e", "2")
	s.Inject(commercetest.Fault{
		Operation: commercetest.OpDeleteDiscount, After: 1, Status: 422, Body: `{"errors": [{"title": "No"}]}`,
	})
	c := caller{env: storeEnv(s)}
	got := c.run(t, "discounts", "remove", cart, "--engine", "e", "--yes")
	if got.code != exitUnfinished || !strings.Contains(got.stderr, "1 done, 1 failed") ||
		!strings.Contains(got.stderr, "known: a part was changed") {
		t.Errorf("got %+v, want exit code %d and a part", got, exitUnfinished)
	}
	if got := c.run(t, "discounts", "remove", cart, "--engine", "e", "--yes"); got.code != 0 || onCart(s, cart) != "" {
		t.Errorf("got %+v and %q, want none left", got, onCart(s, cart))
	}
}

// A plan that empties a full cart is not checked as if it changed nothing.
func TestApply_prunesAll(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true, CartDiscountLimit: 2})
	cart := s.AddCart(commerce.CartItemRef{})
	add(s, cart, "e", "1")
	add(s, cart, "e", "1")
	c := caller{env: storeEnv(s), stdin: "[]"}
	got := c.run(t, "discounts", "apply", cart, "-", "--prune", "--engine", "e", "--dry-run")
	if got.code != 0 || got.stderr != "" || strings.Count(got.stdout, "not tried   -  ") != 2 {
		t.Errorf("got %+v, want two deletions and no warning", got)
	}
}
