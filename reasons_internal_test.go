package commerce

// SentinelRow is a row of the table of sentinels.
type SentinelRow struct {
	Err               error
	Name              string
	IsFinal, IsReason bool
}

// SentinelRows returns the rows in the order of the table.
func SentinelRows() (rows []SentinelRow) {
	for _, s := range sentinels {
		rows = append(rows, SentinelRow{Err: s.err, Name: s.name, IsFinal: s.isFinal, IsReason: s.words != nil})
	}
	return rows
}
