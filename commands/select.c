/* select.c - which devices, clients or groups a sample shows, and in which order.
 * SPDX-License-Identifier: MIT */
#include "commands.h"

/* Parts of features: NULL where the feature is left out, and then nothing calls them. */
#pragma weak summary_apply

u32 *order;
size_t norder;
static TABLE(order, MAX_CLIENTS + MAX_CLIENTS / 2 /* behind the list: what a merge has still to take */, 64, "records");
static bool chosen[MAX_DEVICES]; /* by -d */

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
	int d = groups[a].device == groups[b].device ? 0 : by_device(groups[a].device, groups[b].device);

	if (d)
		return d;
	return str_cmp((struct str){ x, x + text_copy(cgroups[groups[a].cgroup].path, x, sizeof(x)) },
		       (struct str){ y, y + text_copy(cgroups[groups[b].cgroup].path, y, sizeof(y)) });
}

static struct val *sort_keys;
static char *sort_text;
static TABLE(sort_keys, MAX_CLIENTS, 64, "values to sort by");
static TABLE(sort_text, 4 << 20 /* a path of 250 bytes for each client */, 4096, "bytes of texts to sort by");

/* Numbers from the highest, then texts from A, then what is unknown. */
static int by_field(u32 a, u32 b)
{
	const struct val *x = &sort_keys[a], *y = &sort_keys[b];

	if (x->type != y->type)
		return x->type == V_NULL ? 1 : y->type == V_NULL ? -1 : x->type == V_TEXT ? 1 : -1;
	if (x->type == V_TEXT)
		return str_cmp(x->s, y->s);
	if (x->neg != y->neg)
		return x->neg ? 1 : -1;
	return x->n == y->n ? 0 : (x->n < y->n) == !x->neg ? 1 : -1;
}

/* Merge sort, so that equals keep their order. */
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

/* Sorts the first n of the list. */
static void sort(size_t n, order_fn *cmp)
{
	if (n > 1 && table_has(&order_table, n + n / 2 - 1))
		sort_part(order, n, order + n, cmp);
}

static void order_add(size_t *n, u32 i)
{
	if (table_has(&order_table, *n))
		order[(*n)++] = i;
}

static bool node_is(const struct device *d, struct str sel)
{
	static const struct str names[] = { STR("card"), STR("renderD"), STR("accel") };
	const i32 numbers[] = { d->card, d->render, d->accel };

	for (size_t i = 0; i < LEN(names); i++) {
		struct str s = sel;
		u64 n;

		if (numbers[i] >= 0 && str_skip(&s, names[i]) && scan_u64(s, &n) == s.e && n == (u64)numbers[i])
			return true;
	}
	return str_eq(sel, str_z(d->dev));
}

static bool selected(const struct device *d, u64 index, struct str sel)
{
	u64 n;

	if (scan_u64(sel, &n) == sel.e)
		return n == index;
	str_skip_z(&sel, "/dev/dri/");
	str_skip_z(&sel, "/dev/accel/");
	if (node_is(d, sel) || (d->pdev[0] && str_eq(sel, str_z(d->pdev))))
		return true;
	return str_skip_z(&sel, "driver:") && str_eq(sel, str_z(d->driver));
}

/* By -d; place is that in the order of devices. */
bool device_wanted(u32 device, u32 place)
{
	bool is = opt.ndevices == 0;

	for (size_t k = 0; k < opt.ndevices; k++)
		is |= selected(&devices[device], place, opt.devices[k]);
	return is;
}

/* Memory for the first records, before clients take what there is. */
void records_room(void)
{
	table_has(&order_table, 0);
	record_room();
}

/* All devices, in their order, and which of them -d wants. */
void choose_devices(void)
{
	size_t n = 0;

	norder = 0;
	memset(chosen, 0, sizeof(chosen));
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used && !devices[i].gone && devices[i].dev[0])
			order_add(&n, i);
	sort(n, by_device);
	for (size_t i = 0; i < n; i++) {
		chosen[order[i]] = device_wanted(order[i], (u32)i);
		if (chosen[order[i]])
			order[norder++] = order[i];
	}
}

/* The first one that -d wants and that is fit; NONE: there is none. */
u32 device_chosen(bool (*fits)(const struct device *d))
{
	choose_devices();
	for (size_t i = 0; i < norder; i++)
		if (fits(&devices[order[i]]))
			return order[i];
	return NONE;
}

static bool in_cgroup(u32 text)
{
	static char b[4096];
	struct str path = { b, b + text_copy(text, b, sizeof(b)) }, rest = path, id = parse_container(path);
	struct str top = opt.cgroup;

	while (top.p < top.e && top.e[-1] == '/')
		top.e--;
	if (glob_match(opt.cgroup, path, NULL))
		return true;
	if (str_skip(&rest, top) && (rest.p == rest.e || *rest.p == '/'))
		return true;
	return str_len(opt.cgroup) >= 12 && str_skip(&id, opt.cgroup);
}

/* -p, -C and -g, all of them of one process. */
static bool task_wanted(const struct task *t)
{
	bool pid = opt.npids == 0;

	for (size_t i = 0; i < opt.npids; i++)
		pid |= opt.pids[i] == t->pid;
	return pid && (!opt.comm.p || glob_match(opt.comm, (struct str){ t->comm, t->comm + t->comm_len }, NULL)) &&
	       (!opt.cgroup.p || (t->cgroup && in_cgroup(cgroups[t->cgroup].path)));
}

static bool client_wanted(const struct client *c)
{
	if (!chosen[c->device])
		return false;
	if (!opt.npids && !opt.comm.p && !opt.cgroup.p)
		return true;
	for (u32 h = c->holders; h; h = holders[h].next_client)
		if (task_wanted(&tasks[holders[h].task]))
			return true;
	return false;
}

/* Which clients the filters leave out, of the records and of the sums. */
void hide_clients(void)
{
	for (u32 i = 1; i <= nclients; i++)
		clients[i].hidden = clients[i].e.used && !client_wanted(&clients[i]);
}

/* All clients or groups of the sample, in their order. */
void choose_entities(u8 kind)
{
	u32 n = kind == K_CLIENT ? nclients : ngroups;

	norder = 0;
	for (u32 i = 1; i <= n; i++)
		if (entity_at(kind, i)->used && (kind == K_CLIENT ? !clients[i].hidden && clients[i].holders /* who waits for one was not read */ : groups[i].clients))
			order_add(&norder, i);
	sort(norder, kind == K_CLIENT ? by_client : by_group);
}

/* Of one of order, or what its readings came to. */
void make_record(u8 kind, u32 n, const struct recopts *ro)
{
	record_make(&rec, entity_at(kind, n), ro);
	if (ro->summary)
		summary_apply(&rec, ro->summary);
}

/* The highest of several: the engine that is busiest. */
static bool is_more(const struct val *v, const struct val *key)
{
	return key->type == V_NULL || (key->type == V_INT && v->type == V_INT && !v->neg && (key->neg || v->n > key->n));
}

void sort_by_field(u8 kind, const struct recopts *ro)
{
	size_t used = 0;

	for (size_t i = 0; i < norder; i++) {
		const struct column *col = NULL;
		struct val *key;

		if (!table_has(&sort_keys_table, order[i]))
			return;
		key = &sort_keys[order[i]];
		*key = (struct val){ 0 };
		make_record(kind, order[i], ro);
		for (size_t k = 0; k < rec.n; k++)
			if (field_match(&rec.f[k], opt.sort) && (!col || col == rec.f[k].col) && is_more(&rec.f[k].v, key)) {
				*key = rec.f[k].v;
				col = rec.f[k].col;
			}
		if (key->type == V_TEXT) {
			size_t n = table_has(&sort_text_table, used + str_len(key->s)) ? str_len(key->s) : 0;

			if (n)
				memcpy(sort_text + used, key->s.p, n);
			key->s = str_of(sort_text + used, n);
			used += n;
		}
	}
	sort(norder, by_field);
}

int no_device(void)
{
	char names[512];
	struct buf b = BUF_Z(names);

	if (say_full()) /* the device may be there, for all that is known */
		return EX_FAIL;
	if (opt.ndevices == 0) {
		say_z("no DRM or accel device here");
		return EX_NODEVICE;
	}
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used && devices[i].dev[0]) {
			put_c(&b, ' ');
			put_z(&b, devices[i].dev);
		}
	say("no such device; there are:", b.n ? buf_z(&b) : " none", NULL);
	return EX_NODEVICE;
}
