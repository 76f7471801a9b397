//! From the text that names a place to the place.

use std::{path::Path, time::Duration};

use opendal::{
    Operator,
    services::{Fs, Redis, S3},
};
use percent_encoding::percent_decode_str;

/// What nobody reads for so long is forgotten, where the place can do that.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60 * 24 * 30);

const REDIS_PORT: u16 = 6379;

/// Say that another machine speaks to the network for this one.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The password of a Redis server, where the text has none.
const PASSWORD: &str = "PROOFLINE_STORE_PASSWORD";

/// Why a text names no place.
#[derive(thiserror::Error, Debug)]
pub enum PlaceError {
    /// It is something else.
    #[error(
        "`{0}` is no store\n  help: a store is `redis://HOST:PORT`, `rediss://HOST:PORT`, `s3://BUCKET/PREFIX` or a folder (`/shared/proofline`)"
    )]
    Unknown(String),
    /// It is the right kind, and wrong.
    #[error("the store `{0}` cannot be used: {1}")]
    Unusable(String, String),
    /// This process can have no more threads.
    #[error("the store cannot be used: {0}")]
    Threads(String),
}

/// A text of the form `scheme://[user[:password]@]host[/path][?name=value&…]`, its parts decoded.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    user: String,
    password: String,
    host: String,
    path: String,
    parameters: Vec<(String, String)>,
}

impl Address {
    fn of(rest: &str) -> Address {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let parameters = query.split('&').filter_map(|part| part.split_once('='));
        Address {
            user: decoded(user),
            password: decoded(password),
            host: host.to_owned(),
            path: decoded(path.trim_matches('/')),
            parameters: parameters.map(|(name, value)| (decoded(name), decoded(value))).collect(),
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The place that a text names.
pub(crate) fn operator(text: &str) -> Result<Operator, PlaceError> {
    let unusable = |why: opendal::Error| PlaceError::Unusable(without_password(text), why.to_string());
    match text.split_once("://") {
        Some((scheme @ ("redis" | "rediss"), rest)) => {
            encrypt_with_ring();
            redis(scheme, &Address::of(rest)).map_err(unusable)
        }
        Some(("s3", rest)) => {
            encrypt_with_ring();
            opendal_http_transport_reqwest::install_default();
            s3(&Address::of(rest)).map_err(unusable)
        }
        Some(_) | None => match path_of(text) {
            Some(path) => folder(path).map_err(unusable),
            None => Err(PlaceError::Unknown(without_password(text))),
        },
    }
}

/// The path of the folder that a text names.
fn path_of(text: &str) -> Option<&str> {
    let path = match text.split_once("://") {
        Some((scheme, rest)) => (scheme == "file").then_some(rest)?,
        None => text,
    };
    Path::new(path).is_absolute().then_some(path)
}

/// Whether a text names a folder, which may be there or not.
pub(crate) fn is_folder(text: &str) -> bool {
    path_of(text).is_some()
}

/// The machine and the port of the place that a text names, if it is one of the network.
pub(crate) fn endpoint(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let address = Address::of(rest);
    let with_port = |host: &str, port: u16| match host.contains(':') {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    };
    match scheme {
        "redis" | "rediss" => Some(with_port(&address.host, REDIS_PORT)),
        // Through a proxy machines are reached that do not answer here.
        "s3" if PROXIES.iter().all(|name| from_outside(name).is_none()) => {
            let endpoint = endpoint_of(&address)?;
            let (scheme, rest) = endpoint.split_once("://")?;
            let host = rest.split('/').next().unwrap_or(rest);
            Some(with_port(host, if scheme == "http" { 80 } else { 443 }))
        }
        _ => None,
    }
}

/// Whether objects come in one piece, however long they are: a client of Redis has all of an answer in memory before anybody sees the first byte.
pub(crate) fn is_in_one_piece(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| matches!(scheme, "redis" | "rediss"))
}

/// Where a server of S3 is that is no cloud's.
fn endpoint_of(address: &Address) -> Option<String> {
    address.parameter("endpoint").map(str::to_owned).or_else(|| from_outside("AWS_ENDPOINT_URL"))
}

fn from_outside(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Libraries that encrypt ask which one does it; none of them is to choose.
fn encrypt_with_ring() {
    // Somebody was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn redis(scheme: &str, address: &Address) -> opendal::Result<Operator> {
    let port = if address.host.contains(':') { String::new() } else { format!(":{REDIS_PORT}") };
    let mut builder =
        Redis::default().endpoint(&format!("{scheme}://{}{port}", address.host)).default_ttl(FORGOTTEN_AFTER);
    // The first part of the path is the database, if it is a number.
    let (first, rest) = address.path.split_once('/').unwrap_or((&address.path, ""));
    let prefix = match first.parse::<i64>() {
        Ok(number) => {
            builder = builder.db(number);
            rest
        }
        Err(_) => &address.path,
    };
    builder = builder.root(&format!("/{prefix}"));
    if !address.user.is_empty() {
        builder = builder.username(&address.user);
    }
    let from_outside = std::env::var(PASSWORD).unwrap_or_default();
    let password = if address.password.is_empty() { &from_outside } else { &address.password };
    if !password.is_empty() {
        builder = builder.password(password);
    }
    Operator::new(builder)
}

/// Who asks is said by the environment, or the files, that other clients of S3 read (`AWS_ACCESS_KEY_ID`).
fn s3(address: &Address) -> opendal::Result<Operator> {
    let mut builder = S3::default().bucket(&address.host).root(&format!("/{}", address.path));
    if let Some(endpoint) = endpoint_of(address) {
        builder = builder.endpoint(&endpoint);
    }
    let region = address.parameter("region").map(str::to_owned).or_else(|| from_outside("AWS_REGION"));
    builder = builder.region(region.as_deref().unwrap_or("us-east-1"));
    // A machine that is no cloud's has nobody to ask there.
    builder = builder.disable_ec2_metadata();
    Operator::new(builder)
}

/// Half-written files are never seen: each is written beside, and renamed.
fn folder(path: &str) -> opendal::Result<Operator> {
    let beside = Path::new(path).join("unfinished");
    Operator::new(Fs::default().root(path).atomic_write_dir(&beside.to_string_lossy()))
}

/// As people may read it.
fn without_password(text: &str) -> String {
    match text.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
        Some((scheme, (_, rest))) => format!("{scheme}://…@{rest}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_parts() {
        let address = Address::of("me:a%40b@host:1/2/here?endpoint=http%3A%2F%2Fx&region=eu");
        assert_eq!((&*address.user, &*address.password), ("me", "a@b"));
        assert_eq!((&*address.host, &*address.path), ("host:1", "2/here"));
        assert_eq!(address.parameter("endpoint"), Some("http://x"));
        assert_eq!(Address::of("bucket"), Address { host: "bucket".into(), ..Address::of("") });
    }

    #[test]
    fn places_of_the_network_have_an_endpoint() {
        let endpoint_of = |text| endpoint(text).unwrap_or_default();
        assert_eq!(endpoint_of("redis://me@h/2"), "h:6379");
        assert_eq!(endpoint_of("rediss://h:1"), "h:1");
        if PROXIES.iter().all(|name| from_outside(name).is_none()) {
            assert_eq!(endpoint_of("s3://b/p?endpoint=http://h:9000"), "h:9000");
            assert_eq!(endpoint_of("s3://b/p?endpoint=https://h/x"), "h:443");
        }
        assert_eq!(endpoint("/tmp"), None);
    }

    #[test]
    fn what_is_no_place_is_refused_without_its_password() {
        for text in ["ftp://me:secret@host", "folder/in/here", "", "redis"] {
            let said = operator(text).expect_err("no place").to_string();
            assert!(said.contains("help:") && !said.contains("secret"), "{said}");
        }
        for text in ["redis://h", "rediss://u:p@h:1/3/x", "s3://b/p?endpoint=http://localhost:1", "/tmp"] {
            operator(text).expect("a place");
        }
    }
}
