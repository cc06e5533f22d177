#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC2086,SC2016,SC1091 # functions are called through check()
# t_completion.sh PROG: the completion for bash, called as readline calls it.
prog=$(realpath "$1") || exit 1
root=$(pwd)
. "$root/tests/tap.sh"
tree="--proc $root/tests/trees/mixed/proc --sys $root/tests/trees/mixed/sys"

# completed NAME WORD...: prints the completions of the last word, sorted, on one line. NAME is the
# name of the program.
completed() {
	bash -c 'name=$1; shift; . "'"$tmp"'/comp"; f=$(complete -p "$name") && f=${f#*-F } && f=${f%% *}
		COMP_WORDS=("$name" "$@") COMP_CWORD=$# COMP_LINE="$name $*" COMP_POINT=${#COMP_LINE}
		"$f" "'"$tmp"'/prog" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" && printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$@" | sort -u | tr '\n' ' ' | sed 's/ $//'
}
are() { # WANT WORD...: the completions are exactly WANT
	want=$1
	shift
	got=$(completed gpustat "$@")
	[ "$got" = "$want" ] || { echo "$*: $got"; return 1; }
}
has() { # WORDS WORD...: the completions include WORDS
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
fresh() { # SHELL
	"$root/contrib/completion" "$prog" "$1" | diff "$root/contrib/gpustat.$1" -
}
commands() {
	are "$( (commands_of "$prog" && echo help && echo version) | sort | tr '\n' ' ' | sed 's/ $//')" '' &&
		are 'capture cgroups check clients counters' c && are 'sample stat' s && are '' x && are 'capture cgroups check clients counters' help c && are 'list pack stalls' oa '' && are 'autoconf config' munin ''
}
# The completions of - are exactly the options in the help of a command.
options() {
	for c in procs clients list fdinfo events stat sample run oa counters host top check munin doctor plot capture; do
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
		has 'engine.NAME.busy clients' -f '' && has 'dev,clients' -f dev,cl &&
		has 'page-faults proc/ctxt/' stat -e '' && are page-faults events page-f && are page-faults events --resolve page-f && are --pmu-file events --pmu && are 'cpu-clock,page-faults' stat --event cpu-clock,page-f && are '' stat -C ''
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
# An interactive bash in which the tab key is pressed.
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

# zsh completes only while a line is edited: this presses the tab key in an interactive zsh.
# Arguments: pairs of the typed text and the expected line.
in_zsh() {
	mkdir -p "$tmp/bin" "$tmp/fpath" && cp "$tmp/prog" "$tmp/bin/gpustat" && cp "$root/contrib/gpustat.zsh" "$tmp/fpath/_gpustat" || return 1
	PATH=$tmp/bin:$PATH timeout 120 python3 - "$tmp/fpath" "$@" <<-'END'
		import os, pty, sys, time, select
		pid, fd = pty.fork()
		if not pid:
		    os.environ.update(PS1="> ", TERM="dumb", HOME=sys.argv[1], ZDOTDIR=sys.argv[1])
		    os.execlp("zsh", "zsh", "-f", "-i")
		def until(what):
		    got, end = b"", time.time() + 30
		    while what not in got and time.time() < end:
		        if select.select([fd], [], [], 0.2)[0]:
		            got += os.read(fd, 4096)
		    if what not in got:
		        sys.exit("no %r in %r" % (what, got))
		until(b"> ")
		os.write(fd, b"fpath=(%s $fpath); autoload -U compinit; compinit -D -u; echo re''ady\n" % sys.argv[1].encode())
		until(b"ready")
		for typed, want in zip(sys.argv[2::2], sys.argv[3::2]):
		    os.write(fd, b"gpustat %s\t" % typed.encode())
		    until(b"gpustat " + want.encode())
		    os.write(fd, b"\x15")
		os.write(fd, b"exit\n")
	END
}
zsh_commands() { in_zsh ver 'version ' 'help cgr' 'help cgroups ' 'oa pa' 'oa pack ' 'plo' 'plot '; }
zsh_values() {
	in_zsh 'list --fo' 'list --format=' 'list -o js' 'list -o json ' 'procs -f cgr' 'procs -f cgroup' '-t mo' '-t mono ' \
		'stat -e page-f' 'stat -e page-faults' 'stat --event cpu-clock,page-f' 'stat --event cpu-clock,page-faults' \
		'list -d acc' 'list -d accel0' 'list -d card1,acc' 'list -d card1,accel0'
}
# fish prints the completions of a line without a terminal.
in_fish() { # WANT LINE: the completions of LINE are exactly WANT
	got=$(PATH=$tmp/bin:$PATH HOME=$tmp fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$root/contrib/gpustat.fish" "gpustat $2" |
		cut -f 1 | sort | tr '\n' ' ' | sed 's/ $//')
	[ "$got" = "$1" ] || { echo "$2: $got"; return 1; }
}
fish_commands() {
	mkdir -p "$tmp/bin" && cp "$tmp/prog" "$tmp/bin/gpustat" || return 1
	in_fish version ver && in_fish 'capture cgroups check clients counters' c && in_fish cgroups 'help cgr' && in_fish pack 'oa pa' &&
		in_fish 'autoconf config' 'munin ' && in_fish '' 'xyz'
}
fish_values() {
	in_fish --format 'list --form' && in_fish 'collectd csv' 'list -o c' && in_fish --format=json 'list --format=js' && in_fish '' 'list -o fold' &&
		in_fish folded 'sample -o fold' && in_fish cgroup 'procs -f cgr' && in_fish 'dev,cgroup' 'procs -f dev,cgr' && in_fish mono '-t mo' &&
		in_fish page-faults 'stat -e page-f' && in_fish cpu-clock,page-faults 'stat --event cpu-clock,page-f' && in_fish '' 'stat -C c' &&
		in_fish accel0 'list -d acc' && in_fish --device=card1,accel0 '--device=card1,acc'
}
other_shells() {
	if command -v zsh >/dev/null && command -v python3 >/dev/null; then
		check 'zsh: commands and their subcommands, by the tab key' zsh_commands
		check 'zsh: options and values: formats, fields, devices, events' zsh_values
	else
		skip 'completion in zsh' 'needs package zsh'
	fi
	if command -v fish >/dev/null; then
		check 'fish: commands and their subcommands' fish_commands
		check 'fish: options and values: formats, fields, devices, events' fish_values
	else
		skip 'completion in fish' 'needs package fish'
	fi
}

printf '#!/bin/sh\ncase $1 in list) exec %s "$@" %s ;; esac\nexec %s "$@"\n' "$prog" "$tree" "$prog" >"$tmp/prog"
chmod +x "$tmp/prog"
cp contrib/gpustat.bash "$tmp/comp" || exit 1
for shell in bash zsh fish; do
	check "contrib/gpustat.$shell equals the completion that this program prints" fresh "$shell"
done
other_shells
if ! command -v bash >/dev/null; then
	skip 'completion in bash' 'needs package bash'
	finish
fi
check 'commands and their subcommands' commands
check 'options of each command' options
check 'an abbreviated option becomes its longest name' short_fields
check 'values of options: formats, times, fields' values
check 'values of -d: the devices of this machine' devices
check 'values that are files and folders' files
check 'the command line after stat and sample' lines
check 'completion by the tab key in an interactive bash' readline
check 'completion of the program under another name' another_name
finish
