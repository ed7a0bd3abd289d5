package verify

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// unaskable are the rows of docs/service.md with the grade guess or open that no question shows:
// how they begin, and the reason.
var unaskable = map[string]string{
	"A refused token request":           "needs refused credentials, which may look like an attack",
	"`expires_in`, documented as":       "the client reads the response, not the program",
	"Adding discounts needs a token":    "needs a token of another kind",
	"A new token leaves":                "needs a second token of the same client",
	"An order has the discounts":        "needs an order, which stays",
	"No cache responds":                 "a cache may respond at one time and not at another",
	"A deleted account is no longer":    "deletes an account",
	"An account may have several":       "needs an account with several subscribers",
	"`base_price_percentage` is":        "needs an invoice of such a plan",
	"The stated price of a plan covers": "needs two invoices, an interval apart",
}

var (
	// The cells of a row: the fact and the grade.
	rowCells = regexp.MustCompile(`(?m)^\| (.*?) \| (doc|seen|guess|open) \| .* \|$`)
	anchor   = regexp.MustCompile(`<a id="([^"]*)"></a>`)
)

// Each fact has a row of docs/service.md with its anchor and its grade. Each row that is a guess or
// open has a fact, or a reason why it has none.
func TestFacts_page(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, problem := range drift(text) {
		t.Error(problem)
	}
	for name, tt := range map[string]struct{ before, after, want string }{
		"no row":  {before: `<a id="f-add"></a>`, want: "f-add has no row"},
		"no fact": {before: `id="f-add"`, after: `id="f-sub"`, want: "there is no fact f-sub"},
		"twice": {
			before: `<a id="f-add"></a>`, after: `<a id="f-add"></a><a id="f-add"></a>`, want: "f-add has 2 rows or more",
		},
		"new open row": {before: "| fact | grade |", after: "| New. | open | – | – |\n| fact | grade |", want: `"New."`},
		"reason":       {before: "A new token leaves", after: "Tokens leave", want: "no row begins with"},
	} {
		changed := strings.Replace(text, tt.before, tt.after, 1)
		if !strings.Contains(strings.Join(drift(changed), "\n"), tt.want) {
			t.Errorf("%s: got %q, want %q among the problems", name, drift(changed), tt.want)
		}
	}
	grade := regexp.MustCompile(`(<a id="f-update"></a>.* \| )doc \|`).ReplaceAllString(text, "${1}open |")
	if got := strings.Join(drift(grade), "\n"); !strings.Contains(got, "f-update is doc, its row open") {
		t.Errorf("another grade: got %q, want a problem", got)
	}
}

// drift returns how the facts and a page differ.
func drift(page string) (problems []string) {
	grades, rows, reasons := map[string]string{}, map[string]int{}, map[string]bool{}
	for _, cells := range rowCells.FindAllStringSubmatch(page, -1) {
		anchors := anchor.FindAllStringSubmatch(cells[1], -1)
		for _, a := range anchors {
			grades[a[1]] = cells[2]
			rows[a[1]]++
		}
		fact, isReasoned := anchor.ReplaceAllString(cells[1], ""), false
		for begin := range unaskable {
			if strings.HasPrefix(fact, begin) {
				reasons[begin], isReasoned = true, true
			}
		}
		if (cells[2] == "guess" || cells[2] == "open") && (len(anchors) > 0) == isReasoned {
			problem := `a row is ` + cells[2] + `, and must have either a fact or a reason in unaskable: "` + fact + `"`
			problems = append(problems, problem)
		}
	}
	names := map[string]int{}
	for _, f := range facts {
		if names[f.name]++; names[f.name] == 2 {
			problems = append(problems, f.name+" is the name of two facts")
			continue
		}
		switch {
		case rows[f.name] == 0:
			problems = append(problems, f.name+" has no row")
		case rows[f.name] > 1:
			problems = append(problems, f.name+" has 2 rows or more")
		case grades[f.name] != f.grade:
			problems = append(problems, f.name+" is "+f.grade+", its row "+grades[f.name])
		}
		delete(rows, f.name)
	}
	for name := range rows {
		problems = append(problems, "there is no fact "+name)
	}
	for begin := range unaskable {
		if !reasons[begin] {
			problems = append(problems, "no row begins with "+begin)
		}
	}
	return problems
}
