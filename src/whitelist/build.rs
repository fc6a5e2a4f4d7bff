//! Build script: compiles the shipped `whitelist.toml` into the form the program looks things up in.

mod encode;
mod kind;
mod layer;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=whitelist.toml");
    println!("cargo::rerun-if-changed=src/whitelist");
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("cargo::error=whitelist.toml: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compile() -> Result<(), String> {
    let text = fs::read_to_string("whitelist.toml").map_err(|error| error.to_string())?;
    let layer = layer::Layer::parse(&text)
        .map_err(|fault| format!("line {}: {}", fault.line.unwrap_or(0), fault.reason))?
        .ok_or("verify_run_schema is missing")?;
    if let Some(fault) = layer.faults(&text).first() {
        return Err(format!("line {}: {}", fault.line.unwrap_or(0), fault.reason));
    }
    for tool in &layer.tool {
        let codes = &tool.exit;
        let known = !(codes.findings.is_empty() && codes.did_not_run.is_empty() && codes.empty.is_empty());
        if known && !tool.evidence.starts_with("measured ") {
            return Err(format!("`{}` states exit codes that were not measured", tool.name));
        }
    }
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is missing")?;
    write(&Path::new(&out).join("whitelist.bin"), &encode::encode(&layer)?).map_err(|error| error.to_string())
}

#[allow(clippy::disallowed_methods, reason = "nobody reads the file before the build script has ended")]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fs::write(path, bytes)
}
