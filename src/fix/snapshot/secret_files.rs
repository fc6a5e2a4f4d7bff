//! Files that hold secrets by their name: their content is in no snapshot and no diff.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names.
const NAMES: [&str; 34] = [
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".dockercfg",
    ".htpasswd",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".vault-token",
    ".terraformrc",
    "credentials",
    "credentials.json",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "credentials.db",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "secrets.env",
    "master.key",
    "kubeconfig",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
];
/// Ends of such names.
const ENDINGS: [&str; 17] = [
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".asc",
    ".ovpn",
    ".tfvars",
    ".tfstate",
    "_rsa",
    "_ed25519",
    ".npmrc",
];
/// Starts of the names of JSON files that cloud consoles give out.
const JSON_STARTS: [&str; 4] = ["client_secret", "service-account", "service_account", "serviceaccount"];
/// Ends of the names of files that show what such a file looks like.
const EXAMPLES: [&str; 6] = [".example", ".sample", ".template", ".tmpl", ".dist", ".defaults"];
/// Whole ends of paths.
const PATHS: [&str; 3] = [".docker/config.json", ".kube/config", ".aws/config"];

/// Whether a file holds secrets, as its name says.
pub(crate) fn is_secret(path: &Path) -> bool {
    let path = path.as_os_str().as_bytes().to_ascii_lowercase();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let ends = |ending: &&str| name.ends_with(ending.as_bytes());
    if EXAMPLES.iter().any(ends) {
        return false;
    }
    // `.env.production`, `.npmrc.bak`
    let is_variant = |secret: &&str| {
        let rest = name.strip_prefix(secret.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || secret.starts_with('.') && rest.starts_with(b"."))
    };
    let is_given_out =
        || name.ends_with(b".json") && JSON_STARTS.iter().any(|start| name.starts_with(start.as_bytes()));
    let is_below = |end: &&str| path.ends_with(end.as_bytes());
    NAMES.iter().any(is_variant) || ENDINGS.iter().any(ends) || is_given_out() || PATHS.iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_secrets_are_told_by_their_name() {
        let secret = [
            ".env",
            "api/.env.local",
            "prod.env",
            ".npmrc",
            "certs/server.KEY",
            "id_ed25519",
            "deploy_rsa",
            ".netrc",
            "credentials.json",
            "client_secret_123.json",
            "terraform.tfvars",
            "home/.aws/config",
            "a/secrets.yml",
        ];
        let ordinary = [
            ".env.example",
            ".env.sample",
            "env.py",
            "id_rsa.pub",
            "keys.rs",
            "src/credentials.rs",
            "monkey",
            "key",
            "secrets.py",
            "config.json",
            "environment",
            ".environment",
            "package.json",
            "credentials/mod.rs",
        ];
        for name in secret {
            assert!(is_secret(Path::new(name)), "{name}");
        }
        for name in ordinary {
            assert!(!is_secret(Path::new(name)), "{name}");
        }
    }
}
