g counters --proc host/proc --sys host/sys -o line -t none
