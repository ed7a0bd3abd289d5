package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// discountRecord returns how a discount is printed. change is "" or what will happen to it.
func discountRecord(d commerce.CustomDiscount, change string) record {
	item := "the cart"
	if d.Item != nil {
		item = d.Item.ID.String()
	}
	engine, external, amount := plain(d.DiscountEngine), plain(d.ExternalID), plain(d.Amount.String())
	r := record{object: d, cells: []cell{
		{"id", id(d.ID)},
		{"discount_engine", d.DiscountEngine},
		{"external_id", d.ExternalID},
		{"amount", d.Amount.Amount.String()},
		{"currency", d.Amount.Currency},
		{"discount_code", d.DiscountCode},
		{"description", d.Description},
		{"item", item},
	}}
	if change == "" {
		r.lines = line([]int{32, 32, 12}, engine, external, amount) + line([]int{38, 38}, "  "+id(d.ID), item)
		return r
	}
	r.cells = append([]cell{{"change", change}}, r.cells...)
	r.object = map[string]any{"change": change, "discount": d}
	r.lines = line([]int{1, 30, 31, 12}, change, engine, external, amount)
	if d.Item != nil {
		r.lines += "   on item " + item + "\n"
	}
	return r
}

const discountHead = `ENGINE                            EXTERNAL ID                       AMOUNT
  ID                                    ITEM
`

func newShowCommand(e *environment) *cobra.Command {
	short := "Show the custom discounts of a cart and its items, and the totals"
	return e.command("show CART", short, func(ctx context.Context, s *shop, args []string) error {
		cart, err := s.Carts.Get(ctx, args[0])
		if err != nil {
			return err
		}
		total := &cart.DisplayPrice
		if e.output == "json" {
			return json.NewEncoder(e.stdout).Encode(map[string]any{
				"cart": cart.ID, "custom_discounts_enabled": cart.CustomDiscountsEnabled,
				"display_price": total, "custom_discounts": append([]commerce.CustomDiscount{}, cart.CustomDiscounts...),
			})
		}
		p := e.newPrinter(discountHead, discountRecord(commerce.CustomDiscount{}, ""))
		for _, d := range cart.CustomDiscounts {
			p.print(discountRecord(d, ""))
		}
		if p.format == "table" {
			totals := fmt.Sprintf("%d discounts: %s of %s, the customer pays %s",
				p.n, total.Discount, total.WithoutDiscount, total.WithTax)
			_, _ = p.out.WriteString(plain(totals) + "\n")
		}
		return p.end()
	})
}

func newApplyCommand(e *environment) *cobra.Command {
	opts := commerce.EnsureCustomDiscountsOptions{}
	yes, dryRun := false, false
	short := "Make sure that each discount of FILE, a JSON array or - for standard input, is on a cart exactly once"
	cmd := e.command("apply CART FILE", short, func(ctx context.Context, s *shop, args []string) error {
		want, err := e.readDiscounts(args[1])
		if err != nil {
			return err
		}
		dry := opts
		dry.DryRun = true
		plan, planErr := s.Carts.EnsureCustomDiscounts(ctx, args[0], want, &dry)
		if plan == nil {
			return planErr
		}
		if err := e.printPlan(plan); err != nil {
			return err
		}
		if dryRun || len(plan.Added)+len(plan.Updated)+len(plan.Deleted) == 0 {
			return planErr
		}
		if err := e.confirm(ctx, yes, makeChanges, "--yes"); err != nil {
			return err
		}
		result, err := s.Carts.EnsureCustomDiscounts(ctx, args[0], want, &opts)
		return e.report(result, err)
	})
	flags := cmd.Flags()
	flags.BoolVar(&opts.Update, "update", false, "change discounts of the cart that differ from those of the file")
	flags.BoolVar(&opts.Prune, "prune", false, "delete discounts of the same engines that are not in the file")
	flags.StringArrayVar(&opts.Engines, "engine", nil, "with --prune: delete those of this `engine` too")
	flags.BoolVar(&opts.AllOrNothing, "all-or-nothing", false, "add all that is missing, or nothing")
	flags.BoolVar(&dryRun, "dry-run", false, "change nothing, only show the plan")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (e *environment) readDiscounts(path string) (want []commerce.NewCustomDiscount, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(e.stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		return nil, usagef("FILE must hold a JSON array of discounts, as the service's requests do: %w", err)
	}
	return want, nil
}

// printPlan prints the changes, and the differences that remain.
func (e *environment) printPlan(plan *commerce.EnsureCustomDiscountsResult) error {
	p := e.newPrinter("", discountRecord(commerce.CustomDiscount{}, "+"))
	for i, list := range [][]commerce.CustomDiscount{plan.Deleted, plan.Updated, plan.Added, plan.Different} {
		for _, d := range list {
			p.print(discountRecord(d, []string{"-", "~", "+", "!"}[i]))
		}
	}
	if p.n == 0 {
		say(e.stderr, "nothing to do")
	}
	return p.end()
}

// report says what was done and what was not, and returns the error with its exit code.
func (e *environment) report(r *commerce.EnsureCustomDiscountsResult, err error) error {
	if r == nil {
		return err
	}
	say(e.stderr, "%d added, %d changed, %d deleted", len(r.Added), len(r.Updated), len(r.Deleted))
	for _, d := range r.Missing {
		say(e.stderr, "not added: %s %s", plain(d.DiscountEngine), plain(d.ExternalID))
	}
	for _, d := range r.InDoubt {
		say(e.stderr, "in doubt: %s %s", plain(d.DiscountEngine), plain(d.ExternalID))
	}
	if err == nil && len(r.InDoubt) > 0 {
		return &exitError{exitUnfinished, errors.New("a write may still take effect: run the same command again")}
	}
	return err
}

func newRemoveCommand(e *environment) *cobra.Command {
	var engines []string
	var ids []uuid.UUID
	yes := false
	short := "Remove the discounts of an engine, or some by their ids"
	cmd := e.command("remove CART", short, func(ctx context.Context, s *shop, args []string) error {
		if len(engines)+len(ids) == 0 {
			return usagef("set --engine or --id")
		}
		cart, err := s.Carts.Get(ctx, args[0])
		if err != nil {
			return err
		}
		plan := &commerce.EnsureCustomDiscountsResult{}
		var onCart []string // its engines
		found := map[any]bool{}
		for _, d := range cart.CustomDiscounts {
			onCart = append(onCart, strconv.Quote(plain(d.DiscountEngine)))
			found[d.DiscountEngine], found[d.ID] = true, true
			if slices.Contains(engines, d.DiscountEngine) || slices.Contains(ids, d.ID) {
				plan.Deleted = append(plan.Deleted, d)
			}
		}
		slices.Sort(onCart)
		others := cmp.Or(strings.Join(slices.Compact(onCart), ", "), "no other")
		for _, engine := range engines {
			if !found[engine] {
				say(e.stderr, "the cart has no discount of %q, but of %s", engine, others)
			}
		}
		for _, id := range ids {
			if !found[id] {
				say(e.stderr, "the cart has no discount with the id %s", id)
			}
		}
		if err := e.printPlan(plan); err != nil || len(plan.Deleted) == 0 {
			return err
		}
		if err := e.confirm(ctx, yes, makeChanges, "--yes"); err != nil {
			return err
		}
		for n, d := range plan.Deleted {
			if err := s.Carts.DeleteCustomDiscount(ctx, args[0], d); err != nil {
				return fmt.Errorf("%d of %d deleted: %w", n, len(plan.Deleted), err)
			}
		}
		say(e.stderr, "%d deleted", len(plan.Deleted))
		return nil
	})
	flags := cmd.Flags()
	flags.Func("engine", "remove the discounts of this `engine`; may be repeated", func(text string) error {
		if engines = append(engines, text); text == "" || strings.TrimSpace(text) != text {
			return errors.New("must not be empty, or begin or end with a space")
		}
		return nil
	})
	flags.Func("id", "remove the discount with this `id`; may be repeated", func(text string) error {
		id, err := uuid.Parse(text)
		ids = append(ids, id)
		return err
	})
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

const makeChanges = "Make these changes?"

// confirm asks a question, unless yes. It refuses if nobody can see the question. flag is the one
// that sets yes.
func (e *environment) confirm(ctx context.Context, yes bool, question, flag string) error {
	if yes {
		return nil
	}
	if !e.stdinTerminal || !e.stderrTerminal {
		return usagef("nothing was changed: without a terminal to ask on, this needs %s", flag)
	}
	fmt.Fprint(e.stderr, question, " [y/N] ")
	reply := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(e.stdin).ReadString('\n') // the end of the input is a no
		reply <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
	case text := <-reply:
		if text == "y" || text == "yes" {
			return nil
		}
	}
	return errors.New("nothing was changed")
}
