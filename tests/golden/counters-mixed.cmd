g counters -v --proc mixed/proc --sys mixed/sys -o line -t none
