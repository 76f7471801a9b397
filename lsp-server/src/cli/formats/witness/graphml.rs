//! Witnesses of format 1.0, in GraphML: an automaton that accepts the path. The fields have GraphML's names.

use anyhow::{Context, Result};
use proofline_ide::check::Finding;
use quick_xml::se::Serializer;
use serde::Serialize;

use super::{Task, inputs};

#[derive(Serialize)]
#[serde(rename = "graphml")]
struct Document {
    #[serde(rename = "@xmlns")]
    namespace: &'static str,
    key: Vec<Key>,
    graph: Graph,
}

/// Declares what data there is.
#[derive(Serialize)]
struct Key {
    #[serde(rename = "@id")]
    id: &'static str,
    #[serde(rename = "@for")]
    of: &'static str,
    #[serde(rename = "@attr.name")]
    name: &'static str,
    #[serde(rename = "@attr.type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Graph {
    #[serde(rename = "@edgedefault")]
    edges_are: &'static str,
    data: Vec<Data>,
    node: Vec<Node>,
    edge: Vec<Edge>,
}

#[derive(Serialize)]
struct Data {
    #[serde(rename = "@key")]
    key: &'static str,
    #[serde(rename = "$text")]
    value: String,
}

#[derive(Serialize)]
struct Node {
    #[serde(rename = "@id")]
    id: String,
    data: Vec<Data>,
}

#[derive(Serialize)]
struct Edge {
    #[serde(rename = "@source")]
    source: String,
    #[serde(rename = "@target")]
    target: String,
    data: Vec<Data>,
}

/// Names of data, what they belong to, and their types.
const KEYS: [(&str, &str, &str); 5] = [
    ("entry", "node", "boolean"),
    ("violation", "node", "boolean"),
    ("assumption", "edge", "string"),
    ("assumption.scope", "edge", "string"),
    ("startline", "edge", "int"),
];

/// The witness as an XML document.
pub(super) fn write(task: &Task, finding: &Finding) -> Result<String> {
    let document = Document {
        namespace: "http://graphml.graphdrawing.org/xmlns",
        key: KEYS.map(|(id, of, kind)| Key { id, of, name: id, kind }).into(),
        graph: graph(task, finding),
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut serializer = Serializer::new(&mut out);
    serializer.indent(' ', 1);
    document.serialize(serializer).context("cannot write the witness")?;
    out.push('\n');
    Ok(out)
}

fn graph(task: &Task, finding: &Finding) -> Graph {
    let mut about = vec![
        data("witness-type", "violation_witness"),
        data("sourcecodelang", "C"),
        data("producer", concat!("Proofline ", env!("CARGO_PKG_VERSION"))),
        data("specification", &task.specification),
    ];
    for (name, hash) in &task.files {
        about.extend([data("programfile", name), data("programhash", hash)]);
    }
    about.push(data("architecture", if task.is_ilp32 { "32bit" } else { "64bit" }));
    about.push(data("creationtime", &task.time));
    let mut nodes = vec![Node { id: "N0".to_owned(), data: vec![data("entry", "true")] }];
    let mut edges = Vec::new();
    for (i, (step, position, name, value)) in inputs(finding).enumerate() {
        let target = format!("N{}", i + 1);
        let labels = vec![
            data("startline", position.line + 1),
            data("assumption", format!("{name} == ({value});")),
            data("assumption.scope", step.function),
        ];
        edges.push(Edge { source: format!("N{i}"), target: target.clone(), data: labels });
        nodes.push(Node { id: target, data: Vec::new() });
    }
    let line = finding.position.as_ref().map_or(0, |position| position.line + 1);
    let last = format!("N{}", edges.len());
    edges.push(Edge { source: last, target: "V".to_owned(), data: vec![data("startline", line)] });
    nodes.push(Node { id: "V".to_owned(), data: vec![data("violation", "true")] });
    Graph { edges_are: "directed", data: about, node: nodes, edge: edges }
}

fn data(key: &'static str, value: impl ToString) -> Data {
    Data { key, value: value.to_string() }
}
