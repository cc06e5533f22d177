g help oa stalls
g oa stalls -f help
g oa stalls --replay ../oa/stalls.rec 1
g oa stalls --replay ../oa/stalls.rec 1 -S -o json
g oa stalls --replay ../oa/stalls.rec -k 2 -o csv -t none
g oa stalls --replay ../oa/stalls.rec -o logfmt -f ip,all,sbid,lost
g oa stalls --replay ../oa/stalls.rec -k 1 -o influx
g oa stalls --replay ../oa/stalls.rec -f Nope
echo "exit $?"
