//! The command line as people and scripts use it: what it says, and its exit code.

mod batch;
mod common;
mod dumps;
mod formats;
#[cfg(unix)]
mod hostile;
mod inputs;
mod interrupt;
mod manual;
mod monitors;
mod own_engines;
mod pages;
mod projects;
mod report;
mod results;
mod solver_process;
mod team;
mod witnesses;
mod words;
