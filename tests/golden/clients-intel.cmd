for t in i915 i915-dgpu i915-old xe xe-suspended intel_vpu; do
	echo "$t"
	g clients --proc $t/proc --sys $t/sys -t none -w 0.01
	g clients -r --proc $t/proc --sys $t/sys -o csv -f dev,pid,comm,engine,memory
done
