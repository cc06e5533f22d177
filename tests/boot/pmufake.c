// SPDX-License-Identifier: GPL-2.0
/*
 * pmufake: a PMU without hardware, named fakepmu, that counts for the whole machine: fakepmu/ticks/
 * counts 1000 million per second, fakepmu/tocks/ a tenth of that. Its events are opened on the
 * processor that its cpumask names; when that processor goes offline, another one replaces it. The
 * kernel refuses to unload the module while an event is open.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/timekeeping.h>

static struct cpumask where;
static int state;

static u64 ticks(const struct perf_event *event)
{
	return ktime_get_ns() / (event->attr.config == 2 ? 10 : 1);
}

static void fake_update(struct perf_event *event)
{
	u64 now = ticks(event);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void fake_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, ticks(event));
	event->hw.state = 0;
}

static void fake_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	fake_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int fake_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		fake_start(event, flags);
	return 0;
}

static void fake_del(struct perf_event *event, int flags)
{
	fake_stop(event, flags);
}

static int fake_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (is_sampling_event(event) || event->cpu < 0 || event->attr.config < 1 || event->attr.config > 2)
		return -EINVAL;
	event->cpu = cpumask_first(&where);
	return 0;
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return cpumap_print_to_pagebuf(true, buf, &where);
}
static DEVICE_ATTR_RO(cpumask);

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_EVENT_ATTR_STRING(ticks, event_ticks, "event=1");
PMU_EVENT_ATTR_STRING(tocks, event_tocks, "event=2");

static struct attribute *format_attrs[] = { &format_attr_event.attr, NULL };
static struct attribute *event_attrs[] = { &event_ticks.attr.attr, &event_tocks.attr.attr, NULL };
static struct attribute *mask_attrs[] = { &dev_attr_cpumask.attr, NULL };
static const struct attribute_group format_group = { .name = "format", .attrs = format_attrs };
static const struct attribute_group event_group = { .name = "events", .attrs = event_attrs };
static const struct attribute_group mask_group = { .attrs = mask_attrs };
static const struct attribute_group *groups[] = { &format_group, &event_group, &mask_group, NULL };

static struct pmu fakepmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_NO_EXCLUDE,
	.attr_groups = groups,
	.event_init = fake_init,
	.add = fake_add,
	.del = fake_del,
	.start = fake_start,
	.stop = fake_stop,
	.read = fake_update,
};

/* The same method as in drivers of uncore PMUs. */
static int fake_offline(unsigned int cpu)
{
	unsigned int other = cpumask_any_but(cpu_online_mask, cpu);

	if (!cpumask_test_and_clear_cpu(cpu, &where) || other >= nr_cpu_ids)
		return 0;
	cpumask_set_cpu(other, &where);
	perf_pmu_migrate_context(&fakepmu, cpu, other);
	return 0;
}

static int __init pmufake_init(void)
{
	int ret;

	cpumask_set_cpu(cpumask_last(cpu_online_mask), &where);
	ret = perf_pmu_register(&fakepmu, "fakepmu", -1);
	if (ret)
		return ret;
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "pmufake:online", NULL, fake_offline);
	if (state < 0)
		perf_pmu_unregister(&fakepmu);
	return state < 0 ? state : 0;
}
module_init(pmufake_init);

static void __exit pmufake_exit(void)
{
	cpuhp_remove_state_nocalls(state);
	perf_pmu_unregister(&fakepmu);
}
module_exit(pmufake_exit);

MODULE_DESCRIPTION("a PMU without hardware, for tests");
MODULE_LICENSE("GPL");
