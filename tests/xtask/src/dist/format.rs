//! The tree in the formats of those who install it. The texts of each format are in `packages/`.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use anyhow::Result;

use super::{copy_folder, stage::Stage, tool};

/// `.tar.gz`: unpack it anywhere.
pub(super) fn archive(stage: &Stage, folder: &Path) -> Result<()> {
    let file = folder.join(format!("{}.tar.gz", stage.name()));
    let (mtime, rename) =
        (format!("--mtime=@{}", stage.epoch), format!("--transform=s,^tree,{},", stage.name()));
    let arguments = [
        "--create",
        "--use-compress-program=gzip -9n",
        "--sort=name",
        &mtime,
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=a+rX,u+w,go-w",
        &rename,
        "--file",
        &file.to_string_lossy(),
        "tree",
    ];
    tool(&stage.epoch, stage.tree.parent().unwrap_or(&stage.tree), "tar", &arguments)?;
    Ok(())
}

/// `.deb`: Debian, Ubuntu and what is made of them.
pub(super) fn debian(root: &Path, stage: &Stage, folder: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let package = scratch.path().join("proofline");
    copy_folder(&stage.tree, &package.join("usr"))?;
    let doc = package.join("usr/share/doc/proofline");
    let mit = fs::read_to_string(doc.join("LICENSE-MIT"))?;
    fs::write(
        doc.join("copyright"),
        filled(root, "packages/debian/copyright", stage)?.replace("@MIT@", &mit),
    )?;
    // Debian's systems have it.
    fs::remove_file(doc.join("LICENSE-APACHE"))?;
    let date = tool("0", root, "date", &["--utc", "--rfc-email", &format!("--date=@{}", stage.epoch)])?;
    fs::write(
        doc.join("changelog"),
        filled(root, "packages/debian/changelog", stage)?.replace("@DATE@", date.trim()),
    )?;
    fs::copy(root.join("CHANGELOG.md"), doc.join("CHANGELOG.md"))?;
    let overrides = package.join("usr/share/lintian/overrides");
    fs::create_dir_all(&overrides)?;
    fs::copy(root.join("packages/debian/lintian-overrides"), overrides.join("proofline"))?;
    let control = filled(root, "packages/debian/control", stage)?;
    fs::create_dir_all(package.join("DEBIAN"))?;
    fs::write(package.join("DEBIAN/control"), control)?;
    let pages = fs::read_dir(package.join("usr/share/man/man1"))?.map(|page| Ok(page?.path()));
    let pages = pages.collect::<Result<Vec<_>>>()?;
    for text in pages.into_iter().chain([doc.join("changelog")]) {
        tool(&stage.epoch, &package, "gzip", &["-9n", &text.to_string_lossy()])?;
    }
    sober_modes(&package)?;
    let file = folder.join(format!("proofline_{}_amd64.deb", stage.version));
    let arguments = ["--root-owner-group", "-Zxz", "--build", "proofline", &file.to_string_lossy()];
    tool(&stage.epoch, scratch.path(), "dpkg-deb", &arguments)?;
    Ok(())
}

/// `.whl`: `pip install`, `uvx`.
pub(super) fn wheel(root: &Path, stage: &Stage, folder: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (name, version) = ("proofline_c", &stage.version);
    let package = scratch.path().join(format!("{name}-{version}"));
    copy_folder(&root.join("packages/python").join(name), &package.join(name))?;
    let data = package.join(format!("{name}-{version}.data"));
    copy_folder(&stage.tree.join("bin"), &data.join("scripts"))?;
    copy_folder(&stage.tree.join("lib"), &data.join("data/lib"))?;
    copy_folder(&stage.tree.join("share"), &data.join("data/share"))?;
    let information = package.join(format!("{name}-{version}.dist-info"));
    copy_folder(&root.join("packages/python/dist-info"), &information)?;
    for file in ["METADATA", "WHEEL"] {
        let path = information.join(file);
        fs::write(&path, filled(root, &format!("packages/python/dist-info/{file}"), stage)?)?;
    }
    let readme = fs::read_to_string(root.join("packages/README.md"))?;
    let metadata = fs::read_to_string(information.join("METADATA"))? + "\n" + &readme;
    fs::write(information.join("METADATA"), metadata)?;
    sober_modes(&package)?;
    let python = root.join("target/dist/venv/bin/python");
    if !python.exists() {
        tool("0", root, "python3", &["-m", "venv", "target/dist/venv"])?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "wheel==0.45.1"];
        tool("0", root, &python.to_string_lossy(), &install)?;
    }
    let arguments =
        ["-m", "wheel", "pack", &package.to_string_lossy(), "--dest-dir", &folder.to_string_lossy()];
    // A zip file knows no time before 1980.
    tool(&stage.epoch, scratch.path(), &python.to_string_lossy(), &arguments)?;
    Ok(())
}

/// `.tgz`: `npm install`.
pub(super) fn npm(root: &Path, stage: &Stage, folder: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    copy_folder(&stage.tree.join("bin"), &scratch.path().join("bin"))?;
    copy_folder(&stage.tree.join("lib"), &scratch.path().join("lib"))?;
    copy_folder(&stage.tree.join("share/doc/proofline"), &scratch.path().join("doc"))?;
    fs::copy(root.join("packages/README.md"), scratch.path().join("README.md"))?;
    fs::write(scratch.path().join("package.json"), filled(root, "packages/npm/package.json", stage)?)?;
    sober_modes(scratch.path())?;
    tool(&stage.epoch, scratch.path(), "npm", &["pack", "--pack-destination", &folder.to_string_lossy()])?;
    Ok(())
}

/// `.vsix`: the extension of VS Code with the server in it.
pub(super) fn vsix(root: &Path, stage: &Stage, folder: &Path) -> Result<()> {
    let extension = root.join("vscode-extension");
    if !extension.join("node_modules").exists() {
        tool(&stage.epoch, &extension, "npm", &["ci", "--no-audit", "--no-fund"])?;
    }
    tool(&stage.epoch, &extension, "npm", &["run", "--silent", "check"])?;
    tool(&stage.epoch, &extension, "npm", &["run", "--silent", "build"])?;
    let scratch = tempfile::tempdir()?;
    let package = scratch.path();
    for file in ["package.json", ".vscodeignore", "README.md", "LICENSE"] {
        fs::copy(extension.join(file), package.join(file))?;
    }
    copy_folder(&extension.join("dist"), &package.join("dist"))?;
    copy_folder(&extension.join("media"), &package.join("media"))?;
    copy_folder(&stage.tree.join("bin"), &package.join("bin"))?;
    copy_folder(&stage.tree.join("lib"), &package.join("lib"))?;
    let licences = stage.tree.join("share/doc/proofline/THIRD-PARTY-LICENSES");
    fs::copy(licences, package.join("lib/proofline/THIRD-PARTY-LICENSES"))?;
    sober_modes(package)?;
    let file = folder.join(format!("proofline-{}-linux-x64.vsix", stage.version));
    let tool_of_theirs = extension.join("node_modules/.bin/vsce");
    let (out, target) = (file.to_string_lossy(), "linux-x64");
    let arguments = [
        "package",
        "--no-dependencies",
        "--allow-missing-repository",
        "--skip-license",
        "--target",
        target,
        "--out",
        &out,
    ];
    tool(&stage.epoch, package, &tool_of_theirs.to_string_lossy(), &arguments)?;
    Ok(())
}

/// A text of a package, with version, C library and so on in their places.
fn filled(root: &Path, file: &str, stage: &Stage) -> Result<String> {
    let text = fs::read_to_string(root.join(file))?;
    Ok(text
        .replace("@VERSION@", &stage.version)
        .replace("@LIBC@", &stage.libc)
        .replace("@LIBC_TAG@", &stage.libc.replace('.', "_")))
}

/// Programs and folders 755, other files 644: whatever the mask of who builds.
fn sober_modes(path: &Path) -> Result<()> {
    let is_folder = path.is_dir();
    if is_folder {
        for entry in fs::read_dir(path)? {
            sober_modes(&entry?.path())?;
        }
    }
    let is_program = is_folder
        || (path.file_name().is_some_and(|name| name == "proofline") && path.is_file() && is_binary(path)?);
    fs::set_permissions(path, fs::Permissions::from_mode(if is_program { 0o755 } else { 0o644 }))?;
    Ok(())
}

fn is_binary(path: &Path) -> Result<bool> {
    Ok(fs::read(path)?.starts_with(b"\x7fELF"))
}
