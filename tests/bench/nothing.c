/* nothing.c - the command under measurement: it does nothing. SPDX-License-Identifier: MIT */
int main(void)
{
	return 0;
}
