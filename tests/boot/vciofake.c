// SPDX-License-Identifier: GPL-2.0
/*
 * vciofake: /dev/vcio of a Raspberry Pi without its firmware, for tests. It answers property
 * requests as the page "Mailbox property interface" of the wiki of raspberrypi/firmware describes,
 * behind an ioctl like that of drivers/char/broadcom/vcio.c. Parameters of the module change the
 * answers, and count requests that are malformed or that set something.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define REQUEST _IOWR(100, 0, char *)
#define ANSWERED 0x80000000u

static int error;	/* each request fails with this errno; 0: none does */
static uint status = ANSWERED; /* of the firmware, for the whole request */
static uint unknown;	/* a tag that this firmware does not know */
static uint spoil_at, spoil; /* this word of each answer has that value; 0: none has */
static uint throttled;
static uint opens, requests, sets, malformed;
module_param(error, int, 0644);
module_param(status, uint, 0644);
module_param(unknown, uint, 0644);
module_param(spoil_at, uint, 0644);
module_param(spoil, uint, 0644);
module_param(throttled, uint, 0644);
module_param(opens, uint, 0444);
module_param(requests, uint, 0444);
module_param(sets, uint, 0444);
module_param(malformed, uint, 0444);

/* The value of a clock, sensor or voltage by its id. */
struct reading {
	u32 tag, id, value;
};

static const struct reading readings[] = {
	{ 0x00030002, 4, 500000000 }, { 0x00030002, 5, 500000000 }, /* the rates that were set */
	{ 0x00030047, 3, 1500345728 }, { 0x00030047, 4, 500000992 }, { 0x00030047, 5, 499987808 },
	{ 0x00030006, 0, 51608 },
	{ 0x00030003, 1, 863200 }, { 0x00030003, 2, 1100000 }, { 0x00030003, 3, 1100000 },
};

/* Fills a value; its length in bytes, or 0: the tag is not known. */
static u32 answer(u32 tag, u32 *value, u32 bytes)
{
	bool known = false;
	u32 id = bytes >= 4 ? value[0] : 0, v = tag == 0x00030003 ? ANSWERED : 0;
	int i;

	if (tag == unknown)
		return 0;
	if (tag == 0x00030046) {
		if (bytes < 4)
			return 4;
		sets += value[0] != 0; /* the bits to clear */
		value[0] = throttled;
		return 4;
	}
	for (i = 0; i < ARRAY_SIZE(readings); i++) {
		known |= readings[i].tag == tag;
		if (readings[i].tag == tag && readings[i].id == id)
			v = readings[i].value;
	}
	if (known && bytes >= 8)
		value[1] = v;
	return known ? 8 : 0;
}

/* Answers each tag of a request of n words. False: it is malformed. */
static bool answer_all(u32 *w, u32 n)
{
	u32 at = 2;

	while (at < n && w[at]) {
		u32 words, length;

		if (n - at < 4 || w[at + 1] % 4 || w[at + 1] / 4 > n - at - 4 || w[at + 2] & ANSWERED)
			return false;
		words = w[at + 1] / 4;
		sets += (w[at] & 0x8000) != 0;
		length = answer(w[at], w + at + 3, 4 * words);
		if (length)
			w[at + 2] = ANSWERED | length;
		at += 3 + words;
	}
	return at == n - 1; /* exactly one end tag */
}

static long fake_ioctl(struct file *file, unsigned int request, unsigned long arg)
{
	u32 __user *user = (u32 __user *)arg;
	u32 size, *w;
	long r = 0;

	requests++;
	if (request != REQUEST) {
		malformed++;
		return -EINVAL;
	}
	if (get_user(size, user))
		return -EFAULT;
	if (size < 12 || size % 4 || size > PAGE_SIZE) {
		malformed++;
		return -EINVAL;
	}
	w = memdup_user(user, size);
	if (IS_ERR(w))
		return PTR_ERR(w);
	if (w[1] || !answer_all(w, size / 4)) {
		malformed++;
		r = -EINVAL;
	} else if (error) {
		r = -error;
	} else if (status != ANSWERED) {
		r = -EINVAL;
	}
	w[1] = ANSWERED;
	if (spoil_at && spoil_at < size / 4)
		w[spoil_at] = spoil;
	if (!r && copy_to_user(user, w, size))
		r = -EFAULT;
	kfree(w);
	return r;
}

static int fake_open(struct inode *inode, struct file *file)
{
	opens++;
	malformed += (file->f_mode & FMODE_WRITE) != 0;
	return 0;
}

static const struct file_operations fake_fops = {
	.owner = THIS_MODULE,
	.open = fake_open,
	.unlocked_ioctl = fake_ioctl,
};

static struct miscdevice fake = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vcio",
	.fops = &fake_fops,
};
module_misc_device(fake);

MODULE_DESCRIPTION("/dev/vcio without firmware, for tests");
MODULE_LICENSE("GPL");
