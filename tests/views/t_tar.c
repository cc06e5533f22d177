/* t_tar.c - unit test of views/tar.c. tests/commands/t_capture.py reads whole files with other
 * programs. SPDX-License-Identifier: MIT */
#include "../../views/tar.c"

#include "tests/unit.h"

/* The layout of POSIX.1-1988, 10.1.1. */
struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};

static char bytes[8192];

/* Returns a name of n bytes in folders of 51 bytes. */
static struct str name_of(size_t n)
{
	static char name[2048];

	for (size_t i = 0; i < n; i++)
		name[i] = i % 52 == 51 ? '/' : (char)('a' + i % 26);
	return str_of(name, n);
}

static void t_fields(void)
{
	struct buf b = BUF(bytes);
	struct tarhead m = { .name = LIT("a/b"), .type = TAR_FILE, .mode = 0444, .size = 8193,
			    .mtime = 1764115200 };
	const struct ustar *u = (const struct ustar *)bytes;
	unsigned sum = 0;

	check(sizeof(*u) == 512 && tar_put(&b, &m) && b.n == 512 && !b.full,
	      "a member without contents is one block");
	check(strcmp(u->name, "a/b") == 0 && !u->prefix[0] && !u->link[0], "name");
	check(strcmp(u->mode, "0000444") == 0 && strtoul(u->uid, NULL, 8) == 0,
	      "member: mode %s", u->mode);
	check(strtoul(u->size, NULL, 8) == 8193, "member: size %s", u->size);
	check(strtoul(u->mtime, NULL, 8) == 1764115200, "member: time %s", u->mtime);
	check(memcmp(u->magic, "ustar\0" "00", 8) == 0 && u->type == '0',
	      "member: magic, version and type");
	for (size_t i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)bytes[i];
	check(strtoul(u->sum, NULL, 8) == sum, "member: checksum %.8s", u->sum);
	b.n = 3;
	tar_pad(&b, 3);
	check(b.n == 512, "padding");
	tar_pad(&b, 1024);
	check(b.n == 512, "a member whose size is a multiple of a block has no padding");
}

static void t_names(void)
{
	static const size_t lengths[] = { 99, 100, 101, 149, 150, 200, 255, 256 };
	const struct ustar *u = (const struct ustar *)bytes;

	for (size_t i = 0; i < LEN(lengths); i++) {
		struct buf b = BUF(bytes);
		struct str name = name_of(lengths[i]);
		struct tarhead m = { .name = name, .type = TAR_FILE };
		bool good = tar_put(&b, &m);
		size_t before = strnlen(u->prefix, 155), n = strnlen(u->name, 100);

		/* Readers of tar files join the two parts with a slash. */
		if (before)
			good &= memcmp(u->prefix, name.p, before) == 0 && name.p[before] == '/' &&
				memcmp(u->name, name.p + before + 1, n) == 0 &&
				before + 1 + n == lengths[i];
		else
			good &= n == lengths[i] && memcmp(u->name, name.p, n) == 0;
		check(good, "member: a name of %u bytes is split", (unsigned)lengths[i]);
	}
	for (size_t n = 257; n < 301; n += 43) {
		struct buf b = BUF(bytes);

		check(!tar_put(&b, &(struct tarhead){ .name = name_of(n) }) && b.n == 0,
		      "member: a name of %u bytes is refused", (unsigned)n);
	}
	memset(bytes + 4096, 'x', 300);
	check(!tar_put(&(struct buf){ .p = bytes, .cap = 4096 },
			  &(struct tarhead){ .name = str_of(bytes + 4096, 101) }),
	      "member: a name of 101 bytes without a slash is refused");
}

static void t_links(void)
{
	for (size_t n = 99; n < 103; n++) {
		struct buf b = BUF(bytes);
		struct tarhead m = { .name = LIT("l"), .link = name_of(n), .type = TAR_LINK };
		bool extra = n > 100;
		const struct ustar *u = (const struct ustar *)(bytes + (extra ? 1024 : 0));
		bool good = tar_put(&b, &m) && b.n == (extra ? 1536 : 512) && u->type == '2' &&
			    memcmp(u->link, m.link.p, extra ? 100 : n) == 0;

		if (extra)
			good &= bytes[156] == 'K' && memcmp(bytes + 512, m.link.p, n) == 0 &&
				!bytes[512 + n];
		check(good, "member: a link of %u bytes", (unsigned)n);
	}
}

static void t_room(void)
{
	for (size_t cap = 0; cap < 1536; cap += 37) {
		char *p = malloc(cap + 1); /* the sanitizer reports a byte outside of the buffer */
		struct buf b = buf_on(p, cap);

		tar_put(&b, &(struct tarhead){ .name = LIT("l"), .link = name_of(101) });
		if (!b.full || b.n > cap)
			break;
		free(p);
		if (cap + 37 >= 1536)
			check(true, "member: a buffer that is too small is marked full");
	}
}

int main(void)
{
	t_fields();
	t_names();
	t_links();
	t_room();
	return unit_end();
}
