#!/bin/sh
# remedies.sh PROG FOLDER N: compares the list of remedies of gpustat doctor in remedies.h with the
# places of sources/catalog/probe.c that set a remedy. Prints TAP, starting with number N + 1.
cd "${0%/*}" || exit 1
n=$(($3 + 1))
source=../../sources/catalog/probe.c

# The functions that set a remedy or the rights that a row requires, one line for each place. A
# definition of a function begins in the first column. The functions that build the text of all
# remedies, and row_requires() itself, are not places.
places() {
	awk '/^[a-z].*\(/ { sub(/\(.*/, ""); sub(/.*[ *]/, ""); name = $0; next }
		/SET\(p->remedy|\)->remedy|row_requires\(/ { print name }' "$source"
}
listed() {
	sed -n '/define DOCTOR_REMEDIES/,$s/^	ROW(\([a-z_]*\), .*/\1/p' remedies.h
}
name="each place of probe.c that sets a remedy is in the list of remedies.h"
if [ "$(places)" = "$(listed)" ] && [ -n "$(listed)" ]; then
	echo "ok $n - $name"
else
	echo "not ok $n - $name"
	places | sed 's/^/# probe.c: /'
	listed | sed 's/^/# remedies.h: /'
fi
