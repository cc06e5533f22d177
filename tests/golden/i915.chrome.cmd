g -r --proc i915/proc --sys i915/sys -o chrome | sed 's/"ts":[0-9.]*/"ts":T/'
