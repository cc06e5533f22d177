#!/bin/sh
# t_eva.sh: the pure files hold for any input. Frama-C's Eva follows each harness of tests/eva with arbitrary values; built
# with sanitizers and with values drawn at random each of them runs, too: it does what it says.
# shellcheck disable=SC1091,SC2154,SC2034 # tap.sh's
cd "${0%/*}/.." || exit 1
. tests/tap.sh

if command -v frama-c >/dev/null; then
	tests/eva/run >"$tmp/eva"
	while IFS= read -r line; do
		case $line in
		'ok - '*) n=$((n + 1)) && echo "ok $n${line#ok}" ;;
		'not ok - '*) n=$((n + 1)) bad=1 && echo "not ok $n${line#not ok}" ;;
		*) echo "$line" ;;
		esac
	done <"$tmp/eva"
	awk 'match($0, /: [0-9]+ alarms/) { n += substr($0, RSTART + 2) + 0; seen = 1 }
		/no count of/ { lost = 1 }
		END { print "# proof: Eva alarms = " (seen && !lost ? n : "unknown") }' "$tmp/eva"
else
	skip 'what Eva proves' 'needs package frama-c-base'
fi

random() { # NAME
	said=$(sed -n 's/^ \* eva: //p' "tests/eva/$1.c")
	files=
	for f in $said; do
		case $f in *.c) files="$files $f" ;; esac
	done
	# shellcheck disable=SC2086 # a list
	gcc -std=c11 -D_GNU_SOURCE -Iinclude -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -o "$tmp/$1" \
		"tests/eva/$1.c" $files && "$tmp/$1"
}
if echo 'int main(void) { return 0; }' | gcc -fsanitize=address,undefined -o "$tmp/a" -x c - 2>/dev/null && "$tmp/a"; then
	for f in tests/eva/*.c; do
		f=${f##*/}
		check "${f%.c} with random values" random "${f%.c}"
	done
else
	skip 'the harnesses with random values' 'gcc has no sanitizers here'
fi
finish
