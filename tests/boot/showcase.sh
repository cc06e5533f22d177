#!/bin/sh
# shellcheck disable=SC2016 # text of Markdown
# showcase.sh PROG FOLDER N: compares the lines in FOLDER, which showcase.c made, with those in the
# README, imports its capture, and makes FOLDER/top.svg, the picture of its screen. Prints TAP,
# starting with number N + 1.
top=$(cd "${0%/*}/../.." && pwd) readme=$(cd "${0%/*}/../.." && pwd)/README.md prog=$(realpath "$1")
cd "$2" || exit 1

# Removes the time of day and the padding of columns.
bare() {
	sed 's/^[0-9][0-9]:[0-9][0-9]:[0-9][0-9] //; s/  */ /g; s/ $//'
}
# Compares two files word by word. Percentages may differ by 2, because the clock of the emulated
# machine is not exact, less so while the processors of the real machine are busy.
alike() {
	awk 'NR == FNR { want[FNR] = $0; n = FNR; next }
		{
			words = split(want[FNR], w)
			same = words == NF
			for (i = 1; i <= words && same; i++)
				same = $i == w[i] || ($i ~ /^[0-9.]+%$/ && w[i] ~ /^[0-9.]+%$/ && $i - w[i] <= 2 && w[i] - $i <= 2)
			if (!same) {
				print "want: " want[FNR] "\nhere: " $0
				bad = 1
			}
		}
		END { exit bad || FNR != n }' "$1" "$2"
}
if sed -n '/^\$ gpustat -w 1$/,/^```$/{/^[$`]/d;p}' "$readme" | bare >want &&
	[ "$(wc -l <want)" = 8 ] && bare <lines >here && alike want here >log; then
	echo "ok $(($3 + 1)) - the README shows the lines of this machine"
else
	echo "not ok $(($3 + 1)) - the README shows the lines of this machine"
	sed 's/^/# /' log
fi

# Prints the records of the tree at FOLDER, which must equal those that the machine itself printed.
says() { # FOLDER WORD...
	at=$1
	shift
	"$prog" "$@" -o json -t none --proc "$at/proc" --sys "$at/sys"
}
# Compares the records of two files. Those of a second reading also have rates, which are null with
# only one reading. The order of engines is that of the processes.
same() { # FILE N: standard input has N records, and those are in FILE
	python3 -c 'import json, sys
def same(a, b):
    return b is None or a == b or isinstance(a, dict) and isinstance(b, dict) and all(same(a.get(k), b[k]) for k in b)
made, now = ([json.loads(r) for r in f] for f in (open(sys.argv[1]), sys.stdin))
both = list(zip(made, now))
sys.exit(len(made) != len(now) or len(now) != int(sys.argv[2]) or not all(
    same(a, b) if "second" in sys.argv[1] else a == b for a, b in both) and f"{sys.argv[1]}: {both}")' "$@"
}
same_reading() { # FOLDER NAME
	(says "$1" -r && says "$1" clients -r) | same "capture/$2.json" 16 && says "$1" procs -r | same "capture/$2-procs.json" 9
}
same_first() { # FOLDER
	same_reading "$1" first && says "$1" list | same capture/list.json 7
}
same_second() {
	cp -a capture/. later && cp -a capture/second/. later && same_reading later second
}
imported() {
	mkdir -p tests/trees tests/golden tests/views && cp "$top/tests/trees/import" tests/trees && cp "$top/tests/views/t_golden.sh" tests/views &&
		cp "$top"/tests/golden/etnaviv.* tests/golden && tests/trees/import capture.tar seven "$prog" && same_first tests/trees/seven &&
		[ "$(grep -c '^card[0-5] \|^accel0 ' tests/golden/seven.line.want)" -ge 7 ]
}
rm -rf capture later tests
if { tar -xf capture.tar --no-same-owner && same_first capture && same_second && imported; } >log 2>&1; then
	echo "ok $(($3 + 2)) - the capture, unpacked and imported, shows the records of the machine"
else
	echo "not ok $(($3 + 2)) - the capture, unpacked and imported, shows the records of the machine"
	tail -n 12 log | cut -c1-300 | sed 's/^/# /'
fi
if grep -qaE 'supertuxkart|benchmark_app|blender' capture.tar; then
	echo "not ok $(($3 + 3)) - the capture contains no names of commands"
else
	echo "ok $(($3 + 3)) - the capture contains no names of commands"
fi

# The terminal session as asciicast, version 2: all output at once.
name="$(($3 + 4)) - the picture of top shows all devices"
if ! command -v termtosvg >/dev/null; then
	echo "ok $name # SKIP needs package termtosvg"
	exit
fi
rm -rf frames
python3 -c 'import json, sys
print(json.dumps({"version": 2, "width": 100, "height": 30}))
print(json.dumps([0.0, "o", sys.stdin.buffer.read().decode("utf-8", "replace")]))' <screen >top.cast &&
	termtosvg render top.cast frames -s -t window_frame >log 2>&1 && mv frames/*.svg top.svg
missing=
for device in card0 card1 card2 card3 card4 card5 accel0; do
	grep -q ">$device<" top.svg || missing="$missing $device"
done
[ -z "$missing" ] && echo "ok $name" || printf 'not ok %s\n# missing:%s\n' "$name" "$missing"
