#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC1091,SC2016,SC2034 # functions are called through check(), rows are read into words
# t_arch.sh PROG: eight architectures under qemu-user: each one's binary is static and built without a warning, each unit test
# says what it says on this machine, and each golden file is what the binary prints. Minutes: CI=true runs it.
# ARCHS="NAME...": these only, without CI.
prog=$(realpath "$1") || exit 1
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
top=$PWD build=${BUILD:-$PWD/build/arch}
. tests/arch/parts.sh

if [ "$CI" != true ] && [ -z "$ARCHS" ]; then
	echo '1..0 # SKIP long: CI=true runs it'
	exit
fi
for p in $(packages); do
	dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
	echo "1..0 # SKIP needs packages:$missing"
	exit
fi

# Of which architecture this machine is: what it says without an emulator is what all are to say.
native=
own() {
	[ "$(uname -m)" != "$user" ] || native=$dir/unit
}

built() {
	cat "$dir/suite.log"
	[ -e "$dir/done" ]
}
# The same lines as the native one's, and the same exit; but for what this architecture has no part in.
same() {
	awk 'NR == FNR { want[FNR] = $0; n = FNR; next }
		$0 != want[FNR] && !/^ok .* # SKIP / { print want[FNR] " <> " $0; bad = 1 }
		END { exit bad || FNR != n }' "$1" "$2"
}
units() {
	set -- "$native"/*.native
	[ -e "$1" ] || return 1
	for want; do
		got=${want##*/}
		got=$dir/unit/${got%.native}.tap
		same "$want" "$got" || { cat "$got.err"; return 1; }
		tail -n 1 "$got" | grep -qx 'exit 0' || return 1
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
judge() {
	was=$bad bad=0 rows=$((rows + 1))
	a=$name
	check "$a: static, of musl, without a warning" built
	check "$a: $(cat "$dir"/unit/*.tap | grep -c '^ok') checks of $(find "$dir/unit" -name '*.tap' | wc -l) unit programs, as natively" units
	check "$a: $(grep -c '^ok' "$dir/golden.tap") golden files" golden
	check "$a: numbers, offsets and sizes of more than 32 bits" wide
	if [ -d "$dir/outside" ]; then
		check "$a: $(cat "$dir"/outside/*.tap | grep -c '^ok') checks from outside, on a kernel of more bits" outside
		check "$a: files of more than 4 GiB, as natively" large
	fi
	[ "$bad" = 0 ] && good=$((good + 1))
	bad=$((bad | was))
}

mkdir -p "$build"
# shellcheck disable=SC2086 # names
each own
# shellcheck disable=SC2086 # names
for a in ${ARCHS:-$(rows | cut -d ' ' -f 1)}; do
	rm -f "$build/$a/done"
	mkdir -p "$build/$a"
	echo "$a"
done | xargs -n 1 -P 2 sh -c 'tests/arch/suite.sh "$1" >"$0/$1/suite.log" 2>&1 && : >"$0/$1/done"' "$build"
# shellcheck disable=SC2086 # names
each judge $ARCHS
echo "# proof: architectures = $good of $rows"
finish
