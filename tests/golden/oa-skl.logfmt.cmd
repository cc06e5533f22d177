g oa --replay ../oa/skl.rec -o logfmt
