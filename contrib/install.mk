# install.mk - the targets install and setcap. It is a part of the Makefile, and of the Makefile in each
# archive of make release, where the program is built already.
PROG    = gpustat
PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man
DOCDIR  = $(PREFIX)/share/doc/$(PROG)
BASHCOMPDIR = $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR  = $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR = $(PREFIX)/share/fish/vendor_completions.d

# If PROG is another name, the manual and the shell completion use that name too.
RENAME = sed -E 's/(^| |")gpustat( |"|$$)/\1$(PROG)\2/g; s/gpustat-(check|oa|plot|sample|stat)\b/$(PROG)-\1/g'
MAN1 = gpustat.1 $(wildcard docs/gpustat-*.1)
install: $(PROG)
	mkdir -p $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) \
		$(DESTDIR)$(FISHCOMPDIR) $(DESTDIR)$(DOCDIR)
	cp $(PROG) $(DESTDIR)$(BINDIR)/$(PROG)
	chmod 755 $(DESTDIR)$(BINDIR)/$(PROG)
	for m in $(MAN1); do \
		to=$(DESTDIR)$(MANDIR)/man1/$$(basename $$m | sed 's/^gpustat/$(PROG)/'); \
		$(RENAME) $$m >$$to && chmod 644 $$to || exit 1; \
	done
	sed 's/gpustat/$(PROG)/g' contrib/gpustat.bash >$(DESTDIR)$(BASHCOMPDIR)/$(PROG)
	chmod 644 $(DESTDIR)$(BASHCOMPDIR)/$(PROG)
	sed 's/gpustat/$(PROG)/g' contrib/gpustat.zsh >$(DESTDIR)$(ZSHCOMPDIR)/_$(PROG)
	chmod 644 $(DESTDIR)$(ZSHCOMPDIR)/_$(PROG)
	sed 's/gpustat/$(PROG)/g' contrib/gpustat.fish >$(DESTDIR)$(FISHCOMPDIR)/$(PROG).fish
	chmod 644 $(DESTDIR)$(FISHCOMPDIR)/$(PROG).fish
	mkdir -p $(DESTDIR)$(DOCDIR)/docs
	for f in README.md NEWS.md SECURITY.md docs/*.md docs/*.svg; do \
		cp $$f $(DESTDIR)$(DOCDIR)/$$f && chmod 644 $(DESTDIR)$(DOCDIR)/$$f || exit 1; \
	done

# setcap is not a part of install, because install may run without root and may fill a package; a copy of
# a file has no capabilities. Only members of GROUP may execute the program with capabilities, as the
# kernel's Documentation/admin-guide/perf-security.rst recommends. cap_sys_ptrace is enough for the GPU
# clients of other users; PERFMON=1 adds cap_perfmon. chown removes old capabilities, and the mode is set
# before new ones are added.
GROUP  = gpustat
CAPS_  = cap_sys_ptrace
CAPS_1 = cap_sys_ptrace,cap_perfmon
setcap:
	@[ -n "$(GROUP)" ] || { echo "make setcap: GROUP is empty; name a group whose members may run the program" >&2; exit 1; }
	@[ -n "$(CAPS_$(PERFMON))" ] || { echo "make setcap: PERFMON is 1 or not set, not $(PERFMON)" >&2; exit 1; }
	chown root:$(GROUP) $(DESTDIR)$(BINDIR)/$(PROG) || { \
		echo "nothing was changed. To create the group: groupadd --system $(GROUP); to add a user: usermod -aG $(GROUP) USER" >&2; exit 1; }
	chmod 750 $(DESTDIR)$(BINDIR)/$(PROG)
	setcap $(CAPS_$(PERFMON))+ep $(DESTDIR)$(BINDIR)/$(PROG)

.PHONY: install setcap
