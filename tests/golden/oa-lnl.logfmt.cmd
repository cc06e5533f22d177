g oa --replay ../oa/lnl.rec -o logfmt
