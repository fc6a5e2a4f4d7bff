//! What a signed statement says of programs, variables and dependencies, and whether it is so on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::descriptor::{ResourceDescriptor, sha256_hex};
use super::matching::{list_some, names_of_group};
use crate::base::text::one_line;
use crate::capture::{InputDigests, ToolchainState};

/// The names of its descriptors in a statement's configuration.
const VERSIONS: &str = "toolchain versions";
const ENVIRONMENT: &str = "toolchain environment";
const DEPENDENCIES: &str = "toolchain dependencies";

/// What a check depends on outside the tree, as machines can compare it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatedToolchain {
    /// What each program said that its version is, by its name; several where there are several programs of a name.
    pub versions: ToolVersions,
    /// The variables that count everywhere.
    pub environment: InputDigests,
    /// Packages, local settings, and the files that the settings name.
    pub dependencies: InputDigests,
}

/// Versions by the names of the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolVersions {
    /// At least one of each.
    pub versions: BTreeMap<String, BTreeSet<String>>,
}

/// A program that was not asked for its version yet, or that says none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the version of {} is not known yet", one_line(.0))]
pub(crate) struct UnknownVersion(pub String);

/// The first thing in which a signed check differs from this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolchainDifference {
    /// Submodules with these names.
    Submodules(Vec<String>),
    /// A program.
    Version {
        /// Its name.
        name: String,
        /// Its versions in the statement; empty where it took no part.
        there: Vec<String>,
        /// Its versions here.
        here: Vec<String>,
    },
    /// Variables or dependencies with these names.
    Inputs(Vec<String>),
}

impl StatedToolchain {
    /// The toolchain of a receipt; `version_of` knows a program by the key of its version.
    ///
    /// # Errors
    /// [`UnknownVersion`]
    pub(crate) fn from_state(
        state: &ToolchainState,
        version_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, UnknownVersion> {
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (key, name) in &state.programs {
            let version = version_of(key).ok_or_else(|| UnknownVersion(name.clone()))?;
            versions.entry(name.clone()).or_default().insert(version);
        }
        let (environment, dependencies) = (state.environment.clone(), state.dependencies.clone());
        Ok(StatedToolchain { versions: ToolVersions { versions }, environment, dependencies })
    }

    /// The descriptors of it.
    pub(super) fn to_descriptors(&self) -> [ResourceDescriptor; 3] {
        let StatedToolchain { versions, environment, dependencies } = self;
        [describe(VERSIONS, versions), describe(ENVIRONMENT, environment), describe(DEPENDENCIES, dependencies)]
    }

    /// Reads it from a configuration; `None` when that doesn't have each of the descriptors once, with what it digests.
    pub(super) fn from_descriptors(configuration: &[ResourceDescriptor]) -> Option<Self> {
        Some(StatedToolchain {
            versions: read_described(VERSIONS, configuration)?,
            environment: read_described(ENVIRONMENT, configuration)?,
            dependencies: read_described(DEPENDENCIES, configuration)?,
        })
    }

    /// What differs between a statement's toolchain and the one here; `None` when nothing does.
    pub(crate) fn find_difference(&self, here: &StatedToolchain) -> Option<ToolchainDifference> {
        let (there, here_versions) = (&self.versions.versions, &here.versions.versions);
        let names: BTreeSet<&String> = there.keys().chain(here_versions.keys()).collect();
        if let Some(name) = names.into_iter().find(|name| there.get(*name) != here_versions.get(*name)) {
            let of = |versions: &BTreeMap<String, BTreeSet<String>>| {
                versions.get(name).into_iter().flatten().cloned().collect::<Vec<_>>()
            };
            let (name, there, here) = (name.clone(), of(there), of(here_versions));
            return Some(ToolchainDifference::Version { name, there, here });
        }
        let groups = [
            (&self.environment, &here.environment, "the environment"),
            (&self.dependencies, &here.dependencies, "a dependency"),
        ];
        let (there, here, group) = groups.into_iter().find(|(there, here, _)| there != here)?;
        Some(ToolchainDifference::Inputs(names_of_group(there, here, group)))
    }
}

fn describe(name: &str, content: &impl Serialize) -> ResourceDescriptor {
    let content = serde_json::to_value(content).unwrap_or_default();
    ResourceDescriptor::with_sha256(name, sha256_hex(content.to_string().as_bytes()), content)
}

/// The content of the one descriptor of this name, if it has the digest.
fn read_described<T: Serialize + DeserializeOwned>(name: &str, configuration: &[ResourceDescriptor]) -> Option<T> {
    let mut described =
        configuration.iter().filter(|descriptor| descriptor.name == name && descriptor.sha256().is_some());
    let found = described.next().filter(|_| described.next().is_none())?;
    let content: T = serde_json::from_value(Value::Object(found.annotations.clone())).ok()?;
    (describe(name, &content).sha256() == found.sha256()).then_some(content)
}

impl fmt::Display for ToolchainDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolchainDifference::Submodules(names) | ToolchainDifference::Inputs(names) => {
                let verb = if names.len() == 1 { "differs" } else { "differ" };
                write!(f, "{} {verb} from where it passed", list_some(names, names.len()))
            }
            ToolchainDifference::Version { name, there, here } => {
                let say = |versions: &[String]| match versions {
                    [] => "not used".to_owned(),
                    versions => one_line(&versions.join(" and ")),
                };
                write!(f, "{} is {} here, and {} where it passed", one_line(name), say(here), say(there))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::InputHasher;

    fn inputs(added: &[(&str, &str)]) -> InputDigests {
        let mut inputs = InputHasher::default();
        added.iter().for_each(|(name, content)| inputs.add(name, content.as_bytes()));
        inputs.finish()
    }

    fn toolchain(
        programs: &[(&str, &str, &str)],
        variables: &[(&str, &str)],
        packages: &[(&str, &str)],
    ) -> StatedToolchain {
        let state = ToolchainState {
            environment: inputs(variables),
            dependencies: inputs(packages),
            programs: programs.iter().map(|(key, name, _)| ((*key).to_owned(), (*name).to_owned())).collect(),
        };
        let version_of =
            |key: &str| programs.iter().find(|program| program.0 == key).map(|program| program.2.to_owned());
        StatedToolchain::from_state(&state, version_of).expect("versions are known")
    }

    #[test]
    fn the_first_difference_is_named() {
        let there = toolchain(&[("k1", "node", "v20"), ("k2", "sh", "a")], &[("TZ", "UTC")], &[("node_modules", "1")]);
        let said = |here: &StatedToolchain| there.find_difference(here).map(|difference| difference.to_string());
        // Keys are a machine's own.
        let same = toolchain(&[("x", "sh", "a"), ("y", "node", "v20")], &[("TZ", "UTC")], &[("node_modules", "1")]);
        assert_eq!(said(&same), None);
        let other = toolchain(&[("x", "sh", "a"), ("y", "node", "v22")], &[], &[]);
        assert_eq!(said(&other).as_deref(), Some("node is v22 here, and v20 where it passed"));
        let without = toolchain(&[("x", "sh", "a")], &[], &[]);
        assert_eq!(said(&without).as_deref(), Some("node is not used here, and v20 where it passed"));
        let two = toolchain(&[("x", "sh", "a"), ("y", "node", "v20"), ("z", "node", "v22")], &[], &[]);
        assert_eq!(said(&two).as_deref(), Some("node is v20 and v22 here, and v20 where it passed"));
        let variable = toolchain(&[("k1", "node", "v20"), ("k2", "sh", "a")], &[("LANG", "C")], &[]);
        assert_eq!(said(&variable).as_deref(), Some("LANG, TZ differ from where it passed"));
        let package =
            toolchain(&[("k1", "node", "v20"), ("k2", "sh", "a")], &[("TZ", "UTC")], &[("node_modules", "2")]);
        assert_eq!(said(&package).as_deref(), Some("node_modules differs from where it passed"));
    }

    #[test]
    fn a_version_that_is_not_known_makes_the_toolchain_unknown() {
        let state =
            ToolchainState { programs: [("k".to_owned(), "go".to_owned())].into(), ..ToolchainState::default() };
        assert_eq!(StatedToolchain::from_state(&state, |_| None), Err(UnknownVersion("go".into())));
    }

    #[test]
    fn descriptors_whose_content_is_another_one_are_not_read() {
        let stated = toolchain(&[("k1", "node", "v20")], &[("TZ", "UTC")], &[("node_modules", "1")]);
        let descriptors = stated.to_descriptors();
        assert_eq!(StatedToolchain::from_descriptors(&descriptors), Some(stated));
        for number in 0..3 {
            let mut changed = descriptors.to_vec();
            let text = serde_json::to_string(&changed[number].annotations).expect("JSON");
            let text = text.replace("v20", "v22").replace("\"digest\":\"", "\"digest\":\"0");
            changed[number].annotations = serde_json::from_str(&text).expect("JSON");
            assert_eq!(StatedToolchain::from_descriptors(&changed), None, "{number}");
            let twice: Vec<_> = descriptors.iter().chain([&descriptors[number]]).cloned().collect();
            assert_eq!(StatedToolchain::from_descriptors(&twice), None, "{number}");
            assert_eq!(
                StatedToolchain::from_descriptors(&[&descriptors[..number], &descriptors[number + 1..]].concat()),
                None
            );
        }
    }
}
