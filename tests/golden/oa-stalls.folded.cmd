g oa stalls --replay ../oa/stalls.rec -k 2 -o folded
