//! Names in `fix.environment`: variables, and files that git does not see.

use std::path::{Component, Path};

/// Name of a variable, bytes.
const VARIABLE_BYTES_MAX: usize = 128;
/// Path of a file, bytes.
const FILE_BYTES_MAX: usize = 1_024;

/// Whether it can be the name of an environment variable.
pub(super) fn is_variable(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_plain && !name.is_empty() && name.len() <= VARIABLE_BYTES_MAX
}

/// Whether it is the path of a file inside the repository: relative, without a way out, with a `.` or `/` in it.
pub(super) fn is_file_inside(name: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    let is_printable = !name.contains(|character: char| character.is_control() || character == '=');
    name.contains(['.', '/'])
        && name.len() <= FILE_BYTES_MAX
        && is_printable
        && Path::new(name).components().all(is_plain)
}
