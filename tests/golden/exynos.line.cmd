g --proc exynos/proc --sys exynos/sys -o line -t none -w 0.01
g clients --proc exynos/proc --sys exynos/sys -o line -t none -w 0.01
g cgroups --proc exynos/proc --sys exynos/sys -o line -t none -w 0.01
g -r --proc exynos/proc --sys exynos/sys -o line -t none
g clients -r --proc exynos/proc --sys exynos/sys -o line -t none
g list --proc exynos/proc --sys exynos/sys -o line -t none
