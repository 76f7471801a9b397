//! Pictures of memory as JSON, for the report and for editors: boxes and arrows with their places, and the same in words.

use std::sync::Arc;

use proofline_ide::{
    check::Scene,
    picture::{DrawnCell, DrawnObject, draw, told},
};
use serde_json::{Value, json};

/// Pictures of the steps of a path, each once.
#[derive(Default)]
pub(crate) struct Pictures {
    all: Vec<Value>,
    last: Option<Arc<Scene>>,
}

impl Pictures {
    /// The number of a step's picture.
    pub(crate) fn add(&mut self, scene: Option<&Arc<Scene>>) -> Option<usize> {
        let scene = scene?;
        if self.last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, scene)) {
            self.all.push(json(scene));
            self.last = Some(scene.clone());
        }
        Some(self.all.len() - 1)
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn all(self) -> Vec<Value> {
        self.all
    }
}

fn json(scene: &Scene) -> Value {
    let drawing = draw(scene);
    let cell = |cell: &DrawnCell| json!({ "y": cell.y, "name": cell.name, "value": cell.value, "kind": cell.kind, "isNew": cell.is_new });
    let object = |object: &DrawnObject| {
        json!({
            "x": object.x,
            "y": object.y,
            "width": object.width,
            "height": object.height,
            "title": object.title,
            "kind": object.kind,
            "cells": object.cells.iter().map(cell).collect::<Vec<_>>(),
        })
    };
    let arrows = drawing.arrows.iter();
    let arrows: Vec<Value> = arrows
        .map(|arrow| json!({ "path": arrow.path, "isNew": arrow.is_new, "isDangling": arrow.is_dangling }))
        .collect();
    json!({
        "width": drawing.width,
        "height": drawing.height,
        "objects": drawing.objects.iter().map(object).collect::<Vec<_>>(),
        "arrows": arrows,
        "more": drawing.more,
        "text": told(scene),
    })
}
