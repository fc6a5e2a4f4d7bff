//! The dashboard: pages for people and the same as JSON for programs, over HTTP on the loopback.
//!
//! - `listen`: the address, the file that names it, and the end of the server
//! - `site`: what all requests share; `counts`: how many there were
//! - `server`: limits, and the way of a request through the guard to its resource
//! - `guard`: who may ask: host, origin, token
//! - `ask`: a request as a resource gets it; `reply`: what it gives back; `problem`: why it gives none
//! - `generation`: whether an answer is known already
//! - `resource`: what has an address; `routes`: all of them, with their parameters
//! - `records`: what is recorded, as the commands print it with `--json`
//! - `sent`: the fields of what was sent; `decisions`: what people decide
//! - `specified`: the endpoints whose shapes are fixed; `metrics`: figures for Prometheus
//! - `view`, `chart`: templates and drawings of pages; `theme`: their scheme
//! - `markdown`: a record for agents; `events`: what is recorded meanwhile; `export`: all of it as one file, `masking`: without
//!   what was printed
//! - `openapi`: the description of the API, generated from the types
//!
//! What is kept from one request to the next is the token, and what is known to be as it was ([`crate::ops::kept`]). A page has
//! the value that its JSON form has.

mod ask;
mod assets;
mod chart;
mod counts;
mod decisions;
mod escape;
mod events;
pub(super) mod export;
mod generation;
mod guard;
pub(super) mod listen;
mod markdown;
mod masking;
mod metrics;
pub(super) mod openapi;
mod page_ends;
mod problem;
mod prose;
mod records;
#[cfg(test)]
mod rendered;
mod reply;
mod resource;
mod routes;
mod sent;
mod server;
mod site;
mod specified;
mod theme;
mod view;

pub(super) use listen::{DashboardOptions, RunningDashboard};
