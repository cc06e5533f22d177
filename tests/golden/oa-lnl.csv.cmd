g oa --replay ../oa/lnl.rec -o csv
