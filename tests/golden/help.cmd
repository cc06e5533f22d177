g --help
g -V
g -f help
g procs -f help
g fdinfo -f help
