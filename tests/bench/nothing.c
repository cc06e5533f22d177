/* nothing.c - the command that is measured: it does nothing. SPDX-License-Identifier: MIT */
int main(void)
{
	return 0;
}
