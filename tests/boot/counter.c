/* counter.c - a program that activates and reads one recommended counter through libgpustat; thp.c
 * starts it. With the argument "locked" it locks all its present and future memory. Exit status 0:
 * the counter has a value. */
#include <KD/KHR_perfcounter.h>

#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const char wanted[] = "CPU 0 utilization";

static KDint find(void)
{
	KDint n = kdGetNumberOfCountersKHR();

	for (KDint i = 0; i < n; i++)
		if (!strcmp(kdGetCounterInformationKHR(i)->name, wanted))
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	struct timespec nap = { 0, 50000000 };
	KDint index;
	KDint64 value = -1;

	if (argc > 1 && !strcmp(argv[1], "locked") && mlockall(MCL_CURRENT | MCL_FUTURE))
		return 2;
	index = find();
	if (index < 0 || kdActivateCountersKHR(&index, 1) || kdStartSamplingKHR())
		return 3;
	nanosleep(&nap, 0);
	return kdGetCounterValuesKHR(&index, 1, &value) || value < 0;
}
