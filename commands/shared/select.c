/* select.c - selects the devices, clients or groups of a sample, and sorts them.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sources/device/device.h"

/* Functions of optional features: NULL if the feature is left out; they are not called then. */
#pragma weak summary_apply
#pragma weak names_prepare
#pragma weak named_so
#pragma weak put_hint

u32 *order;
size_t norder;
static struct {
	bool chosen[MAX_DEVICES]; /* the device is selected by -d, or there is no -d */
	struct val *keys;         /* the sort key of each entity: a value of the field of --sort */
	char *text;               /* bytes of the texts in keys[] */
} picks;
static struct {
	struct table order, keys, text;
} picks_tables = {
	/* The merge sort needs additional memory after the list, for half of its elements. */
	.order = TABLE_ROW(order, MAX_CLIENTS + MAX_CLIENTS / 2, 64, "records"),
	.keys = TABLE_ROW(picks.keys, MAX_CLIENTS, 64, "values to sort by"),
	/* 4 MiB: room for a cgroup path of 250 bytes for each client */
	.text = TABLE_ROW(picks.text, 4 << 20, 4096, "bytes of texts to sort by"),
};

struct entity *entity_at(u8 kind, u32 n)
{
	return kind == K_DEVICE ? &devices[n].e : kind == K_CLIENT ? &clients[n].e : &groups[n].e;
}

typedef int order_fn(u32 a, u32 b);

static int by_device(u32 a, u32 b)
{
	return device_order(&devices[a], &devices[b]);
}

static int by_client(u32 a, u32 b)
{
	const struct client *x = &clients[a], *y = &clients[b];
	int d = x->device == y->device ? 0 : by_device(x->device, y->device);

	return d ? d : x->key < y->key ? -1 : x->key > y->key;
}

static int by_group(u32 a, u32 b)
{
	static char x[4096], y[4096];
	int d = groups[a].device == groups[b].device ? 0 :
		by_device(groups[a].device, groups[b].device);

	if (d)
		return d;
	if (HAS(procs) && groups[a].pid != groups[b].pid)
		return groups[a].pid < groups[b].pid ? -1 : 1;
	return str_cmp((struct str){ x, x + text_copy(cgroups[groups[a].cgroup].path, x,
						      sizeof(x)) },
		       (struct str){ y, y + text_copy(cgroups[groups[b].cgroup].path, y,
						      sizeof(y)) });
}

/* Compares the sort keys of entities a and b: numbers come first, from the highest to the lowest;
 * then texts from A to Z; then unknown values. */
static int by_field(u32 a, u32 b)
{
	const struct val *x = &picks.keys[a], *y = &picks.keys[b];

	if (x->type != y->type)
		return x->type == V_NULL ? 1 : y->type == V_NULL ? -1 : x->type == V_TEXT ? 1 : -1;
	if (x->type == V_TEXT)
		return str_cmp(x->s, y->s);
	if (x->neg != y->neg)
		return x->neg ? 1 : -1;
	return x->n == y->n ? 0 : (x->n < y->n) == !x->neg ? 1 : -1;
}

/* Sorts v[] with merge sort, so that equal elements keep their order. half: memory for n / 2
 * elements. */
static void sort_part(u32 *v, size_t n, u32 *half, order_fn *cmp)
{
	size_t k = n / 2, i = 0, j = k, at = 0;

	if (n < 2)
		return;
	sort_part(v, k, half, cmp);
	sort_part(v + k, n - k, half, cmp);
	memcpy(half, v, k * sizeof(*v));
	while (i < k)
		v[at++] = j < n && cmp(half[i], v[j]) > 0 ? v[j++] : half[i++];
}

/* Sorts the first n elements of order[]. Does nothing if there is no memory to sort. */
static void sort(size_t n, order_fn *cmp)
{
	if (n > 1 && table_has(&picks_tables.order, n + n / 2 - 1))
		sort_part(order, n, order + n, cmp);
}

void order_add(size_t *n, u32 i)
{
	if (table_has(&picks_tables.order, *n))
		order[(*n)++] = i;
}

static bool node_is(const struct device *d, struct str sel)
{
	static const char *const names[] = { "card", "renderD", "accel" };
	const i32 numbers[] = { d->card, d->render, d->accel };

	for (size_t i = 0; i < LEN(names); i++) {
		char text[32];
		struct buf b = BUF(text);

		put_z(&b, names[i]);
		put_u64(&b, (u64)numbers[i]);
		if (numbers[i] >= 0 && str_same(sel, str_of(b.p, b.n), false))
			return true;
	}
	return str_same(sel, str_z(d->dev), false);
}

/* Returns whether a selector is the device's PCI address, with or without the domain. */
static bool slot_is(const struct device *d, struct str sel)
{
	struct str slot = str_z(d->pdev), domain;

	if (!str_len(sel) || str_same(sel, slot, true))
		return str_len(sel);
	str_cut(&slot, ':', &domain);
	return str_same(sel, slot, true);
}

/* Returns whether a selector is the device's number, node, PCI address or driver. */
static bool selected(const struct device *d, u64 index, struct str sel)
{
	u64 n;

	if (scan_u64(sel, &n) == sel.e)
		return n < MAX_DEVICES && n == index; /* device_choice() passes UINT64_MAX */
	str_skip_z(&sel, "/dev/dri/");
	str_skip_z(&sel, "/dev/accel/");
	if (node_is(d, sel) || slot_is(d, sel))
		return true;
	str_skip_z(&sel, "driver:");
	return str_len(sel) && str_same(sel, str_z(d->driver), false);
}

/* States of the selectors of -d (found, said) and of --not (not_found, not_said). found: the
 * selector has selected a device. said: a message was printed that the selector has selected none.
 * tried: the selectors of -d were compared with the devices at least once. */
static struct {
	bool tried, found[MAX_SELECTORS], said[MAX_SELECTORS];
	bool not_found[MAX_SELECTORS], not_said[MAX_SELECTORS];
} selectors;

/* True if -d selects the device, or if there is no -d. place: position of the device in the sorted
 * list of devices, which a selector can be: -d 0. */
bool device_wanted(u32 device, u32 place)
{
	bool is = opt.ndevices == 0;

	selectors.tried = true;
	for (size_t k = 0; k < opt.ndevices; k++)
		if (selected(&devices[device], place, opt.devices[k]) ||
		    (named_so && named_so(device, opt.devices[k], selected)))
			is = selectors.found[k] = true;
	return is && !devices[device].left_out;
}

/* Prints a message for each selector in list[] that has selected no device, once per run. Returns
 * true if there is such a selector. */
static bool say_missing(const struct str *list, size_t n, const bool *found, bool *said,
			const char *text)
{
	bool missing = false;
	char name[128];

	for (size_t k = 0; k < n && selectors.tried; k++) {
		if (found[k])
			continue;
		str_copy(name, sizeof(name), list[k]);
		if (!said[k])
			say(text, name, NULL);
		missing = said[k] = true;
	}
	return missing;
}

/* Prints a message for each selector of -d and --not that has selected no device, once per run.
 * Returns true if there is such a selector of -d. */
bool say_missing_devices(void)
{
	say_missing(opt.not, opt.nnot, selectors.not_found, selectors.not_said,
		    "--not: no such device: ");
	return say_missing(opt.devices, opt.ndevices, selectors.found, selectors.said,
			   "no such device: ");
}

/* Returns a mask: DEVICE_LEFT_OUT if --not excludes the device, DEVICE_BY_DRIVER if -d names its
 * driver. Selectors that are a position in the list of devices are not compared, because positions
 * change when devices are added; names of models are not compared either, because the files with
 * names must not be read with the privileges for readings. */
u8 device_choice(u32 device)
{
	const struct device *d = &devices[device];
	u8 choice = 0;

	for (size_t k = 0; k < opt.nnot; k++)
		if (selected(d, UINT64_MAX, opt.not[k])) {
			choice |= DEVICE_LEFT_OUT;
			selectors.not_found[k] = true;
		}
	for (size_t k = 0; k < opt.ndevices; k++) {
		struct str sel = opt.devices[k];

		if (str_skip_z(&sel, "driver:") && str_same(sel, str_z(d->driver), false))
			choice |= DEVICE_BY_DRIVER;
	}
	return choice;
}

/* Allocates the memory for the first record and its sort order, before the tables of clients can
 * use up the memory. */
void records_alloc(void)
{
	table_has(&picks_tables.order, 0);
	record_alloc();
}

/* Stores in order[] the devices that -d selects (all without -d), sorted, and their number in
 * norder. */
void choose_devices(void)
{
	size_t n = 0;

	if (names_prepare)
		names_prepare();
	norder = 0;
	memset(picks.chosen, 0, sizeof(picks.chosen));
	for (u32 i = 1; i <= nrows.devices; i++)
		if (devices[i].e.used && !devices[i].gone && devices[i].dev[0])
			order_add(&n, i);
	sort(n, by_device);
	for (size_t i = 0; i < n; i++) {
		picks.chosen[order[i]] = device_wanted(order[i], (u32)i);
		if (picks.chosen[order[i]])
			order[norder++] = order[i];
	}
	/* top and check print messages about missing devices at the end of the run */
	if (norder && !(opt.cmd->with & (WITH_TOP | WITH_CHECK)))
		say_missing_devices();
}

/* Returns the first device that -d selects and for which fits() is true; NONE if there is none. */
u32 device_chosen(bool (*fits)(const struct device *d))
{
	choose_devices();
	for (size_t i = 0; i < norder; i++)
		if (fits(&devices[order[i]]))
			return order[i];
	return NONE;
}

/* True if a cgroup matches -g: its path matches the pattern, it is below the cgroup of -g, or -g is
 * the first 12 or more digits of its container's id. */
bool in_cgroup(struct str path)
{
	struct str rest = path, id = parse_container(path).id;
	struct str top = opt.cgroup;

	while (top.p < top.e && top.e[-1] == '/')
		top.e--;
	if (glob_match(opt.cgroup, path, NULL))
		return true;
	if (str_skip(&rest, top) && (rest.p == rest.e || *rest.p == '/'))
		return true;
	return str_len(opt.cgroup) >= 12 && str_skip(&id, opt.cgroup);
}

/* True if a process matches each of the options -p, -C and -g that were given. */
static bool task_wanted(const struct task *t)
{
	static char b[4096];
	bool pid = opt.npids == 0 || (HAS(procs) && t->lineage == IN_TREE);

	for (size_t i = 0; i < opt.npids; i++)
		pid |= opt.pids[i] == t->pid;
	return pid &&
	       (!opt.comm.p ||
		glob_match(opt.comm, (struct str){ t->comm, t->comm + t->comm_len }, NULL)) &&
	       (!opt.cgroup.p || (t->cgroup &&
				in_cgroup(str_of(b, text_copy(cgroups[t->cgroup].path, b,
							      sizeof(b))))));
}

static bool client_wanted(const struct client *c)
{
	if (!picks.chosen[c->device])
		return false;
	if (!opt.npids && !opt.comm.p && !opt.cgroup.p)
		return true;
	for (u32 h = c->holders; h; h = holders[h].next_client)
		if (task_wanted(&tasks[holders[h].task]))
			return true;
	return false;
}

/* Sets the member `hidden` of all clients that -d, -p, -C and -g exclude: they have no records and
 * are not part of sums. */
void hide_clients(void)
{
	for (u32 i = 1; i <= nrows.clients; i++)
		clients[i].hidden = clients[i].e.used && !client_wanted(&clients[i]);
}

/* Stores in order[] all clients, cgroups or processes of the sample, sorted, and their number in
 * norder. kind: K_CLIENT, K_CGROUP or K_PROCESS. */
void choose_entities(u8 kind)
{
	u32 n = kind == K_CLIENT ? nrows.clients : nrows.groups;

	norder = 0;
	for (u32 i = 1; i <= n; i++)
		if (entity_at(kind, i)->used && entity_at(kind, i)->kind == kind &&
		/* a client without a holder was not read: no process has it open */
		    (kind == K_CLIENT ? !clients[i].hidden && clients[i].holders :
		     groups[i].clients))
			order_add(&norder, i);
	sort(norder, kind == K_CLIENT ? by_client : by_group);
}

void (*record_source)(struct record *r, u32 n);

/* Makes the record of entity n in `rec`. For --summary and --inner, each value is then replaced by
 * its minimum, average or maximum, as ro->summary says. */
void make_record(u8 kind, u32 n, const struct recopts *ro)
{
	if (record_source)
		record_source(&rec, n);
	else
		record_make(&rec, entity_at(kind, n), ro);
	if (ro->summary)
		summary_apply(&rec, ro->summary);
}

/* Returns whether v replaces *key as the sort key: if several fields match -s, the highest value is
 * used. For example, devices are sorted by their busiest engine. */
static bool is_higher(const struct val *v, const struct val *key)
{
	return key->type == V_NULL ||
	       (key->type == V_INT && v->type == V_INT && !v->neg &&
		(key->neg || v->n > key->n));
}

void sort_by_field(u8 kind, const struct recopts *ro)
{
	size_t used = 0;

	for (size_t i = 0; i < norder; i++) {
		const struct column *col = NULL;
		struct val *key;

		if (!table_has(&picks_tables.keys, order[i]))
			return;
		key = &picks.keys[order[i]];
		*key = (struct val){ 0 };
		make_record(kind, order[i], ro);
		for (size_t k = 0; k < rec.n; k++)
			if (field_match(&rec.f[k], opt.sort) && (!col || col == rec.f[k].col) &&
			    is_higher(&rec.f[k].v, key)) {
				*key = rec.f[k].v;
				col = rec.f[k].col;
			}
		if (key->type == V_TEXT) {
			size_t n = table_has(&picks_tables.text, used + str_len(key->s)) ?
				   str_len(key->s) : 0;

			if (n)
				memcpy(picks.text + used, key->s.p, n);
			key->s = str_of(picks.text + used, n);
			used += n;
		}
	}
	sort(norder, by_field);
}

int no_device(void)
{
	char names[512];
	struct buf b = BUF_Z(names);
	bool left_out = false; /* at least one device was excluded by --not */

	if (say_full()) /* the device may be missing because the table of devices is full */
		return EX_FAIL;
	for (u32 i = 1; i <= nrows.devices; i++)
		if (devices[i].e.used && devices[i].left_out) {
			left_out = true;
		} else if (devices[i].e.used && devices[i].dev[0] && opt.ndevices) {
			put_c(&b, ' ');
			put_z(&b, devices[i].dev);
		}
	if (put_hint && !left_out)
		put_hint(&b);
	say(opt.ndevices ? "no device matches -d; devices:" :
	    left_out ? "--not excludes all devices" : "no GPU was found",
	    b.n || !opt.ndevices ? buf_z(&b) : " none", NULL);
	return EX_NODEVICE;
}
