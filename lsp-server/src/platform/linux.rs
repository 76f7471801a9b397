//! How Linux takes rights away: Landlock for files and the network, seccomp for what has no name in the file system, limits for what is
//! finite.

use std::{
    collections::BTreeMap, ffi::OsString, fs, io, os::unix::process::CommandExt, path::Path, process::Command,
};

use anyhow::{Context, Result, ensure};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    param::page_size,
    process::{
        Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open, set_parent_process_death_signal, setrlimit,
    },
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::sandbox::Confinement;

/// Rights over files as of Linux 6.2, which every rule here needs.
const FILES: ABI = ABI::V3;

/// What programs of the system read.
const SYSTEM: &[&str] =
    &["/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/proc", "/sys/devices/system/cpu"];

/// Files that are written and keep nothing.
const SINKS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"];

/// Gives memory that was freed back to the system: glibc keeps it for itself, page by page, wherever something behind it is in use.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no crate offers it")]
pub(super) fn give_back_memory() {
    // SAFETY: It takes a number, keeps what is in use as it is, and may be called by any thread at any time.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Megabytes that the children of this process have in memory together. Those that end meanwhile count nothing.
pub(super) fn children_mb() -> u64 {
    megabytes(children("self").iter().filter_map(|child| pages(child)).sum())
}

/// Megabytes that a process and all that it has started have in memory together.
pub(super) fn tree_mb(process: u32) -> u64 {
    let mut open = vec![process.to_string()];
    let mut sum = 0;
    while let Some(next) = open.pop() {
        sum += pages(&next).unwrap_or(0);
        open.extend(children(&next));
    }
    megabytes(sum)
}

fn children(process: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    children.flat_map(|all| all.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn pages(process: &str) -> Option<u64> {
    let sizes = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    sizes.split_whitespace().nth(1)?.parse().ok()
}

fn megabytes(pages: u64) -> u64 {
    (pages * page_size() as u64) >> 20
}

/// Waits until a process has ended, which need not be a child, without looking again and again.
///
/// # Errors
/// If there is no such process, or the kernel cannot tell.
pub(super) fn wait_for(process: u32) -> io::Result<()> {
    let process = Pid::from_raw(process.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    let process = pidfd_open(process, PidfdFlags::empty())?;
    while poll(&mut [PollFd::new(&process, PollFlags::IN)], None)? == 0 {}
    Ok(())
}

/// Takes everything away from this process that it does not need. There is no way back.
///
/// # Errors
/// If the kernel cannot do it.
pub(super) fn confine(confinement: &Confinement) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("a process cannot end with its parent")?;
    limits().context("limits cannot be set")?;
    files(confinement).context("Landlock is missing, so writes cannot be confined to a folder")?;
    system_calls(confinement).context("seccomp is missing, so the network cannot be closed")
}

/// Becomes the program; comes back only with the reason why not.
pub(super) fn become_program(command: &[OsString]) -> anyhow::Error {
    let [program, arguments @ ..] = command else { return anyhow::anyhow!("no program") };
    let error = Command::new(program).args(arguments).exec();
    anyhow::Error::new(error).context(format!("cannot run {}", program.display()))
}

/// Memory is not among them: the address sanitizer reserves terabytes of addresses that it never uses. Who waits for the process looks at what it has.
fn limits() -> io::Result<()> {
    let to = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Core, to(0))?;
    setrlimit(Resource::Cpu, to(60))?;
    setrlimit(Resource::Fsize, to(256 << 20))?;
    setrlimit(Resource::Nofile, to(256))?;
    Ok(())
}

fn files(confinement: &Confinement) -> Result<()> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    let rules = allow(rules, &confinement.scratch, AccessFs::from_all(FILES))?;
    let read = AccessFs::from_read(FILES);
    let readable = if confinement.reads_everything { &["/"] } else { SYSTEM };
    let mut rules = existing(readable).try_fold(rules, |rules, path| allow(rules, path, read))?;
    for path in existing(SINKS) {
        rules = allow(rules, path, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    let status = rules.restrict_self()?.ruleset;
    ensure!(status != RulesetStatus::NotEnforced, "the kernel enforces nothing");
    Ok(())
}

fn existing<'p>(paths: &'p [&'p str]) -> impl Iterator<Item = &'p Path> {
    paths.iter().map(Path::new).filter(|path| path.exists())
}

/// A file has fewer rights than a folder.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    rights: impl Into<landlock::BitFlags<AccessFs>>,
) -> Result<RulesetCreated> {
    let rights = rights.into();
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(FILES) };
    let opened = PathFd::new(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    Ok(rules.add_rule(PathBeneath::new(opened, rights))?)
}

/// System calls that reach what is neither a file below the scratch folder nor the process itself.
const OUTSIDE: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_setpriority,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
    libc::SYS_mq_open,
];

fn system_calls(confinement: &Confinement) -> Result<()> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        OUTSIDE.iter().map(|number| (*number, Vec::new())).collect();
    if !confinement.starts_programs {
        #[cfg(target_arch = "x86_64")]
        refused.extend([(libc::SYS_fork, Vec::new()), (libc::SYS_vfork, Vec::new())]);
        // Threads are fine; the sanitizers have one.
        let thread = libc::CLONE_THREAD as u64;
        let no_thread = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
        refused.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread])?]);
        // Its flags lie in memory, where no filter looks; without it the C library takes `clone`.
        filter(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    }
    filter(refused, libc::EPERM)
}

/// These system calls fail with this error.
fn filter(calls: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> Result<()> {
    let machine = std::env::consts::ARCH.try_into()?;
    let fails = SeccompAction::Errno(error.cast_unsigned());
    let program: BpfProgram = SeccompFilter::new(calls, SeccompAction::Allow, fails, machine)?.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
