g counters --proc host/proc --sys host/sys 'no such'
g counters --proc host/proc --sys host/sys 'nothing*' 1
g counters --proc host/proc --sys host/sys 1
g counters --proc host/proc --sys host/sys 'Processes amount' 1 2 3
g counters -f help
g host -f value,nonsense --proc host/proc --sys host/sys
g host -S
