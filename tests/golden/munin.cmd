g munin config --proc mixed/proc --sys mixed/sys
g munin --window 1ms --proc mixed/proc --sys mixed/sys
g munin autoconf --proc mixed/proc --sys mixed/sys
g munin autoconf --proc host/proc --sys nvidia/proc
