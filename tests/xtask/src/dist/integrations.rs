//! Tries what is in `packages/` for build systems and services, as far as a machine without those services can: with the wheel of this run, a right
//! program passes, and a wrong one does not.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{tool, try_out};

/// What pip brings for this, pinned.
const TOOLS: [&str; 6] = [
    "cmake==4.1.2",
    "distributed==2026.8.0",
    "meson==1.9.1",
    "ninja==1.13.0",
    "pre-commit==4.3.0",
    "uv==0.13.9",
];

/// A place with programs to check and a `PATH` on which `proofline` is.
struct Place {
    root: PathBuf,
    wheel: PathBuf,
    home: PathBuf,
    path: String,
}

/// Tries each of them.
pub(super) fn all(root: &Path, wheel: &Path) -> Result<()> {
    let home = tempfile::tempdir()?;
    tool("0", home.path(), "python3", &["-m", "venv", "venv"])?;
    let python = home.path().join("venv/bin/python").to_string_lossy().into_owned();
    let mut install = vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    install.extend(TOOLS);
    let wheel_name = wheel.to_string_lossy();
    install.push(&wheel_name);
    tool("0", home.path(), &python, &install)?;
    let path = format!("{}/venv/bin:/usr/bin:/bin", home.path().display());
    let place =
        Place { root: root.to_path_buf(), wheel: wheel.to_path_buf(), home: home.path().to_path_buf(), path };
    for (name, attempt) in [
        ("CMake", cmake as fn(&Place, &Path, &str) -> Result<bool>),
        ("Meson", meson),
        ("pre-commit", pre_commit),
        ("GitHub", github),
        ("GitLab", gitlab),
        ("Dask", dask),
        ("uvx", uvx),
    ] {
        for (program, passes) in [(try_out::RIGHT, true), (try_out::WRONG, false)] {
            let folder = tempfile::tempdir_in(&place.home)?;
            let passed = attempt(&place, folder.path(), program).with_context(|| name.to_owned())?;
            ensure!(
                passed == passes,
                "{name}: a program that is {} did not",
                if passes { "right" } else { "wrong" }
            );
        }
        eprintln!("{name}: a right program passes, a wrong one does not");
    }
    Ok(())
}

impl Place {
    /// Whether a program ends well; what it prints must name the check if it does not.
    fn passes(
        &self,
        folder: &Path,
        program: &str,
        arguments: &[&str],
        more: &BTreeMap<String, String>,
    ) -> Result<bool> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", &self.path)
            .envs(more)
            .output()
            .with_context(|| format!("cannot run {program}"))?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        said.push_str(&fs::read_to_string(folder.join("proofline.sarif")).unwrap_or_default());
        ensure!(
            output.status.success() || said.contains("division-by-zero"),
            "{program} {}: {}\n{said}",
            arguments.join(" "),
            output.status
        );
        Ok(output.status.success())
    }

    fn must(&self, folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
        ensure!(
            self.passes(folder, program, arguments, &BTreeMap::new())?,
            "{program} {}",
            arguments.join(" ")
        );
        Ok(())
    }
}

fn cmake(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    let module = place.root.join("packages/cmake/Proofline.cmake");
    fs::write(
        folder.join("CMakeLists.txt"),
        format!(
            "cmake_minimum_required(VERSION 3.20)\nproject(demo C)\nadd_executable(demo main.c)\ntarget_compile_definitions(demo PRIVATE A=1 B)\ninclude({})\nproofline_check(demo)\n",
            module.display()
        ),
    )?;
    place.must(folder, "cmake", &["-G", "Ninja", "-S", ".", "-B", "build"])?;
    place.passes(folder, "cmake", &["--build", "build", "--target", "proofline-demo"], &BTreeMap::new())
}

fn meson(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    let ours = fs::read_to_string(place.root.join("packages/meson/meson.build"))?;
    fs::write(folder.join("meson.build"), format!("project('demo', 'c')\n{ours}"))?;
    place.must(folder, "meson", &["setup", "build"])?;
    place.passes(folder, "meson", &["compile", "-C", "build", "proofline"], &BTreeMap::new())
}

fn pre_commit(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    let ours = fs::read_to_string(place.root.join("packages/pre-commit/config.yaml"))?;
    let ours = ours.replace("[proofline-c]", &format!("[{}]", place.wheel.display()));
    fs::write(folder.join(".pre-commit-config.yaml"), ours)?;
    place.must(folder, "git", &["init", "--quiet"])?;
    place.must(folder, "git", &["add", "."])?;
    place.passes(folder, "pre-commit", &["run", "--all-files"], &BTreeMap::new())
}

/// The wheel's own command, with workers on this machine.
fn dask(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    place.must(folder, "proofline", &["plan", "plan", "--", "main.c"])?;
    place.must(folder, "proofline-batch", &["plan"])?;
    place.passes(folder, "proofline", &["merge", "plan"], &BTreeMap::new())
}

/// Without installing: in an environment of its own, made for this command from the wheel alone.
fn uvx(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    let wheel = place.wheel.to_string_lossy();
    let arguments = ["--offline", "--no-python-downloads", "--from", &wheel, "proofline", "check", "main.c"];
    place.passes(folder, "uvx", &arguments, &BTreeMap::new())
}

#[derive(Deserialize)]
struct Action {
    runs: Runs,
}

#[derive(Deserialize)]
struct Runs {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    run: String,
}

/// The steps' scripts, with the inputs as a runner would give them.
fn github(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    let text = fs::read_to_string(place.root.join("packages/github-action/action.yml"))?;
    let action: Action = serde_saphyr::from_str(&text)?;
    let wheel = place.wheel.to_string_lossy();
    let scratch = folder.join("scratch").to_string_lossy().into_owned();
    let inputs: BTreeMap<String, String> = [
        ("PACKAGE", &*wheel),
        ("FILES", "*.c"),
        ("ARGUMENTS", "--limit 60"),
        ("SARIF", "proofline.sarif"),
        ("FAIL_ON", "violated"),
        ("RUNNER_TEMP", &scratch),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    for step in &action.runs.steps {
        if !place.passes(folder, "bash", &["-e", "-o", "pipefail", "-c", &step.run], &inputs)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[derive(Deserialize)]
struct Pipeline {
    proofline: Job,
}

#[derive(Deserialize)]
struct Job {
    variables: BTreeMap<String, String>,
    script: Vec<String>,
}

/// The job's script, with its variables.
fn gitlab(place: &Place, folder: &Path, program: &str) -> Result<bool> {
    fs::write(folder.join("main.c"), program)?;
    let text = fs::read_to_string(place.root.join("packages/gitlab/proofline.gitlab-ci.yml"))?;
    let Pipeline { proofline: Job { mut variables, script } } = serde_saphyr::from_str(&text)?;
    variables.insert("PROOFLINE_PACKAGE".into(), place.wheel.to_string_lossy().into_owned());
    place.passes(folder, "bash", &["-e", "-o", "pipefail", "-c", &script.join("\n")], &variables)
}
