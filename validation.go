package commerce

import "fmt"

// ValidationError lists all problems of a call's arguments. Nothing was sent.
type ValidationError struct{ Fields []FieldError }

// FieldError is one problem of an argument. It never holds the value. If a header must not
// be set, it holds the key. Field and Message are for people.
type FieldError struct {
	Index   int    // position of the discount in the batch; -1 if the problem is not about a discount
	Field   string // the service's name, e.g. "external_id", or words, e.g. "page size"
	Message string // e.g. "must be less than zero"
}

// Error names the first five problems. If there are more, it also states how many.
func (e *ValidationError) Error() string {
	text, sep := "commerce: invalid argument", ": "
	for i, f := range e.Fields {
		if i == maxShown {
			return text + fmt.Sprintf("; and others, %d in all", len(e.Fields))
		}
		text += sep + f.String()
		sep = "; "
	}
	return text
}

// String returns the problem as text.
func (f FieldError) String() string {
	if f.Index >= 0 {
		return fmt.Sprintf("discount %d: %s %s", f.Index, f.Field, f.Message)
	}
	return f.Field + " " + f.Message
}

// Is reports whether target is ErrInvalidArgument.
func (e *ValidationError) Is(target error) bool { return target == ErrInvalidArgument }

// add adds a problem that is not about a discount.
func (e *ValidationError) add(field, message string) { e.addAt(-1, field, message) }

// addAt adds a problem of the discount at index.
func (e *ValidationError) addAt(index int, field, message string) {
	e.Fields = append(e.Fields, FieldError{Index: index, Field: field, Message: message})
}

// err returns e, or nil if it has no problems.
func (e *ValidationError) err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// invalid returns a ValidationError with one problem.
func invalid(field, message string) error {
	e := &ValidationError{}
	e.add(field, message)
	return e
}
