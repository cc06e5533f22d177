for t in accelerators allwinner amlogic exynos galcore jetson jetson-xavier kgsl mediatek powervr rockchip rockchip-proc; do
	echo "$t"
	g clients --proc $t/proc --sys $t/sys -t none -w 0.01
	g clients -r --proc $t/proc --sys $t/sys -o csv -f dev,pid,comm,engine,memory
done
