g oa --replay ../oa/lnl.rec -o line
