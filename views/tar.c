/* tar.c - headers of the members of a tar file: ustar of POSIX.1-1988, which every tar reads.
 * SPDX-License-Identifier: MIT */
#include "views/views.h"

enum { NAME = 100, PREFIX = 155, AT_SUM = 148 };

/* Appends a field of a tar header, `width` bytes wide: the text, then zeros. The caller has set the
 * header's block to zeros. */
static void put_field(struct buf *b, struct str text, size_t width)
{
	size_t end = b->n + width;

	put_str(b, text);
	b->n = end;
}

/* Appends a field of a tar header, `width` bytes wide: an octal number of width - 1 digits, and a
 * NUL. */
static void put_octal(struct buf *b, u64 v, size_t width)
{
	for (size_t i = width - 1; i; i--)
		put_c(b, (char)('0' + (v >> 3 * (i - 1) & 7)));
	put_c(b, '\0');
}

/* Splits the name of a member of a tar file at a '/', so that both parts fit in the header fields
 * prefix and name. Returns false if the name is too long. */
static bool split_name(struct str *name, struct str *prefix)
{
	const char *p = name->p;

	*prefix = (struct str){ p, p };
	if (str_len(*name) <= NAME)
		return true;
	for (p = name->e - NAME - 1; p < name->e - 1 && *p != '/'; p++)
		;
	*prefix = (struct str){ name->p, p };
	if (p >= name->e - 1 || str_len(*prefix) > PREFIX)
		return false;
	name->p = p + 1;
	return true;
}

static void put_block(struct buf *b, const struct tarhead *m, struct str prefix)
{
	size_t from = b->n, link = str_len(m->link);
	u32 sum = 0;
	char *checksum = b->p + from + AT_SUM;
	struct buf field = buf_on(checksum, 7);

	if (b->cap - from < TAR_BLOCK) {
		b->full = true;
		return;
	}
	memset(b->p + from, 0, TAR_BLOCK);
	put_field(b, m->name, NAME);
	put_octal(b, m->mode, 8);
	put_octal(b, 0, 8); /* user and group of the file are root */
	put_octal(b, 0, 8);
	put_octal(b, m->size, 12);
	put_octal(b, m->mtime, 12);
	put_z(b, "        ");
	put_c(b, m->type);
	put_field(b, str_of(m->link.p, link < NAME ? link : NAME), NAME);
	put_n(b, "ustar\00000", 8);
	b->n = from + TAR_BLOCK - PREFIX - 12;
	put_str(b, prefix);
	b->n = from + TAR_BLOCK;
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (u8)b->p[from + i];
	put_octal(&field, sum, 7);
}

void tar_pad(struct buf *b, u64 size)
{
	for (; size % TAR_BLOCK && !b->full; size++)
		put_c(b, '\0');
}

/* The ustar header has 100 bytes for the target of a symbolic link. A longer target is written
 * before the link, as a member of type K: an extension of GNU tar that other programs read, too. */
bool tar_put(struct buf *b, const struct tarhead *m)
{
	struct tarhead part = *m;
	struct str prefix, none = { 0 };

	if (!split_name(&part.name, &prefix))
		return false;
	if (str_len(m->link) > NAME) {
		struct tarhead text = { .name = LIT("././@LongLink"), .type = 'K', .mode = 0644,
				       .size = str_len(m->link) + 1 };

		put_block(b, &text, none);
		put_str(b, m->link);
		put_c(b, '\0');
		tar_pad(b, text.size);
	}
	put_block(b, &part, prefix);
	return true;
}
