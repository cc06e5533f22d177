g counters -v --proc host/proc --sys host/sys -o line -t none
