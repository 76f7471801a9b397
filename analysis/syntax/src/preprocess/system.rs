//! Where this machine keeps its system headers. Asked once per process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The include directories that a compiler searches without being told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SystemHeaders {
    /// In search order.
    pub(super) dirs: Vec<PathBuf>,
    /// Major version of the GCC whose own headers come first, if any.
    pub(super) gcc_major: Option<u32>,
}

/// The system headers of this machine.
pub(super) fn system_headers() -> &'static SystemHeaders {
    static FOUND: OnceLock<SystemHeaders> = OnceLock::new();
    FOUND.get_or_init(|| debian_layout().or_else(ask_cc).unwrap_or_else(bare))
}

/// The layout of Debian and its relatives, found by looking, which takes no process.
fn debian_layout() -> Option<SystemHeaders> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let gcc = PathBuf::from("/usr/lib/gcc").join(&triple);
    let mut majors: Vec<u32> = std::fs::read_dir(&gcc)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|major: &u32| gcc.join(major.to_string()).join("include/stddef.h").exists())
        .collect();
    majors.sort_unstable();
    let major = *majors.last()?;
    let multiarch = Path::new("/usr/include").join(&triple);
    if !multiarch.exists() {
        return None;
    }
    let dirs = vec![
        gcc.join(major.to_string()).join("include"),
        "/usr/local/include".into(),
        multiarch,
        "/usr/include".into(),
    ];
    Some(SystemHeaders { dirs, gcc_major: Some(major) })
}

/// What the installed compiler says of itself.
fn ask_cc() -> Option<SystemHeaders> {
    let out = Command::new("cc")
        .args(["-E", "-v", "-x", "c", "-"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&out.stderr);
    let list = said.split("#include <...> search starts here:").nth(1)?;
    let list = list.split("End of search list.").next()?;
    let dirs: Vec<PathBuf> = list
        .lines()
        .filter_map(|line| line.strip_prefix(' '))
        .map(|line| PathBuf::from(line.trim_end_matches(" (framework directory)")))
        .collect();
    let gcc_major = said
        .lines()
        .find_map(|line| line.strip_prefix("gcc version "))
        .and_then(|rest| rest.split('.').next()?.parse().ok());
    (!dirs.is_empty()).then_some(SystemHeaders { dirs, gcc_major })
}

/// No compiler here: the usual directories behind the headers that rucc brings along.
fn bare() -> SystemHeaders {
    let multiarch = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let dirs = [rucc_session::runtime::DIR, "/usr/local/include", multiarch.as_str(), "/usr/include"];
    SystemHeaders { dirs: dirs.iter().map(PathBuf::from).collect(), gcc_major: None }
}
