for t in etnaviv lima msm panfrost panthor v3d; do
	echo "$t"
	g clients --proc $t/proc --sys $t/sys -t none -w 0.01
	g clients -r --proc $t/proc --sys $t/sys -o csv -f dev,pid,comm,engine,memory
done
