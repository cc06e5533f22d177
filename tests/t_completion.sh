#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC2086,SC2016,SC1091 # functions are called through check()
# t_completion.sh PROG: what bash completes, driven as readline drives it.
prog=$(realpath "$1") || exit 1
root=$(pwd)
. "$root/tests/tap.sh"
tree="--proc $root/tests/trees/mixed/proc --sys $root/tests/trees/mixed/sys"

# completed NAME WORD...: what the file completes the last word with, sorted, on a line; NAME is what the program is called.
completed() {
	bash -c 'name=$1; shift; . "'"$tmp"'/comp"; f=$(complete -p "$name") && f=${f#*-F } && f=${f%% *}
		COMP_WORDS=("$name" "$@") COMP_CWORD=$# COMP_LINE="$name $*" COMP_POINT=${#COMP_LINE}
		"$f" "'"$tmp"'/prog" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" && printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$@" | sort -u | tr '\n' ' ' | sed 's/ $//'
}
are() { # WANT WORD...: exactly these
	want=$1
	shift
	got=$(completed gpustat "$@")
	[ "$got" = "$want" ] || { echo "$*: $got"; return 1; }
}
has() { # WORDS WORD...: these among others
	want=$1
	shift
	got=$(completed gpustat "$@")
	for w in $want; do
		case " $got " in *" $w "*) ;; *) echo "$*: no $w in: $got"; return 1 ;; esac
	done
}
hasnt() {
	! has "$@"
}
fresh() { "$root/contrib/completion" "$prog" | diff "$root/contrib/gpustat.bash" -; }
commands() {
	are "$("$prog" --help | sed -n 's/^gpustat \([a-z][a-z]*\) .*/\1/p' | sort | tr '\n' ' ' | sed 's/ $//')" '' &&
		are 'cgroups check counters' c && are 'sample stat' s && are '' x && are 'list pack' oa '' && are 'autoconf config' munin ''
}
# Every option that a command's help shows, and no other.
options() {
	for c in procs list fdinfo events stat sample oa counters host top check munin doctor plot; do
		"$prog" "$c" --help | sed -n 's/^-\(.\), --\([a-z-]*\).*/-\1 --\2/p; s/^    --\([a-z-]*\).*/--\1/p' |
			tr ' ' '\n' | sort -u | tr '\n' ' ' | sed 's/ $//' >"$tmp/want"
		[ "$(wc -w <"$tmp/want")" -gt 8 ] && are "$(cat "$tmp/want")" "$c" - || return 1
	done
	has '--interval -S' - && has '-e --repeat' stat - && hasnt -S stat - && hasnt -e procs - && are '--format' --fo
}
short_fields() { are '--fields' --fi && are '--format' --fo; }
values() {
	are 'collectd csv' list -o c && has 'json prom influx' -o '' && hasnt folded -o '' && has folded sample --format '' &&
		are 'epoch iso mono none' -t '' && are iso --time = i && hasnt iso stat -t '' && are '' -i '' && are '' stat --control '' &&
		has 'engine.NAME.busy clients' -f '' && has 'dev,clients' -f dev,cl
}
devices() {
	"$prog" list $tree -H -o csv -f dev >"$tmp/devs" && [ -s "$tmp/devs" ] &&
		are "$(sort "$tmp/devs" | tr '\n' ' ' | sed 's/ $//')" -d '' && are "$(sed -n 1p "$tmp/devs")" procs --device = "$(sed -n 1p "$tmp/devs")" &&
		has "card0,card1" -d card0,card
}
files() {
	mkdir "$tmp/in" && cd "$tmp/in" && : >run.csv && mkdir deep && are 'deep run.csv' plot '' && are run.csv fdinfo r &&
		are deep --proc '' && are 'deep run.csv' -O '' && are run.csv --output = r && are '' procs r
}
lines() { has 'ls' stat ls && has sed sample -a se; }
another_name() {
	sed 's/gpustat/gs/g' contrib/gpustat.bash >"$tmp/comp" && [ "$(completed gs mun)" = munin ] && [ "$(completed gs -o js)" = json ]
}
# bash itself, with what a user types: the tab key through readline.
readline() {
	mkdir -p "$tmp/bin" && cp "$prog" "$tmp/bin/gpustat" || return 1
	PATH=$tmp/bin:$PATH timeout 120 python3 - "$root/contrib/gpustat.bash" <<-'END'
		import os, pty, sys, time, select
		pid, fd = pty.fork()
		if not pid:
		    os.environ.update(PS1="> ", TERM="dumb", INPUTRC="/dev/null")
		    os.execlp("bash", "bash", "--norc", "--noprofile", "-i")
		def until(what):
		    got, end = b"", time.time() + 60
		    while what not in got and time.time() < end:
		        if select.select([fd], [], [], 0.2)[0]:
		            got += os.read(fd, 4096)
		    if what not in got:
		        sys.exit("no %r in %r" % (what, got))
		until(b"> ")
		os.write(fd, b". %s\n" % sys.argv[1].encode())
		until(b"> ")
		os.write(fd, b"gpustat ho\t--form\tjs\t")
		until(b"gpustat host --format json")
		os.write(fd, b"\x03exit\n")
	END
}

printf '#!/bin/sh\ncase $1 in list) exec %s "$@" %s ;; esac\nexec %s "$@"\n' "$prog" "$tree" "$prog" >"$tmp/prog"
chmod +x "$tmp/prog"
cp contrib/gpustat.bash "$tmp/comp" || exit 1
check 'contrib/gpustat.bash is what this program makes' fresh
if ! command -v bash >/dev/null; then
	skip 'bash completes' 'needs package bash'
	finish
fi
check 'commands and their words' commands
check 'options of each command' options
check 'the longest of several names' short_fields
check 'values: formats, times, fields' values
check 'devices of this machine' devices
check 'files and folders' files
check 'commands to be counted' lines
check 'under readline' readline
check 'under another name' another_name
finish
