#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC1091,SC2016,SC2034 # functions are called through check(), rows are read into words
# t_arch.sh PROG: architectures other than that of this machine, under qemu-user. Each program is
# static and builds without a warning, and its output equals golden files; on some architectures
# (see suite.sh) the unit tests pass. ARCHS="NAME...": tests only these architectures, with unit
# tests.
prog=$(realpath "$1") || exit 1
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
top=$PWD build=${BUILD:-$PWD/build/arch}
. tests/arch/parts.sh

for p in $(packages); do
	dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
	echo "1..0 # SKIP needs packages:$missing"
	exit
fi

built() {
	cat "$dir/suite.log"
	[ -e "$dir/done" ]
}
units() {
	for t in "$dir"/unit/*.tap; do
		if grep -A 9 '^not ok' "$t" || ! tail -n 1 "$t" | grep -qx 'exit 0'; then
			cat "$t.err"
			return 1
		fi
	done
}
golden() {
	grep -A 9 '^not ok' "$dir/golden.tap"
	tail -n 1 "$dir/golden.tap" | grep -qx 'exit 0'
}

wide() {
	tests/arch/wide.sh "$prog" >"$tmp/want" && echo 'exit 0' >>"$tmp/want" && grep -q '^whole' "$tmp/want" &&
		diff "$tmp/want" "$dir/wide.tap"
}
outside() {
	for t in "$dir"/outside/*.tap; do
		grep -A 9 '^not ok' "$t"
		tail -n 1 "$t" | grep -qx 'exit 0' || return 1
	done
}
large() {
	tests/arch/large.sh "$prog" >"$tmp/want" && echo 'exit 0' >>"$tmp/want" && diff "$tmp/want" "$dir/large.tap"
}

good=0 rows=0
report_arch() {
	was=$bad bad=0 rows=$((rows + 1))
	a=$name
	check "$a: the program is static, uses musl, and builds without a warning" built
	if [ -d "$dir/unit" ]; then
		check "$a: $(cat "$dir"/unit/*.tap | grep -c '^ok') checks of $(find "$dir/unit" -name '*.tap' | wc -l) unit programs pass" units
	fi
	check "$a: $(grep -c '^ok' "$dir/golden.tap") golden files are reproduced" golden
	if [ -e "$dir/wide.tap" ]; then
		check "$a: numbers, offsets and sizes above 32 bits are correct" wide
	fi
	if [ -d "$dir/outside" ]; then
		check "$a: $(cat "$dir"/outside/*.tap | grep -c '^ok') tests of the program pass on a 64-bit kernel" outside
		check "$a: files above 4 GiB give the same results as on this machine" large
	fi
	[ "$bad" = 0 ] && good=$((good + 1))
	bad=$((bad | was))
}

mkdir -p "$build"
# The rest of the suite tests the program for this machine's own architecture.
archs=${ARCHS:-$(rows | awk -v own="$(uname -m)" '$5 != own { print $1 }')}
# shellcheck disable=SC2086 # names
for a in $archs; do
	rm -f "$build/$a/done"
	mkdir -p "$build/$a"
	echo "$a"
done | xargs -n 1 -P 2 sh -c 'tests/arch/suite.sh "$1" >"$0/$1/suite.log" 2>&1 && : >"$0/$1/done"' "$build"
# shellcheck disable=SC2086 # names
each report_arch $archs
echo "# proof: other architectures than the own = $good of $rows"
finish
