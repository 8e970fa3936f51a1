//! Small values beside the runs: there until they are taken away, and changed by one at a time.

use bowline_core::{Blob, Version};

use super::{
    Harness,
    world::{World, refused, wait::block_on},
};
use crate::{CatalogPut, CatalogRead, Error, Item, Result, Which};

fn put(world: &World<'_>, name: &str, expected: Option<u64>, says: Option<&str>) -> Result<u64> {
    let put = CatalogPut {
        catalog: "names".into(),
        name: name.into(),
        expected: expected.map(Version),
        bytes: says.map(|says| Blob::from(says.as_bytes())),
    };
    let mut answers = block_on(world.store().write_catalog(vec![put]));
    assert_eq!(answers.len(), 1, "each item has its answer");
    answers.remove(0).map(|version| version.0)
}

fn read(
    world: &World<'_>,
    catalog: &str,
    which: Which,
    limit: usize,
) -> Vec<(String, u64, String)> {
    let catalog = CatalogRead { catalog: catalog.into(), which, limit };
    let items = block_on(world.store().read_catalog(catalog)).expect("a catalog is read");
    let text = |item: Item| {
        let says = String::from_utf8_lossy(item.bytes.as_slice()).into_owned();
        (item.name, item.version.0, says)
    };
    items.into_iter().map(text).collect()
}

/// What was put on a catalog is there after a crash, in the order of names.
pub fn a_shelf_keeps_what_was_put_there(harness: &dyn Harness) {
    let mut world = World::new(harness);
    assert_eq!(read(&world, "names", Which::All, 10), []);
    for name in ["b", "a", "ä", "c"] {
        assert_eq!(put(&world, name, None, Some(name)).expect("it is new"), 1);
    }
    world.reopen();
    let line = |name: &str| (name.to_owned(), 1, name.to_owned());
    assert_eq!(read(&world, "names", Which::All, 10), ["a", "b", "c", "ä"].map(line));
    assert_eq!(read(&world, "names", Which::After("a".into()), 2), ["b", "c"].map(line));
    assert_eq!(read(&world, "names", Which::Named("c".into()), 9), ["c"].map(line));
    assert_eq!(read(&world, "names", Which::Named("d".into()), 9), []);
    assert_eq!(read(&world, "other", Which::All, 10), [], "catalogs do not see each other");
}

/// Whoever changes an item names the version that was seen; everybody else tries again.
pub fn an_item_is_changed_by_one_at_a_time(harness: &dyn Harness) {
    let world = World::new(harness);
    put(&world, "a", None, Some("one")).expect("it is new");
    refused!(put(&world, "a", None, Some("again")), Error::Conflict);
    assert_eq!(put(&world, "a", Some(1), Some("two")).expect("it was seen"), 2);
    refused!(put(&world, "a", Some(1), Some("late")), Error::Conflict);
    refused!(put(&world, "b", Some(1), Some("never")), Error::Conflict);
    assert_eq!(read(&world, "names", Which::All, 10), [("a".to_owned(), 2, "two".to_owned())]);
}

/// What is taken away is gone, and its name is free.
pub fn an_item_is_taken_away(harness: &dyn Harness) {
    let world = World::new(harness);
    put(&world, "a", None, Some("one")).expect("it is new");
    refused!(put(&world, "a", Some(7), None), Error::Conflict);
    put(&world, "a", Some(1), None).expect("it was seen");
    assert_eq!(read(&world, "names", Which::All, 10), []);
    assert_eq!(put(&world, "a", None, Some("anew")).expect("its name is free"), 1);
}

/// What no store keeps is refused, and the others of its batch are not disturbed.
pub fn an_item_that_is_not_acceptable_changes_nothing(harness: &dyn Harness) {
    let world = World::new(harness);
    let item = |name: &str, bytes: usize| CatalogPut {
        catalog: "names".into(),
        name: name.into(),
        expected: None,
        bytes: Some(vec![b'x'; bytes].into()),
    };
    let long = "n".repeat(1_001);
    let batch = vec![item("", 1), item(&long, 1), item("large", 2 * 1024 * 1024 + 1), item("a", 1)];
    let mut answers = block_on(world.store().write_catalog(batch));
    assert_eq!(answers.pop().map(|last| last.expect("it is acceptable")), Some(Version(1)));
    for answer in answers {
        refused!(answer, Error::Invalid(_));
    }
    refused!(put(&world, "b", None, None), Error::Invalid(_));
    assert_eq!(read(&world, "names", Which::All, 10), [("a".to_owned(), 1, "x".to_owned())]);
}
