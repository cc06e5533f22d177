#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC1091,SC2086,SC2046,SC2015,SC3045 # functions are called through check(); flags are lists of words
# t_lib.sh PROG: tests the properties of libgpustat.a and libperfmon2.a that programs rely on.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
# Runs check NAME COMMAND..., or skips it if TOOL is not installed.
with() { # TOOL PACKAGE NAME COMMAND...
	tool=$1 package=$2
	shift 2
	if command -v "$tool" >/dev/null; then check "$@"; else skip "$1" "needs package $package"; fi
}

# --- contents of the libraries ---

# Prints the symbol names of the functions that headers declare.
declared() { # HEADER...
	for header; do
		printf '#include <%s>\n' "$header" | gcc -std=c99 -Iinclude -E -P -x c - | tr '\n' ' ' | tr ';' '\n' |
			sed -n 's/.*__visibility__("default").*[ *]\(\(kd\|gp_\|pfm_\)[A-Za-z0-9_]*\)(.*/\1/p'
	done | sort -u
}
globals() { nm -g --defined-only "$1" | awk 'NF == 3 && $3 !~ /^gpustat__/ { print $3 }' | sort; }
only_declared() { # LIB HEADER...
	lib=$1
	shift
	declared "$@" >"$tmp/declared" && globals "$lib" >"$tmp/globals" && [ "$(wc -l <"$tmp/declared")" -ge 9 ] &&
		diff "$tmp/declared" "$tmp/globals"
}
# False if the library has a global name that only its own files need (gpustat__*).
no_inner_names() { ! nm -g --defined-only "$1" | grep gpustat__; }
quiet_build() { ! grep -i warning "$tmp/make"; }
no_heap() {
	nm -u "$1" | awk '{ print $NF }' >"$tmp/undefined" && grep -qx close "$tmp/undefined" || return 1
	! grep -xE '(__libc_)?(malloc|calloc|realloc|reallocarray|free|memalign|aligned_alloc|posix_memalign)|strn?dup|sbrk|brk|_Zn.*|v?(f|s|sn|d|as)?printf(_chk)?|__.*printf_chk|f?[dp]open|freopen|fclose|fwrite|fread|f?put[sc]|putchar|fflush|[sf]?scanf|std(in|out|err)|getline|perror|strto(f|d|ld)|opendir|qsort|setlocale' "$tmp/undefined"
}
no_constructors() {
	readelf -SW "$1" >"$tmp/sections" && grep -q ' \.text' "$tmp/sections" &&
		! grep -E '\.(init|preinit|fini)_array|\.[cd]tors|\.init |\.fini ' "$tmp/sections" &&
		grep -q '\.note\.GNU-stack' "$tmp/sections" && ! grep 'GNU-stack.* X ' "$tmp/sections"
}
no_text_relocations() {
	gcc -shared -o "$tmp/libx.so" -Wl,--whole-archive "$@" -Wl,--no-whole-archive -Wl,-z,text -Wl,-z,defs -lpthread &&
		! readelf -dW "$tmp/libx.so" | grep TEXTREL
}

# --- programs that include and link them ---

# Prints a program, valid in C and C++, that refers to every function of a header. For KD headers it
# also calls the first function.
consumer() { # HEADER FUNCTION >SOURCE
	printf '#include <%s>\n#include <%s>\n' "$1" "$1"
	printf 'typedef void (*any)(void);\nextern any all_%s[];\nany all_%s[] = {\n' "$2" "$2"
	declared "$1" | sed 's/.*/\t(any)&,/'
	printf '\t0\n};\nint %s(void);\nint %s(void)\n{\n\tint i = 0;\n\twhile (all_%s[i])\n\t\ti++;\n' "$2" "$2" "$2"
	case $1 in
	KD/*) printf '#ifndef KD_KHR_perfcounter\n#error "KD_KHR_perfcounter is not defined"\n#endif\n'
	      printf '\treturn kdGetNumberOfCountersKHR() >= -1 && i == 9 ? 0 : 1;\n}\n' ;;
	*)    printf '\treturn i ? 0 : 1;\n}\n' ;;
	esac
}
main_of() { printf 'int %s(void);\nint main(void)\n{\n\treturn %s();\n}\n' "$1" "$1"; }
quiet='-pedantic -Wall -Wextra -Werror'
links() { # COMPILER SUFFIX FLAGS
	for header in $headers; do
		name=$(echo "$header" | tr -c '[:alnum:]\n' _)
		{ consumer "$header" "$name" && main_of "$name"; } >"$tmp/$name.$2" || return 1
		$1 $3 $quiet -Iinclude -o "$tmp/$name" "$tmp/$name.$2" -L. -lperfmon2 -lgpustat -lpthread && "$tmp/$name" ||
			{ echo "$header"; return 1; }
	done
}
installed() {
	make -s install-dev DESTDIR="$tmp/d" PREFIX=/opt/g >"$tmp/log2" && [ ! -e "$tmp/d/opt/g/bin" ] &&
		[ -f "$tmp/d/opt/g/share/man/man3/khr-perfcounter.3" ] || return 1
	export PKG_CONFIG_SYSROOT_DIR="$tmp/d" PKG_CONFIG_LIBDIR="$tmp/d/opt/g/lib/pkgconfig"
	for header in $headers; do
		name=$(echo "$header" | tr -c '[:alnum:]\n' _)
		{ consumer "$header" "$name" && main_of "$name"; } >"$tmp/$name.c" || return 1
		case $header in perfmon/*) package=perfmon2 ;; *) package=gpustat ;; esac
		$1 $quiet -std=c99 -o "$tmp/$name" $(pkg-config --cflags $package) "$tmp/$name.c" \
			$(pkg-config --libs $package) && "$tmp/$name" || return 1
	done
	[ "$(pkg-config --modversion perfmon2)" = "$("$prog" --version | grep -o '[0-9][0-9.]*' | head -n 1)" ]
}
install_dirs() {
	make -s install-dev DESTDIR="$tmp/e" PREFIX=/usr LIBDIR=/usr/lib64 INCLUDEDIR=/inc MANDIR=/man >"$tmp/log2" &&
		(cd "$tmp/e" && find . -type f) >"$tmp/files" && for f in usr/lib64/libgpustat.a usr/lib64/libperfmon2.a \
		usr/lib64/pkgconfig/gpustat.pc usr/lib64/pkgconfig/perfmon2.pc inc/KD/kd.h inc/gpustat/perf.h \
		inc/perfmon/perfmon.h man/man3/khr-perfcounter.3; do
		grep -qx "./$f" "$tmp/files" || { echo "$f"; return 1; }
	done
	! grep -v '^\./\(usr/lib64\|inc\|man\)/' "$tmp/files" && ! find "$tmp/e" -type f ! -perm 644 | grep .
}
# One program that includes every header in a C99 object and a C++ object of its own, and one source
# with all headers that can be included together.
together() {
	for header in $headers; do
		name=$(echo "$header" | tr -c '[:alnum:]\n' _)
		consumer "$header" "c_$name" >"$tmp/c_$name.c" &&
			gcc -std=c99 $quiet -Iinclude -c -o "$tmp/c_$name.o" "$tmp/c_$name.c" &&
			consumer "$header" "cc_$name" >"$tmp/cc_$name.cc" &&
			g++ -std=c++98 $quiet -Iinclude -c -o "$tmp/cc_$name.o" "$tmp/cc_$name.cc" || return 1
		echo "extern \"C\" { int c_$name(void); } int cc_$name(void);" >>"$tmp/both.h"
		echo "	bad += c_$name() + cc_$name();" >>"$tmp/both.in"
	done
	{
		printf '#include <%s>\n' $khr $perf perfmon/perfmon_fmt.h perfmon/perfmon.h
		echo '#include "both.h"'
		printf 'int main()\n{\n\tint bad = 0;\n%s\n\treturn bad;\n}\n' "$(cat "$tmp/both.in")"
	} >"$tmp/both.cc"
	g++ -std=c++98 $quiet -Iinclude -o "$tmp/both" "$tmp/both.cc" "$tmp"/c_*.o "$tmp"/cc_*.o -L. \
		-lperfmon2 -lgpustat -lpthread && "$tmp/both"
}
# Links the library into a shared library.
in_shared() {
	consumer KD/KHR_perfcounter.h one >"$tmp/one.c" && main_of one >"$tmp/main.c" &&
		gcc -shared -fPIC -Iinclude -o "$tmp/libone.so" "$tmp/one.c" -L. -lgpustat -Wl,-z,text -Wl,-z,defs &&
		gcc -o "$tmp/main" "$tmp/main.c" "$tmp/libone.so" -Wl,-rpath,"$tmp" && "$tmp/main"
}
every_way() { # COMPILER FLAGS...: links the libraries completely, in each way
	compiler=$1
	shift
	consumer KD/KHR_perfcounter.h one >"$tmp/one.c" && main_of one >>"$tmp/one.c" || return 1
	for way in "$@"; do
		$compiler $way -Iinclude -o "$tmp/way" "$tmp/one.c" -Wl,--whole-archive libperfmon2.a libgpustat.a \
			-Wl,--no-whole-archive -lpthread && "$tmp/way" || { echo "$way"; return 1; }
	done
}
# A static program with the functions of libgpustat.a uses as little heap and stdio as gpustat, if
# it exits in the same way as gpustat.
slim() {
	for header in $khr $perf; do
		{ consumer $header one && main_of one && printf 'void _exit(int);\nvoid exit(int c)\n{\n\t_exit(c);\n}\n'; } \
			>"$tmp/one.c" &&
			musl-gcc -w -static -Iinclude -o "$tmp/slim" "$tmp/one.c" -L. -lgpustat &&
			tests/static "$tmp/slim" || return 1
	done
}
# --- memory use ---

# Checks the size of .data and .bss of a program that refers to all functions of a header, minus
# those of an empty program.
static_data() { # HEADER LIBRARIES...
	consumer "$1" one >"$tmp/one.c" && main_of one >>"$tmp/one.c" && echo 'int main(void) { return 0; }' >"$tmp/none.c" || return 1
	shift
	gcc -w -Iinclude -o "$tmp/one" "$tmp/one.c" -L. "$@" -lpthread && gcc -o "$tmp/none" "$tmp/none.c" &&
		size "$tmp/one" "$tmp/none" >"$tmp/sizes" || return 1
	awk 'NR == 2 { n = $2 + $3 } NR == 3 { n -= $2 + $3 } END { print n " bytes"; exit !(n > 0 && n <= 262144) }' "$tmp/sizes"
}
# Compiles a program that finds a counter by its name, reads it and prints its own VmRSS in kB.
# Letters of its argument: a: it first searches for all counters; 2500 of them may be tracepoints.
# n: it runs as nobody, to whom RLIMIT_MEMLOCK applies. l: all memory is locked, now and later. f: a
# child process reads the counter and another one, then the parent does.
one_counter() {
	cat >"$tmp/mem.c" <<-'END'
		#include <KD/KHR_perfcounter.h>
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static KDint find(const char *name)
		{
			const KDCounterInfoKHR *c;
			for (KDint i = 0; (c = kdGetCounterInformationKHR(i)) != KD_NULL; i++)
				if (strcmp(c->name, name) == 0)
					return i;
			fprintf(stderr, "%s: no such counter; error %d\n", name, kdGetError());
			return -1;
		}
		static int reads(const char *name, KDint64 least)
		{
			KDint i = find(name);
			KDint64 v = -1;
			if (i < 0 || kdActivateCountersKHR(&i, 1) || kdStartSamplingKHR() || kdGetCounterValuesKHR(&i, 1, &v) || v < least)
				return 0 * fprintf(stderr, "%s: %d\n", name, (int)v);
			return 1;
		}
		int main(int argc, char **argv)
		{
			char b[4096] = "";
			int status = 0, ok;
			if (strchr(argv[1], 'a') && kdGetNumberOfCountersKHR() < 20)
				return 4;
			if (strchr(argv[1], 'n') && getuid() == 0 && setuid(65534))
				return 2;
			if (strchr(argv[1], 'l') && mlockall(MCL_CURRENT | MCL_FUTURE))
				return 3;
			ok = reads("CPU 0 utilization", 0);
			if (ok && strchr(argv[1], 'f') && fork() == 0)
				_exit(!(reads("CPU 0 utilization", 0) && reads("Processes amount", 1)));
			if (ok && strchr(argv[1], 'f'))
				ok = wait(&status) > 0 && status == 0 && reads("CPU 0 utilization", 0) && reads("Threads amount", 1);
			read(open("/proc/self/status", O_RDONLY), b, sizeof(b) - 1);
			printf("%d\n", strstr(b, "VmRSS:") ? atoi(strstr(b, "VmRSS:") + 6) : 0);
			return !ok;
		}
	END
	musl-gcc -w -static -Iinclude -o "$tmp/mem" "$tmp/mem.c" -L. -lgpustat
}
resident() { # MODE KB LIMIT...: LIMIT: options of ulimit, such as "-v 16384"
	mode=$1 most=$2
	shift 2
	rss=$(for limit; do ulimit $limit || exit 1; done; "$tmp/mem" "$mode" 2>"$tmp/said") && echo "$rss kB resident" &&
		[ "$rss" -gt 0 ] && [ "$rss" -le "$most" ] || { cat "$tmp/said"; return 1; }
}
small() { resident '' 1024 && resident a 2048; }
small_locked() { resident l 2048; }
short_of_room() { # with limits of address space, of locked memory, and of both
	for limit in '-v 8192' '-v 65536' '-d 1024'; do
		resident f 1024 "$limit" || { echo "$limit"; return 1; }
	done
	(ulimit -l 8192) 2>"$tmp/said" || return 0 # the hard limit is lower
	for limit in 3072 4096 8192; do
		resident nlf 2048 "-l $limit" || { echo "-l $limit"; return 1; }
	done
	resident nlf 2048 '-l 8192' '-v 16384'
}
# A program may use all names that are local to the libraries for variables of its own.
own_names() {
	nm --defined-only build/pic/libgpustat.o build/pic/libperfmon2.o |
		awk 'NF == 3 && $2 ~ /[a-z]/ && $3 ~ /^[A-Za-z_][A-Za-z0-9_]*$/ { print $3 }' | sort -u >"$tmp/local"
	grep -qx slurp "$tmp/local" && [ "$(wc -l <"$tmp/local")" -gt 100 ] || { echo 'no names'; return 1; }
	printf 'say\nslurp\nevents\ndevices\nout\nrec\n' | sort -u - "$tmp/local" | sed 's/.*/char & = 1;/' >"$tmp/own.c"
	{ consumer KD/KHR_perfcounter.h the_program && main_of the_program; } >"$tmp/program.c" &&
		gcc -fno-builtin -c -w -o "$tmp/own.o" "$tmp/own.c" &&
		gcc -Iinclude -o "$tmp/own" "$tmp/program.c" "$tmp/own.o" -L. -lperfmon2 -lgpustat -lpthread && "$tmp/own"
}
# Checks the text size in bytes of a static program that reads one counter, minus that of an empty
# program.
text_of_one() { # LIB LIMIT
	echo 'int main(void) { return 0; }' >"$tmp/none.c" && musl-gcc -w -static -Iinclude -o "$tmp/one" "$tmp/mem.c" -L. "-l$1" &&
		musl-gcc -static -o "$tmp/none" "$tmp/none.c" && size "$tmp/one" "$tmp/none" >"$tmp/sizes" || return 1
	awk -v most="$2" 'NR == 2 { n = $1 } NR == 3 { n -= $1 } END { print n " bytes"; exit !(n > 0 && n < most) }' "$tmp/sizes" &&
		"$tmp/one" '' >"$tmp/said" 2>&1 || { cat "$tmp/said"; return 1; }
}
# Compiles static programs that find one counter by its name and read it once, with each library.
first_value() {
	cat >"$tmp/first.c" <<-'END'
		#include <KD/KHR_perfcounter.h>
		#include <string.h>
		int main(void)
		{
			KDint i = 0;
			KDint64 v = -1;
			while (strcmp(kdGetCounterInformationKHR(i)->name, "CPU 0 utilization"))
				i++;
			return kdActivateCountersKHR(&i, 1) || kdStartSamplingKHR() || kdGetCounterValuesKHR(&i, 1, &v) || v < 0;
		}
	END
	for lib in gpustat gpustat-host; do
		musl-gcc -static -Iinclude -o "$tmp/first-$lib" "$tmp/first.c" -L. -l$lib && "$tmp/first-$lib" || return 1
	done
}
few_calls() { # LIB: counts the system calls of such a program until the first value
	strace -o "$tmp/calls" "$tmp/first-$1" && n=$(wc -l <"$tmp/calls") && [ "$n" -gt 5 ] && [ "$n" -le 40 ] || { echo "$n"; return 1; }
}
# Compares the text sizes of these programs with the two figures that each page has, in KB.
text_sizes() {
	size "$tmp/first-gpustat-host" "$tmp/first-gpustat" | awk 'NR > 1 { print $1 / 1000 }' >"$tmp/sizes"
	for page in docs/libraries.md docs/khr-perfcounter.3; do
		grep -oE '[0-9]+ KB\b' $page | paste -d ' ' - "$tmp/sizes" |
			awk -v page=$page '{ n += $3 > 0.9 * $1 && $3 < 1.1 * $1; print page ": " $1 " KB, is " $3 }
				END { exit !(NR == 2 && n == 2) }' || return 1
	done
}
versions() { # The header and the Makefile have the same version.
	printf '%s\n' '#include <gpustat/version.h>' GPUSTAT_VERSION_MAJOR.GPUSTAT_VERSION_MINOR.GPUSTAT_VERSION_PATCH \
		'#if GPUSTAT_VERSION >= 0x200 && GPUSTAT_VERSION < 0x1000000' comparable '#endif' >"$tmp/version.c"
	gcc -Iinclude -E -P "$tmp/version.c" | tr -d ' \n' >"$tmp/version"
	[ "$(cat "$tmp/version")" = "$(sed -n 's/^VERSION = //p' Makefile)comparable" ] || { cat "$tmp/version"; return 1; }
}
# --- shared libraries ---
exports() { # LIB HEADER...: each function has the version of its library; no other name is exported
	lib=$1
	shift
	declared "$@" | sed "s/$/@@${lib}_0/" >"$tmp/declared"
	nm -D --defined-only --with-symbol-versions "$lib.so.0" | awk '$2 == "T" { print $3 }' | sort >"$tmp/globals"
	[ "$(wc -l <"$tmp/declared")" -ge 9 ] && diff "$tmp/declared" "$tmp/globals" &&
		readelf -dW "$lib.so.0" | grep -q "soname: \[$lib.so.0\]" && ! readelf -dW "$lib.so.0" | grep TEXTREL
}
installed_shared() {
	make -s install-shared DESTDIR="$tmp/s" PREFIX=/opt/g >"$tmp/log2" && lib="$tmp/s/opt/g/lib" || return 1
	consumer KD/KHR_perfcounter.h one >"$tmp/one.c" && main_of one >>"$tmp/one.c" &&
		gcc -w -Iinclude -o "$tmp/dynamic" "$tmp/one.c" -L"$lib" -lperfmon2 -lgpustat &&
		readelf -dW "$tmp/dynamic" | grep -q 'libgpustat\.so\.0' && LD_LIBRARY_PATH="$lib" "$tmp/dynamic"
}
python_example() {
	awk '/^\.Bd -literal/ { on = 1; text = ""; next } /^\.Ed/ { if (on && text ~ /^import/) printf "%s", text; on = 0 }
		on { text = text $0 "\n" }' docs/khr-perfcounter.3 >"$tmp/example.py" && [ "$(wc -l <"$tmp/example.py")" -eq 10 ] &&
		LD_LIBRARY_PATH=. timeout 20 python3 "$tmp/example.py" >"$tmp/said" && grep -qxE '[0-9]+ %' "$tmp/said"
}
documented() { # Every function is documented in a manual.
	declared $headers | grep -v '^pfm_v23_' | while read -r f; do
		cat docs/*.3 | grep -q "^\.\(Fn\|Fo\) $f\b" || { echo "$f"; return 1; }
	done
}
# Compiles and runs program N of a manual page. An example that is only a function gets a main()
# with work that causes page faults.
example() { # PAGE N
	awk -v n="$2" '/^\.Bd -literal/ { on = 1; text = ""; next }
		/^\.Ed/ { if (on && text ~ /^#/ && ++k == n) printf "%s", text; on = 0 }
		on { text = text $0 "\n" }' "docs/$1.3" | sed 's/\\e/\\/g' >"$tmp/example.c"
	call=$(sed -n 's/^[a-z]* \([a-z]*\)(void (\*work)(void))$/\1/p' "$tmp/example.c")
	[ -z "$call" ] || cat >>"$tmp/example.c" <<-END
		static volatile char pages[4 << 20];
		static void touch(void) { for (long i = 0; i < 4 << 20; i += 4096) pages[i] = 1; }
		int main(void) { setbuf(stdout, NULL); $call(touch); return 0; }
	END
	gcc -Wall -Wextra -Werror -Iinclude -o "$tmp/example" "$tmp/example.c" libperfmon2.a libgpustat.a -lpthread || return 1
	timeout 5 stdbuf -oL "$tmp/example" >"$tmp/said"
	[ -s "$tmp/said" ]
}
examples() {
	example gpustat-perf 1 && grep -q '^at 0x' "$tmp/said" && tail -n 1 "$tmp/said" | grep -qx '[1-9][0-9]*' &&
		example perfmon 1 && grep -q '^at 0x' "$tmp/said" &&
		example perfmon 2 && grep -q '^0x.* after [1-9][0-9]* ns' "$tmp/said" &&
		example khr-perfcounter 1 && grep -qx '[0-9]* %' "$tmp/said"
}
lint() {
	for m in docs/*.[0-9]; do
		mandoc -Tlint -Wwarning "$m" || return 1
	done
}
cleans() {
	mkdir "$tmp/c" && tar -cf - --exclude=build --exclude='*.o' --exclude=.git . | tar -xf - -C "$tmp/c" &&
		cd "$tmp/c" && cp Makefile before && make -s lib >/dev/null && [ -f libgpustat.a ] && [ -f libperfmon2.a ] &&
		cmp libgpustat.a "$root/libgpustat.a" && make -s clean && ! find . -name '*.[ao]' | grep . && [ ! -e build ]
}

prog=$(realpath "$1") || exit 1
root=$(pwd)
khr='KD/KHR_perfcounter.h'
perf='gpustat/perf.h'
pfm='perfmon/perfmon.h perfmon/perfmon_v2.h perfmon/perfmon_fmt.h'
headers="$khr $perf $pfm"
mkdir -p build
flock build/lib.lock make -s lib shared >"$tmp/make" 2>&1 || { sed 's/^/# /' "$tmp/make"; echo 'Bail out! make lib'; exit 1; }
check 'both libraries build without a warning' quiet_build
check 'libgpustat.a defines exactly the functions of its headers as global names' only_declared libgpustat.a $khr $perf
check 'libperfmon2.a defines exactly the functions of its headers as global names' only_declared libperfmon2.a $pfm
check 'libgpustat-host.a defines exactly the functions of KD/KHR_perfcounter.h as global names' only_declared libgpustat-host.a $khr
for lib in gpustat-host perfmon2; do
	check "lib$lib.a has no global name that only its own files need" no_inner_names lib$lib.a
done
check 'libgpustat.so exports exactly the functions of its headers, with a version' exports libgpustat $khr $perf
check 'libperfmon2.so exports exactly the functions of its headers, with a version' exports libperfmon2 $pfm
check 'install-shared: a program is linked with the shared libraries' installed_shared
with python3 python3 'the example for Python in the manual has ten lines, and prints what is described' python_example
check 'the version in gpustat/version.h is that of the program' versions
for lib in gpustat gpustat-host perfmon2; do
	check "lib$lib.a uses no heap and no stdio" no_heap build/pic/lib$lib.o
	check "lib$lib.a has no global constructors and no executable stack" no_constructors build/pic/lib$lib.o
done
check 'a shared library made of both libraries has no text relocations' no_text_relocations libperfmon2.a libgpustat.a
check 'gcc -std=c99: programs that include one header each are compiled and linked' links gcc c -std=c99
for std in c++98 c++17; do
	with g++ g++ "g++ -std=$std: programs that include one header each are compiled and linked" links g++ cc -std=$std
done
with musl-gcc musl-tools 'musl-gcc -std=c99: programs that include one header each are compiled and linked' links musl-gcc c -std=c99
with clang clang 'clang -std=c99: programs that include one header each are compiled and linked' links clang c -std=c99
with clang++ clang 'clang++ -std=c++17: programs that include one header each are compiled and linked' links clang++ cc -std=c++17
check 'the libraries link completely with glibc: PIE, no PIE, static, static PIE' every_way gcc -pie -no-pie -static -static-pie
with musl-gcc musl-tools 'the libraries link completely with musl: PIE, no PIE, static' every_way musl-gcc -pie -no-pie -static
with musl-gcc musl-tools 'a static program with libgpustat.a uses no heap and no stdio' slim
check 'libgpustat.a adds at most 256 KiB of .data and .bss' static_data $khr -lgpustat
check 'libgpustat-host.a adds at most 256 KiB of .data and .bss' static_data $khr -lgpustat-host
check 'libperfmon2.a with libgpustat.a adds at most 256 KiB of .data and .bss' static_data perfmon/perfmon.h -lperfmon2 -lgpustat
with musl-gcc musl-tools 'a static program that reads one counter can be compiled' one_counter
with musl-gcc musl-tools 'a program that reads one counter has less than 120 KB of text with libgpustat-host.a' text_of_one gpustat-host 120000
with musl-gcc musl-tools 'static programs that read one counter are linked with either library' first_value
for lib in gpustat gpustat-host; do
	with strace strace "lib$lib.a: the first value of a counter takes at most 40 system calls" few_calls $lib
done
with musl-gcc musl-tools 'the pages name the text sizes of programs that read one counter, within a tenth' text_sizes
with musl-gcc musl-tools 'a program that reads one counter has at most 1 MiB of resident memory, 2 MiB with the list of all counters' small
with musl-gcc musl-tools 'a program that reads one counter has at most 2 MiB of resident memory if all memory is locked' small_locked
with musl-gcc musl-tools 'a program reads a counter under limits on memory, also in a child process' short_of_room
with g++ g++ 'one program with a C99 object and a C++ object for every header is compiled and linked' together
check "libgpustat.a can be linked into a shared library of a program" in_shared
check 'a program may use all names that the libraries do not declare' own_names
with pkg-config pkg-config 'install-dev with DESTDIR; programs are compiled with pkg-config' installed gcc
check 'install-dev uses PREFIX LIBDIR INCLUDEDIR MANDIR; all users may read the files' install_dirs
check 'a build in another folder results in identical libraries; make clean removes them' cleans
check 'each function is documented in a manual' documented
check 'the examples in the manuals print what is described' examples
with mandoc mandoc 'the manuals have no warning of mandoc -Tlint -Wwarning' lint
finish
