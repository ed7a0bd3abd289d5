package live_test

import (
	"regexp"
	"strings"
)

// scrubber returns a text without what a record must not hold.
type scrubber func(string) string

// words is a list rather than a rule for what looks like a secret, because a service may put
// anything into a text: names, addresses, numbers of cards. It has the words of the errors
// that are known, and others that errors about these requests may have. The numbers are
// those of the questions and of HTTP statuses.
const words = `
	a about above accepted access account action active add added adding after all allow allowed already amount an
	and any api application are argument array as at bad be because been before being below between body boolean
	both bulk but by call can cannot cart carts change changed character characters check code column combined
	concurrent condition configuration conflict contains content could create created currency currently custom data
	date db decimal default delete deleted description detail details did different disabled discount discounts do
	does duplicate each element elements elastic empty enable enabled engine entity equal error errors exceed exceeded
	exceeds exist existing exists expected expired external failed failure false field fields filter first for forbidden
	format found fraction from full gateway get given greater has have header higher highest id identifier ids if in
	include included includes incorrect input integer internal into invalid is issue it item items its json key large
	last least length less level limit list long longer lower malformed many match matches maximum member method
	minimum mismatch missing more must name names negative no non none not nothing null number object occurred of
	offset on one only operation operator option options optional or order other out page parameter parse parser
	patch path permission plan plans please positive post present price pricing problem product products promotion
	promotions property provided put quantity query range reached read reason reference refused rejected relationship
	relationships remove removed request requested required requires resource resources response retry rule same schema
	second server service set settings should size sku smaller some something source state status store string
	subscription subscriptions such supplied support supported syntax that the their there this time timeout title to
	token too total true type unable unauthorized unexpected unique unit unknown unmarshal unprocessable unsupported
	update updated url use used user uuid v2 valid validate validation value values was when where which while whole
	will with within without wrong you your zero
	0 1 100 101 400 401 403 404 405 409 422 429 500 502 503 504 10000 10001`

// A word is a run of these characters. All but ASCII counts.
var word = regexp.MustCompile(`[0-9A-Za-z[:^ascii:]]+`)

// newScrubber returns a scrubber that keeps the words on the list, and punctuation. The words of
// the credentials and of the address of the environment are not on the list.
func newScrubber(getenv func(string) string) scrubber {
	known := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		known[w] = true
	}
	for _, name := range []string{"COMMERCE_BASE_URL", "COMMERCE_TOKEN", "COMMERCE_CLIENT_ID", "COMMERCE_CLIENT_SECRET"} {
		for _, w := range word.FindAllString(strings.ToLower(getenv(name)), -1) {
			delete(known, w)
		}
	}
	return func(text string) string {
		return word.ReplaceAllStringFunc(text, func(w string) string {
			if known[strings.ToLower(w)] {
				return w
			}
			return "…"
		})
	}
}
