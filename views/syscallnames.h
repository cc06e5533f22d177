/* Made by contrib/syscallnames: the names of system calls of all architectures. */
#ifdef __NR__llseek
N(__NR__llseek, _llseek)
#endif
#ifdef __NR__newselect
N(__NR__newselect, _newselect)
#endif
#ifdef __NR__sysctl
N(__NR__sysctl, _sysctl)
#endif
#ifdef __NR_accept
N(__NR_accept, accept)
#endif
#ifdef __NR_accept4
N(__NR_accept4, accept4)
#endif
#ifdef __NR_access
N(__NR_access, access)
#endif
#ifdef __NR_acct
N(__NR_acct, acct)
#endif
#ifdef __NR_add_key
N(__NR_add_key, add_key)
#endif
#ifdef __NR_adjtimex
N(__NR_adjtimex, adjtimex)
#endif
#ifdef __NR_afs_syscall
N(__NR_afs_syscall, afs_syscall)
#endif
#ifdef __NR_alarm
N(__NR_alarm, alarm)
#endif
#ifdef __NR_arch_prctl
N(__NR_arch_prctl, arch_prctl)
#endif
#ifdef __NR_arm_fadvise64_64
N(__NR_arm_fadvise64_64, arm_fadvise64_64)
#endif
#ifdef __NR_arm_sync_file_range
N(__NR_arm_sync_file_range, arm_sync_file_range)
#endif
#ifdef __NR_bdflush
N(__NR_bdflush, bdflush)
#endif
#ifdef __NR_bind
N(__NR_bind, bind)
#endif
#ifdef __NR_bpf
N(__NR_bpf, bpf)
#endif
#ifdef __NR_break
N(__NR_break, break)
#endif
#ifdef __NR_brk
N(__NR_brk, brk)
#endif
#ifdef __NR_capget
N(__NR_capget, capget)
#endif
#ifdef __NR_capset
N(__NR_capset, capset)
#endif
#ifdef __NR_chdir
N(__NR_chdir, chdir)
#endif
#ifdef __NR_chmod
N(__NR_chmod, chmod)
#endif
#ifdef __NR_chown
N(__NR_chown, chown)
#endif
#ifdef __NR_chown32
N(__NR_chown32, chown32)
#endif
#ifdef __NR_chroot
N(__NR_chroot, chroot)
#endif
#ifdef __NR_clock_adjtime
N(__NR_clock_adjtime, clock_adjtime)
#endif
#ifdef __NR_clock_adjtime64
N(__NR_clock_adjtime64, clock_adjtime64)
#endif
#ifdef __NR_clock_getres
N(__NR_clock_getres, clock_getres)
#elif defined __NR_clock_getres_time32
N(__NR_clock_getres_time32, clock_getres)
#endif
#ifdef __NR_clock_getres_time64
N(__NR_clock_getres_time64, clock_getres_time64)
#endif
#ifdef __NR_clock_gettime
N(__NR_clock_gettime, clock_gettime)
#elif defined __NR_clock_gettime32
N(__NR_clock_gettime32, clock_gettime)
#endif
#ifdef __NR_clock_gettime64
N(__NR_clock_gettime64, clock_gettime64)
#endif
#ifdef __NR_clock_nanosleep
N(__NR_clock_nanosleep, clock_nanosleep)
#elif defined __NR_clock_nanosleep_time32
N(__NR_clock_nanosleep_time32, clock_nanosleep)
#endif
#ifdef __NR_clock_nanosleep_time64
N(__NR_clock_nanosleep_time64, clock_nanosleep_time64)
#endif
#ifdef __NR_clock_settime
N(__NR_clock_settime, clock_settime)
#elif defined __NR_clock_settime32
N(__NR_clock_settime32, clock_settime)
#endif
#ifdef __NR_clock_settime64
N(__NR_clock_settime64, clock_settime64)
#endif
#ifdef __NR_clone
N(__NR_clone, clone)
#endif
#ifdef __NR_clone3
N(__NR_clone3, clone3)
#else
N(435, clone3)
#endif
#ifdef __NR_close
N(__NR_close, close)
#endif
#ifdef __NR_close_range
N(__NR_close_range, close_range)
#else
N(436, close_range)
#endif
#ifdef __NR_connect
N(__NR_connect, connect)
#endif
#ifdef __NR_copy_file_range
N(__NR_copy_file_range, copy_file_range)
#endif
#ifdef __NR_creat
N(__NR_creat, creat)
#endif
#ifdef __NR_create_module
N(__NR_create_module, create_module)
#endif
#ifdef __NR_delete_module
N(__NR_delete_module, delete_module)
#endif
#ifdef __NR_dup
N(__NR_dup, dup)
#endif
#ifdef __NR_dup2
N(__NR_dup2, dup2)
#endif
#ifdef __NR_dup3
N(__NR_dup3, dup3)
#endif
#ifdef __NR_epoll_create
N(__NR_epoll_create, epoll_create)
#endif
#ifdef __NR_epoll_create1
N(__NR_epoll_create1, epoll_create1)
#endif
#ifdef __NR_epoll_ctl
N(__NR_epoll_ctl, epoll_ctl)
#endif
#ifdef __NR_epoll_ctl_old
N(__NR_epoll_ctl_old, epoll_ctl_old)
#endif
#ifdef __NR_epoll_pwait
N(__NR_epoll_pwait, epoll_pwait)
#endif
#ifdef __NR_epoll_pwait2
N(__NR_epoll_pwait2, epoll_pwait2)
#else
N(441, epoll_pwait2)
#endif
#ifdef __NR_epoll_wait
N(__NR_epoll_wait, epoll_wait)
#endif
#ifdef __NR_epoll_wait_old
N(__NR_epoll_wait_old, epoll_wait_old)
#endif
#ifdef __NR_eventfd
N(__NR_eventfd, eventfd)
#endif
#ifdef __NR_eventfd2
N(__NR_eventfd2, eventfd2)
#endif
#ifdef __NR_execve
N(__NR_execve, execve)
#endif
#ifdef __NR_execveat
N(__NR_execveat, execveat)
#endif
#ifdef __NR_exit
N(__NR_exit, exit)
#endif
#ifdef __NR_exit_group
N(__NR_exit_group, exit_group)
#endif
#ifdef __NR_faccessat
N(__NR_faccessat, faccessat)
#endif
#ifdef __NR_faccessat2
N(__NR_faccessat2, faccessat2)
#else
N(439, faccessat2)
#endif
#ifdef __NR_fadvise64
N(__NR_fadvise64, fadvise64)
#endif
#ifdef __NR_fadvise64_64
N(__NR_fadvise64_64, fadvise64_64)
#endif
#ifdef __NR_fallocate
N(__NR_fallocate, fallocate)
#endif
#ifdef __NR_fanotify_init
N(__NR_fanotify_init, fanotify_init)
#endif
#ifdef __NR_fanotify_mark
N(__NR_fanotify_mark, fanotify_mark)
#endif
#ifdef __NR_fchdir
N(__NR_fchdir, fchdir)
#endif
#ifdef __NR_fchmod
N(__NR_fchmod, fchmod)
#endif
#ifdef __NR_fchmodat
N(__NR_fchmodat, fchmodat)
#endif
#ifdef __NR_fchown
N(__NR_fchown, fchown)
#endif
#ifdef __NR_fchown32
N(__NR_fchown32, fchown32)
#endif
#ifdef __NR_fchownat
N(__NR_fchownat, fchownat)
#endif
#ifdef __NR_fcntl
N(__NR_fcntl, fcntl)
#endif
#ifdef __NR_fcntl64
N(__NR_fcntl64, fcntl64)
#endif
#ifdef __NR_fdatasync
N(__NR_fdatasync, fdatasync)
#endif
#ifdef __NR_fgetxattr
N(__NR_fgetxattr, fgetxattr)
#endif
#ifdef __NR_finit_module
N(__NR_finit_module, finit_module)
#endif
#ifdef __NR_flistxattr
N(__NR_flistxattr, flistxattr)
#endif
#ifdef __NR_flock
N(__NR_flock, flock)
#endif
#ifdef __NR_fork
N(__NR_fork, fork)
#endif
#ifdef __NR_fremovexattr
N(__NR_fremovexattr, fremovexattr)
#endif
#ifdef __NR_fsconfig
N(__NR_fsconfig, fsconfig)
#else
N(431, fsconfig)
#endif
#ifdef __NR_fsetxattr
N(__NR_fsetxattr, fsetxattr)
#endif
#ifdef __NR_fsmount
N(__NR_fsmount, fsmount)
#else
N(432, fsmount)
#endif
#ifdef __NR_fsopen
N(__NR_fsopen, fsopen)
#else
N(430, fsopen)
#endif
#ifdef __NR_fspick
N(__NR_fspick, fspick)
#else
N(433, fspick)
#endif
#ifdef __NR_fstat
N(__NR_fstat, fstat)
#endif
#ifdef __NR_fstat64
N(__NR_fstat64, fstat64)
#endif
#ifdef __NR_fstatat64
N(__NR_fstatat64, fstatat64)
#endif
#ifdef __NR_fstatfs
N(__NR_fstatfs, fstatfs)
#endif
#ifdef __NR_fstatfs64
N(__NR_fstatfs64, fstatfs64)
#endif
#ifdef __NR_fsync
N(__NR_fsync, fsync)
#endif
#ifdef __NR_ftime
N(__NR_ftime, ftime)
#endif
#ifdef __NR_ftruncate
N(__NR_ftruncate, ftruncate)
#endif
#ifdef __NR_ftruncate64
N(__NR_ftruncate64, ftruncate64)
#endif
#ifdef __NR_futex
N(__NR_futex, futex)
#endif
#ifdef __NR_futex_time64
N(__NR_futex_time64, futex_time64)
#endif
#ifdef __NR_futex_waitv
N(__NR_futex_waitv, futex_waitv)
#else
N(449, futex_waitv)
#endif
#ifdef __NR_futimesat
N(__NR_futimesat, futimesat)
#endif
#ifdef __NR_get_kernel_syms
N(__NR_get_kernel_syms, get_kernel_syms)
#endif
#ifdef __NR_get_mempolicy
N(__NR_get_mempolicy, get_mempolicy)
#endif
#ifdef __NR_get_robust_list
N(__NR_get_robust_list, get_robust_list)
#endif
#ifdef __NR_get_thread_area
N(__NR_get_thread_area, get_thread_area)
#endif
#ifdef __NR_getcpu
N(__NR_getcpu, getcpu)
#endif
#ifdef __NR_getcwd
N(__NR_getcwd, getcwd)
#endif
#ifdef __NR_getdents
N(__NR_getdents, getdents)
#endif
#ifdef __NR_getdents64
N(__NR_getdents64, getdents64)
#endif
#ifdef __NR_getegid
N(__NR_getegid, getegid)
#endif
#ifdef __NR_getegid32
N(__NR_getegid32, getegid32)
#endif
#ifdef __NR_geteuid
N(__NR_geteuid, geteuid)
#endif
#ifdef __NR_geteuid32
N(__NR_geteuid32, geteuid32)
#endif
#ifdef __NR_getgid
N(__NR_getgid, getgid)
#endif
#ifdef __NR_getgid32
N(__NR_getgid32, getgid32)
#endif
#ifdef __NR_getgroups
N(__NR_getgroups, getgroups)
#endif
#ifdef __NR_getgroups32
N(__NR_getgroups32, getgroups32)
#endif
#ifdef __NR_getitimer
N(__NR_getitimer, getitimer)
#endif
#ifdef __NR_getpeername
N(__NR_getpeername, getpeername)
#endif
#ifdef __NR_getpgid
N(__NR_getpgid, getpgid)
#endif
#ifdef __NR_getpgrp
N(__NR_getpgrp, getpgrp)
#endif
#ifdef __NR_getpid
N(__NR_getpid, getpid)
#endif
#ifdef __NR_getpmsg
N(__NR_getpmsg, getpmsg)
#endif
#ifdef __NR_getppid
N(__NR_getppid, getppid)
#endif
#ifdef __NR_getpriority
N(__NR_getpriority, getpriority)
#endif
#ifdef __NR_getrandom
N(__NR_getrandom, getrandom)
#endif
#ifdef __NR_getresgid
N(__NR_getresgid, getresgid)
#endif
#ifdef __NR_getresgid32
N(__NR_getresgid32, getresgid32)
#endif
#ifdef __NR_getresuid
N(__NR_getresuid, getresuid)
#endif
#ifdef __NR_getresuid32
N(__NR_getresuid32, getresuid32)
#endif
#ifdef __NR_getrlimit
N(__NR_getrlimit, getrlimit)
#endif
#ifdef __NR_getrusage
N(__NR_getrusage, getrusage)
#endif
#ifdef __NR_getsid
N(__NR_getsid, getsid)
#endif
#ifdef __NR_getsockname
N(__NR_getsockname, getsockname)
#endif
#ifdef __NR_getsockopt
N(__NR_getsockopt, getsockopt)
#endif
#ifdef __NR_gettid
N(__NR_gettid, gettid)
#endif
#ifdef __NR_gettimeofday
N(__NR_gettimeofday, gettimeofday)
#elif defined __NR_gettimeofday_time32
N(__NR_gettimeofday_time32, gettimeofday)
#endif
#ifdef __NR_getuid
N(__NR_getuid, getuid)
#endif
#ifdef __NR_getuid32
N(__NR_getuid32, getuid32)
#endif
#ifdef __NR_getxattr
N(__NR_getxattr, getxattr)
#endif
#ifdef __NR_gtty
N(__NR_gtty, gtty)
#endif
#ifdef __NR_idle
N(__NR_idle, idle)
#endif
#ifdef __NR_init_module
N(__NR_init_module, init_module)
#endif
#ifdef __NR_inotify_add_watch
N(__NR_inotify_add_watch, inotify_add_watch)
#endif
#ifdef __NR_inotify_init
N(__NR_inotify_init, inotify_init)
#endif
#ifdef __NR_inotify_init1
N(__NR_inotify_init1, inotify_init1)
#endif
#ifdef __NR_inotify_rm_watch
N(__NR_inotify_rm_watch, inotify_rm_watch)
#endif
#ifdef __NR_io_cancel
N(__NR_io_cancel, io_cancel)
#endif
#ifdef __NR_io_destroy
N(__NR_io_destroy, io_destroy)
#endif
#ifdef __NR_io_getevents
N(__NR_io_getevents, io_getevents)
#endif
#ifdef __NR_io_pgetevents
N(__NR_io_pgetevents, io_pgetevents)
#endif
#ifdef __NR_io_pgetevents_time64
N(__NR_io_pgetevents_time64, io_pgetevents_time64)
#endif
#ifdef __NR_io_setup
N(__NR_io_setup, io_setup)
#endif
#ifdef __NR_io_submit
N(__NR_io_submit, io_submit)
#endif
#ifdef __NR_io_uring_enter
N(__NR_io_uring_enter, io_uring_enter)
#else
N(426, io_uring_enter)
#endif
#ifdef __NR_io_uring_register
N(__NR_io_uring_register, io_uring_register)
#else
N(427, io_uring_register)
#endif
#ifdef __NR_io_uring_setup
N(__NR_io_uring_setup, io_uring_setup)
#else
N(425, io_uring_setup)
#endif
#ifdef __NR_ioctl
N(__NR_ioctl, ioctl)
#endif
#ifdef __NR_ioperm
N(__NR_ioperm, ioperm)
#endif
#ifdef __NR_iopl
N(__NR_iopl, iopl)
#endif
#ifdef __NR_ioprio_get
N(__NR_ioprio_get, ioprio_get)
#endif
#ifdef __NR_ioprio_set
N(__NR_ioprio_set, ioprio_set)
#endif
#ifdef __NR_ipc
N(__NR_ipc, ipc)
#endif
#ifdef __NR_kcmp
N(__NR_kcmp, kcmp)
#endif
#ifdef __NR_kexec_file_load
N(__NR_kexec_file_load, kexec_file_load)
#endif
#ifdef __NR_kexec_load
N(__NR_kexec_load, kexec_load)
#endif
#ifdef __NR_keyctl
N(__NR_keyctl, keyctl)
#endif
#ifdef __NR_kill
N(__NR_kill, kill)
#endif
#ifdef __NR_landlock_add_rule
N(__NR_landlock_add_rule, landlock_add_rule)
#else
N(445, landlock_add_rule)
#endif
#ifdef __NR_landlock_create_ruleset
N(__NR_landlock_create_ruleset, landlock_create_ruleset)
#else
N(444, landlock_create_ruleset)
#endif
#ifdef __NR_landlock_restrict_self
N(__NR_landlock_restrict_self, landlock_restrict_self)
#else
N(446, landlock_restrict_self)
#endif
#ifdef __NR_lchown
N(__NR_lchown, lchown)
#endif
#ifdef __NR_lchown32
N(__NR_lchown32, lchown32)
#endif
#ifdef __NR_lgetxattr
N(__NR_lgetxattr, lgetxattr)
#endif
#ifdef __NR_link
N(__NR_link, link)
#endif
#ifdef __NR_linkat
N(__NR_linkat, linkat)
#endif
#ifdef __NR_listen
N(__NR_listen, listen)
#endif
#ifdef __NR_listxattr
N(__NR_listxattr, listxattr)
#endif
#ifdef __NR_llistxattr
N(__NR_llistxattr, llistxattr)
#endif
#ifdef __NR_llseek
N(__NR_llseek, llseek)
#endif
#ifdef __NR_lock
N(__NR_lock, lock)
#endif
#ifdef __NR_lookup_dcookie
N(__NR_lookup_dcookie, lookup_dcookie)
#endif
#ifdef __NR_lremovexattr
N(__NR_lremovexattr, lremovexattr)
#endif
#ifdef __NR_lseek
N(__NR_lseek, lseek)
#endif
#ifdef __NR_lsetxattr
N(__NR_lsetxattr, lsetxattr)
#endif
#ifdef __NR_lstat
N(__NR_lstat, lstat)
#endif
#ifdef __NR_lstat64
N(__NR_lstat64, lstat64)
#endif
#ifdef __NR_madvise
N(__NR_madvise, madvise)
#endif
#ifdef __NR_mbind
N(__NR_mbind, mbind)
#endif
#ifdef __NR_membarrier
N(__NR_membarrier, membarrier)
#endif
#ifdef __NR_memfd_create
N(__NR_memfd_create, memfd_create)
#endif
#ifdef __NR_memfd_secret
N(__NR_memfd_secret, memfd_secret)
#else
N(447, memfd_secret)
#endif
#ifdef __NR_migrate_pages
N(__NR_migrate_pages, migrate_pages)
#endif
#ifdef __NR_mincore
N(__NR_mincore, mincore)
#endif
#ifdef __NR_mkdir
N(__NR_mkdir, mkdir)
#endif
#ifdef __NR_mkdirat
N(__NR_mkdirat, mkdirat)
#endif
#ifdef __NR_mknod
N(__NR_mknod, mknod)
#endif
#ifdef __NR_mknodat
N(__NR_mknodat, mknodat)
#endif
#ifdef __NR_mlock
N(__NR_mlock, mlock)
#endif
#ifdef __NR_mlock2
N(__NR_mlock2, mlock2)
#endif
#ifdef __NR_mlockall
N(__NR_mlockall, mlockall)
#endif
#ifdef __NR_mmap
N(__NR_mmap, mmap)
#endif
#ifdef __NR_mmap2
N(__NR_mmap2, mmap2)
#endif
#ifdef __NR_modify_ldt
N(__NR_modify_ldt, modify_ldt)
#endif
#ifdef __NR_mount
N(__NR_mount, mount)
#endif
#ifdef __NR_mount_setattr
N(__NR_mount_setattr, mount_setattr)
#else
N(442, mount_setattr)
#endif
#ifdef __NR_move_mount
N(__NR_move_mount, move_mount)
#else
N(429, move_mount)
#endif
#ifdef __NR_move_pages
N(__NR_move_pages, move_pages)
#endif
#ifdef __NR_mprotect
N(__NR_mprotect, mprotect)
#endif
#ifdef __NR_mpx
N(__NR_mpx, mpx)
#endif
#ifdef __NR_mq_getsetattr
N(__NR_mq_getsetattr, mq_getsetattr)
#endif
#ifdef __NR_mq_notify
N(__NR_mq_notify, mq_notify)
#endif
#ifdef __NR_mq_open
N(__NR_mq_open, mq_open)
#endif
#ifdef __NR_mq_timedreceive
N(__NR_mq_timedreceive, mq_timedreceive)
#endif
#ifdef __NR_mq_timedreceive_time64
N(__NR_mq_timedreceive_time64, mq_timedreceive_time64)
#endif
#ifdef __NR_mq_timedsend
N(__NR_mq_timedsend, mq_timedsend)
#endif
#ifdef __NR_mq_timedsend_time64
N(__NR_mq_timedsend_time64, mq_timedsend_time64)
#endif
#ifdef __NR_mq_unlink
N(__NR_mq_unlink, mq_unlink)
#endif
#ifdef __NR_mremap
N(__NR_mremap, mremap)
#endif
#ifdef __NR_msgctl
N(__NR_msgctl, msgctl)
#endif
#ifdef __NR_msgget
N(__NR_msgget, msgget)
#endif
#ifdef __NR_msgrcv
N(__NR_msgrcv, msgrcv)
#endif
#ifdef __NR_msgsnd
N(__NR_msgsnd, msgsnd)
#endif
#ifdef __NR_msync
N(__NR_msync, msync)
#endif
#ifdef __NR_munlock
N(__NR_munlock, munlock)
#endif
#ifdef __NR_munlockall
N(__NR_munlockall, munlockall)
#endif
#ifdef __NR_munmap
N(__NR_munmap, munmap)
#endif
#ifdef __NR_name_to_handle_at
N(__NR_name_to_handle_at, name_to_handle_at)
#endif
#ifdef __NR_nanosleep
N(__NR_nanosleep, nanosleep)
#endif
#ifdef __NR_newfstatat
N(__NR_newfstatat, newfstatat)
#endif
#ifdef __NR_nfsservctl
N(__NR_nfsservctl, nfsservctl)
#endif
#ifdef __NR_nice
N(__NR_nice, nice)
#endif
#ifdef __NR_oldfstat
N(__NR_oldfstat, oldfstat)
#endif
#ifdef __NR_oldlstat
N(__NR_oldlstat, oldlstat)
#endif
#ifdef __NR_oldolduname
N(__NR_oldolduname, oldolduname)
#endif
#ifdef __NR_oldstat
N(__NR_oldstat, oldstat)
#endif
#ifdef __NR_olduname
N(__NR_olduname, olduname)
#endif
#ifdef __NR_open
N(__NR_open, open)
#endif
#ifdef __NR_open_by_handle_at
N(__NR_open_by_handle_at, open_by_handle_at)
#endif
#ifdef __NR_open_tree
N(__NR_open_tree, open_tree)
#else
N(428, open_tree)
#endif
#ifdef __NR_openat
N(__NR_openat, openat)
#endif
#ifdef __NR_openat2
N(__NR_openat2, openat2)
#else
N(437, openat2)
#endif
#ifdef __NR_pause
N(__NR_pause, pause)
#endif
#ifdef __NR_pciconfig_iobase
N(__NR_pciconfig_iobase, pciconfig_iobase)
#endif
#ifdef __NR_pciconfig_read
N(__NR_pciconfig_read, pciconfig_read)
#endif
#ifdef __NR_pciconfig_write
N(__NR_pciconfig_write, pciconfig_write)
#endif
#ifdef __NR_perf_event_open
N(__NR_perf_event_open, perf_event_open)
#endif
#ifdef __NR_personality
N(__NR_personality, personality)
#endif
#ifdef __NR_pidfd_getfd
N(__NR_pidfd_getfd, pidfd_getfd)
#else
N(438, pidfd_getfd)
#endif
#ifdef __NR_pidfd_open
N(__NR_pidfd_open, pidfd_open)
#else
N(434, pidfd_open)
#endif
#ifdef __NR_pidfd_send_signal
N(__NR_pidfd_send_signal, pidfd_send_signal)
#else
N(424, pidfd_send_signal)
#endif
#ifdef __NR_pipe
N(__NR_pipe, pipe)
#endif
#ifdef __NR_pipe2
N(__NR_pipe2, pipe2)
#endif
#ifdef __NR_pivot_root
N(__NR_pivot_root, pivot_root)
#endif
#ifdef __NR_pkey_alloc
N(__NR_pkey_alloc, pkey_alloc)
#endif
#ifdef __NR_pkey_free
N(__NR_pkey_free, pkey_free)
#endif
#ifdef __NR_pkey_mprotect
N(__NR_pkey_mprotect, pkey_mprotect)
#endif
#ifdef __NR_poll
N(__NR_poll, poll)
#endif
#ifdef __NR_ppoll
N(__NR_ppoll, ppoll)
#endif
#ifdef __NR_ppoll_time64
N(__NR_ppoll_time64, ppoll_time64)
#endif
#ifdef __NR_prctl
N(__NR_prctl, prctl)
#endif
#ifdef __NR_pread64
N(__NR_pread64, pread64)
#endif
#ifdef __NR_preadv
N(__NR_preadv, preadv)
#endif
#ifdef __NR_preadv2
N(__NR_preadv2, preadv2)
#endif
#ifdef __NR_prlimit64
N(__NR_prlimit64, prlimit64)
#endif
#ifdef __NR_process_madvise
N(__NR_process_madvise, process_madvise)
#else
N(440, process_madvise)
#endif
#ifdef __NR_process_mrelease
N(__NR_process_mrelease, process_mrelease)
#else
N(448, process_mrelease)
#endif
#ifdef __NR_process_vm_readv
N(__NR_process_vm_readv, process_vm_readv)
#endif
#ifdef __NR_process_vm_writev
N(__NR_process_vm_writev, process_vm_writev)
#endif
#ifdef __NR_prof
N(__NR_prof, prof)
#endif
#ifdef __NR_profil
N(__NR_profil, profil)
#endif
#ifdef __NR_pselect6
N(__NR_pselect6, pselect6)
#endif
#ifdef __NR_pselect6_time64
N(__NR_pselect6_time64, pselect6_time64)
#endif
#ifdef __NR_ptrace
N(__NR_ptrace, ptrace)
#endif
#ifdef __NR_putpmsg
N(__NR_putpmsg, putpmsg)
#endif
#ifdef __NR_pwrite64
N(__NR_pwrite64, pwrite64)
#endif
#ifdef __NR_pwritev
N(__NR_pwritev, pwritev)
#endif
#ifdef __NR_pwritev2
N(__NR_pwritev2, pwritev2)
#endif
#ifdef __NR_query_module
N(__NR_query_module, query_module)
#endif
#ifdef __NR_quotactl
N(__NR_quotactl, quotactl)
#endif
#ifdef __NR_quotactl_fd
N(__NR_quotactl_fd, quotactl_fd)
#else
N(443, quotactl_fd)
#endif
#ifdef __NR_read
N(__NR_read, read)
#endif
#ifdef __NR_readahead
N(__NR_readahead, readahead)
#endif
#ifdef __NR_readdir
N(__NR_readdir, readdir)
#endif
#ifdef __NR_readlink
N(__NR_readlink, readlink)
#endif
#ifdef __NR_readlinkat
N(__NR_readlinkat, readlinkat)
#endif
#ifdef __NR_readv
N(__NR_readv, readv)
#endif
#ifdef __NR_reboot
N(__NR_reboot, reboot)
#endif
#ifdef __NR_recv
N(__NR_recv, recv)
#endif
#ifdef __NR_recvfrom
N(__NR_recvfrom, recvfrom)
#endif
#ifdef __NR_recvmmsg
N(__NR_recvmmsg, recvmmsg)
#endif
#ifdef __NR_recvmmsg_time64
N(__NR_recvmmsg_time64, recvmmsg_time64)
#endif
#ifdef __NR_recvmsg
N(__NR_recvmsg, recvmsg)
#endif
#ifdef __NR_remap_file_pages
N(__NR_remap_file_pages, remap_file_pages)
#endif
#ifdef __NR_removexattr
N(__NR_removexattr, removexattr)
#endif
#ifdef __NR_rename
N(__NR_rename, rename)
#endif
#ifdef __NR_renameat
N(__NR_renameat, renameat)
#endif
#ifdef __NR_renameat2
N(__NR_renameat2, renameat2)
#endif
#ifdef __NR_request_key
N(__NR_request_key, request_key)
#endif
#ifdef __NR_restart_syscall
N(__NR_restart_syscall, restart_syscall)
#endif
#ifdef __NR_rmdir
N(__NR_rmdir, rmdir)
#endif
#ifdef __NR_rseq
N(__NR_rseq, rseq)
#endif
#ifdef __NR_rt_sigaction
N(__NR_rt_sigaction, rt_sigaction)
#endif
#ifdef __NR_rt_sigpending
N(__NR_rt_sigpending, rt_sigpending)
#endif
#ifdef __NR_rt_sigprocmask
N(__NR_rt_sigprocmask, rt_sigprocmask)
#endif
#ifdef __NR_rt_sigqueueinfo
N(__NR_rt_sigqueueinfo, rt_sigqueueinfo)
#endif
#ifdef __NR_rt_sigreturn
N(__NR_rt_sigreturn, rt_sigreturn)
#endif
#ifdef __NR_rt_sigsuspend
N(__NR_rt_sigsuspend, rt_sigsuspend)
#endif
#ifdef __NR_rt_sigtimedwait
N(__NR_rt_sigtimedwait, rt_sigtimedwait)
#endif
#ifdef __NR_rt_sigtimedwait_time64
N(__NR_rt_sigtimedwait_time64, rt_sigtimedwait_time64)
#endif
#ifdef __NR_rt_tgsigqueueinfo
N(__NR_rt_tgsigqueueinfo, rt_tgsigqueueinfo)
#endif
#ifdef __NR_sched_get_priority_max
N(__NR_sched_get_priority_max, sched_get_priority_max)
#endif
#ifdef __NR_sched_get_priority_min
N(__NR_sched_get_priority_min, sched_get_priority_min)
#endif
#ifdef __NR_sched_getaffinity
N(__NR_sched_getaffinity, sched_getaffinity)
#endif
#ifdef __NR_sched_getattr
N(__NR_sched_getattr, sched_getattr)
#endif
#ifdef __NR_sched_getparam
N(__NR_sched_getparam, sched_getparam)
#endif
#ifdef __NR_sched_getscheduler
N(__NR_sched_getscheduler, sched_getscheduler)
#endif
#ifdef __NR_sched_rr_get_interval
N(__NR_sched_rr_get_interval, sched_rr_get_interval)
#endif
#ifdef __NR_sched_rr_get_interval_time64
N(__NR_sched_rr_get_interval_time64, sched_rr_get_interval_time64)
#endif
#ifdef __NR_sched_setaffinity
N(__NR_sched_setaffinity, sched_setaffinity)
#endif
#ifdef __NR_sched_setattr
N(__NR_sched_setattr, sched_setattr)
#endif
#ifdef __NR_sched_setparam
N(__NR_sched_setparam, sched_setparam)
#endif
#ifdef __NR_sched_setscheduler
N(__NR_sched_setscheduler, sched_setscheduler)
#endif
#ifdef __NR_sched_yield
N(__NR_sched_yield, sched_yield)
#endif
#ifdef __NR_seccomp
N(__NR_seccomp, seccomp)
#endif
#ifdef __NR_security
N(__NR_security, security)
#endif
#ifdef __NR_select
N(__NR_select, select)
#endif
#ifdef __NR_semctl
N(__NR_semctl, semctl)
#endif
#ifdef __NR_semget
N(__NR_semget, semget)
#endif
#ifdef __NR_semop
N(__NR_semop, semop)
#endif
#ifdef __NR_semtimedop
N(__NR_semtimedop, semtimedop)
#endif
#ifdef __NR_semtimedop_time64
N(__NR_semtimedop_time64, semtimedop_time64)
#endif
#ifdef __NR_send
N(__NR_send, send)
#endif
#ifdef __NR_sendfile
N(__NR_sendfile, sendfile)
#endif
#ifdef __NR_sendfile64
N(__NR_sendfile64, sendfile64)
#endif
#ifdef __NR_sendmmsg
N(__NR_sendmmsg, sendmmsg)
#endif
#ifdef __NR_sendmsg
N(__NR_sendmsg, sendmsg)
#endif
#ifdef __NR_sendto
N(__NR_sendto, sendto)
#endif
#ifdef __NR_set_mempolicy
N(__NR_set_mempolicy, set_mempolicy)
#endif
#ifdef __NR_set_mempolicy_home_node
N(__NR_set_mempolicy_home_node, set_mempolicy_home_node)
#else
N(450, set_mempolicy_home_node)
#endif
#ifdef __NR_set_robust_list
N(__NR_set_robust_list, set_robust_list)
#endif
#ifdef __NR_set_thread_area
N(__NR_set_thread_area, set_thread_area)
#endif
#ifdef __NR_set_tid_address
N(__NR_set_tid_address, set_tid_address)
#endif
#ifdef __NR_setdomainname
N(__NR_setdomainname, setdomainname)
#endif
#ifdef __NR_setfsgid
N(__NR_setfsgid, setfsgid)
#endif
#ifdef __NR_setfsgid32
N(__NR_setfsgid32, setfsgid32)
#endif
#ifdef __NR_setfsuid
N(__NR_setfsuid, setfsuid)
#endif
#ifdef __NR_setfsuid32
N(__NR_setfsuid32, setfsuid32)
#endif
#ifdef __NR_setgid
N(__NR_setgid, setgid)
#endif
#ifdef __NR_setgid32
N(__NR_setgid32, setgid32)
#endif
#ifdef __NR_setgroups
N(__NR_setgroups, setgroups)
#endif
#ifdef __NR_setgroups32
N(__NR_setgroups32, setgroups32)
#endif
#ifdef __NR_sethostname
N(__NR_sethostname, sethostname)
#endif
#ifdef __NR_setitimer
N(__NR_setitimer, setitimer)
#endif
#ifdef __NR_setns
N(__NR_setns, setns)
#endif
#ifdef __NR_setpgid
N(__NR_setpgid, setpgid)
#endif
#ifdef __NR_setpriority
N(__NR_setpriority, setpriority)
#endif
#ifdef __NR_setregid
N(__NR_setregid, setregid)
#endif
#ifdef __NR_setregid32
N(__NR_setregid32, setregid32)
#endif
#ifdef __NR_setresgid
N(__NR_setresgid, setresgid)
#endif
#ifdef __NR_setresgid32
N(__NR_setresgid32, setresgid32)
#endif
#ifdef __NR_setresuid
N(__NR_setresuid, setresuid)
#endif
#ifdef __NR_setresuid32
N(__NR_setresuid32, setresuid32)
#endif
#ifdef __NR_setreuid
N(__NR_setreuid, setreuid)
#endif
#ifdef __NR_setreuid32
N(__NR_setreuid32, setreuid32)
#endif
#ifdef __NR_setrlimit
N(__NR_setrlimit, setrlimit)
#endif
#ifdef __NR_setsid
N(__NR_setsid, setsid)
#endif
#ifdef __NR_setsockopt
N(__NR_setsockopt, setsockopt)
#endif
#ifdef __NR_settimeofday
N(__NR_settimeofday, settimeofday)
#elif defined __NR_settimeofday_time32
N(__NR_settimeofday_time32, settimeofday)
#endif
#ifdef __NR_setuid
N(__NR_setuid, setuid)
#endif
#ifdef __NR_setuid32
N(__NR_setuid32, setuid32)
#endif
#ifdef __NR_setxattr
N(__NR_setxattr, setxattr)
#endif
#ifdef __NR_sgetmask
N(__NR_sgetmask, sgetmask)
#endif
#ifdef __NR_shmat
N(__NR_shmat, shmat)
#endif
#ifdef __NR_shmctl
N(__NR_shmctl, shmctl)
#endif
#ifdef __NR_shmdt
N(__NR_shmdt, shmdt)
#endif
#ifdef __NR_shmget
N(__NR_shmget, shmget)
#endif
#ifdef __NR_shutdown
N(__NR_shutdown, shutdown)
#endif
#ifdef __NR_sigaction
N(__NR_sigaction, sigaction)
#endif
#ifdef __NR_sigaltstack
N(__NR_sigaltstack, sigaltstack)
#endif
#ifdef __NR_signal
N(__NR_signal, signal)
#endif
#ifdef __NR_signalfd
N(__NR_signalfd, signalfd)
#endif
#ifdef __NR_signalfd4
N(__NR_signalfd4, signalfd4)
#endif
#ifdef __NR_sigpending
N(__NR_sigpending, sigpending)
#endif
#ifdef __NR_sigprocmask
N(__NR_sigprocmask, sigprocmask)
#endif
#ifdef __NR_sigreturn
N(__NR_sigreturn, sigreturn)
#endif
#ifdef __NR_sigsuspend
N(__NR_sigsuspend, sigsuspend)
#endif
#ifdef __NR_socket
N(__NR_socket, socket)
#endif
#ifdef __NR_socketcall
N(__NR_socketcall, socketcall)
#endif
#ifdef __NR_socketpair
N(__NR_socketpair, socketpair)
#endif
#ifdef __NR_splice
N(__NR_splice, splice)
#endif
#ifdef __NR_ssetmask
N(__NR_ssetmask, ssetmask)
#endif
#ifdef __NR_stat
N(__NR_stat, stat)
#endif
#ifdef __NR_stat64
N(__NR_stat64, stat64)
#endif
#ifdef __NR_statfs
N(__NR_statfs, statfs)
#endif
#ifdef __NR_statfs64
N(__NR_statfs64, statfs64)
#endif
#ifdef __NR_statx
N(__NR_statx, statx)
#endif
#ifdef __NR_stime
N(__NR_stime, stime)
#endif
#ifdef __NR_stty
N(__NR_stty, stty)
#endif
#ifdef __NR_swapoff
N(__NR_swapoff, swapoff)
#endif
#ifdef __NR_swapon
N(__NR_swapon, swapon)
#endif
#ifdef __NR_symlink
N(__NR_symlink, symlink)
#endif
#ifdef __NR_symlinkat
N(__NR_symlinkat, symlinkat)
#endif
#ifdef __NR_sync
N(__NR_sync, sync)
#endif
#ifdef __NR_sync_file_range
N(__NR_sync_file_range, sync_file_range)
#endif
#ifdef __NR_sync_file_range2
N(__NR_sync_file_range2, sync_file_range2)
#endif
#ifdef __NR_syncfs
N(__NR_syncfs, syncfs)
#endif
#ifdef __NR_sysfs
N(__NR_sysfs, sysfs)
#endif
#ifdef __NR_sysinfo
N(__NR_sysinfo, sysinfo)
#endif
#ifdef __NR_syslog
N(__NR_syslog, syslog)
#endif
#ifdef __NR_tee
N(__NR_tee, tee)
#endif
#ifdef __NR_tgkill
N(__NR_tgkill, tgkill)
#endif
#ifdef __NR_time
N(__NR_time, time)
#endif
#ifdef __NR_timer_create
N(__NR_timer_create, timer_create)
#endif
#ifdef __NR_timer_delete
N(__NR_timer_delete, timer_delete)
#endif
#ifdef __NR_timer_getoverrun
N(__NR_timer_getoverrun, timer_getoverrun)
#endif
#ifdef __NR_timer_gettime
N(__NR_timer_gettime, timer_gettime)
#elif defined __NR_timer_gettime32
N(__NR_timer_gettime32, timer_gettime)
#endif
#ifdef __NR_timer_gettime64
N(__NR_timer_gettime64, timer_gettime64)
#endif
#ifdef __NR_timer_settime
N(__NR_timer_settime, timer_settime)
#elif defined __NR_timer_settime32
N(__NR_timer_settime32, timer_settime)
#endif
#ifdef __NR_timer_settime64
N(__NR_timer_settime64, timer_settime64)
#endif
#ifdef __NR_timerfd_create
N(__NR_timerfd_create, timerfd_create)
#endif
#ifdef __NR_timerfd_gettime
N(__NR_timerfd_gettime, timerfd_gettime)
#elif defined __NR_timerfd_gettime32
N(__NR_timerfd_gettime32, timerfd_gettime)
#endif
#ifdef __NR_timerfd_gettime64
N(__NR_timerfd_gettime64, timerfd_gettime64)
#endif
#ifdef __NR_timerfd_settime
N(__NR_timerfd_settime, timerfd_settime)
#elif defined __NR_timerfd_settime32
N(__NR_timerfd_settime32, timerfd_settime)
#endif
#ifdef __NR_timerfd_settime64
N(__NR_timerfd_settime64, timerfd_settime64)
#endif
#ifdef __NR_times
N(__NR_times, times)
#endif
#ifdef __NR_tkill
N(__NR_tkill, tkill)
#endif
#ifdef __NR_truncate
N(__NR_truncate, truncate)
#endif
#ifdef __NR_truncate64
N(__NR_truncate64, truncate64)
#endif
#ifdef __NR_tuxcall
N(__NR_tuxcall, tuxcall)
#endif
#ifdef __NR_ugetrlimit
N(__NR_ugetrlimit, ugetrlimit)
#endif
#ifdef __NR_ulimit
N(__NR_ulimit, ulimit)
#endif
#ifdef __NR_umask
N(__NR_umask, umask)
#endif
#ifdef __NR_umount
N(__NR_umount, umount)
#endif
#ifdef __NR_umount2
N(__NR_umount2, umount2)
#endif
#ifdef __NR_uname
N(__NR_uname, uname)
#endif
#ifdef __NR_unlink
N(__NR_unlink, unlink)
#endif
#ifdef __NR_unlinkat
N(__NR_unlinkat, unlinkat)
#endif
#ifdef __NR_unshare
N(__NR_unshare, unshare)
#endif
#ifdef __NR_uselib
N(__NR_uselib, uselib)
#endif
#ifdef __NR_userfaultfd
N(__NR_userfaultfd, userfaultfd)
#endif
#ifdef __NR_ustat
N(__NR_ustat, ustat)
#endif
#ifdef __NR_utime
N(__NR_utime, utime)
#endif
#ifdef __NR_utimensat
N(__NR_utimensat, utimensat)
#endif
#ifdef __NR_utimensat_time64
N(__NR_utimensat_time64, utimensat_time64)
#endif
#ifdef __NR_utimes
N(__NR_utimes, utimes)
#endif
#ifdef __NR_vfork
N(__NR_vfork, vfork)
#endif
#ifdef __NR_vhangup
N(__NR_vhangup, vhangup)
#endif
#ifdef __NR_vm86
N(__NR_vm86, vm86)
#endif
#ifdef __NR_vm86old
N(__NR_vm86old, vm86old)
#endif
#ifdef __NR_vmsplice
N(__NR_vmsplice, vmsplice)
#endif
#ifdef __NR_vserver
N(__NR_vserver, vserver)
#endif
#ifdef __NR_wait4
N(__NR_wait4, wait4)
#endif
#ifdef __NR_waitid
N(__NR_waitid, waitid)
#endif
#ifdef __NR_waitpid
N(__NR_waitpid, waitpid)
#endif
#ifdef __NR_write
N(__NR_write, write)
#endif
#ifdef __NR_writev
N(__NR_writev, writev)
#endif
