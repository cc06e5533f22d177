g procs --proc exynos/proc --sys exynos/sys -o line -t none -w 0.01
g procs --proc exynos/proc --sys exynos/sys -o json -t none -w 0.01
g procs -r --proc exynos/proc --sys exynos/sys -o csv -t none
