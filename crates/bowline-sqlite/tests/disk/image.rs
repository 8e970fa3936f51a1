//! A folder as it may lie on the disk when the power is lost.
//!
//! What was synced is there. What was written since may be there or not, sector by sector, in
//! whatever order; files that were made or removed since the folder was synced may exist or not. A
//! sync that fails may lose what was to be synced, and no later one brings it back.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{Chance, trace::Did};

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// What becomes of everything that is not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    All,
    Nothing,
    /// Some of it, by chance.
    Some(u64),
}

/// Files by the numbers that they got when they were made.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// Names as the process sees them, and as they are durable.
    names: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
}

#[derive(Clone, Default)]
struct File {
    durable: Vec<u8>,
    /// How long it is for the process.
    length: usize,
    /// What is not durable, and its place in the record.
    pending: Vec<(usize, Change)>,
}

#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

impl Disk {
    /// The next thing happens; `place` is its place in the record.
    pub(crate) fn step(&mut self, place: usize, did: &Did) {
        match did {
            Did::Create(name) => {
                self.names.insert(name.clone(), self.files.len());
                self.files.push(File::default());
            }
            Did::Remove(name) => drop(self.names.remove(name)),
            Did::Write { file, at, bytes } => {
                let Some(file) = self.file(file) else { return };
                let at = if *at == usize::MAX { file.length } else { *at };
                file.length = file.length.max(at + bytes.len());
                file.pending.push((place, Change::Write(at, bytes.clone())));
            }
            Did::Cut { file, length } => {
                let Some(file) = self.file(file) else { return };
                file.length = *length;
                file.pending.push((place, Change::Cut(*length)));
            }
            Did::Sync { file, ok, .. } if file.is_empty() => {
                if *ok {
                    self.durable.clone_from(&self.names);
                }
            }
            Did::Sync { file, begun, ok, .. } => {
                let Some(file) = self.file(file) else { return };
                let (before, after) =
                    std::mem::take(&mut file.pending).into_iter().partition(|(at, _)| at < begun);
                file.pending = after;
                let before: Vec<(usize, Change)> = before;
                for (_, change) in before.iter().filter(|_| *ok) {
                    apply(&mut file.durable, change);
                }
            }
            Did::Say(_) => {}
        }
    }

    fn file(&mut self, name: &str) -> Option<&mut File> {
        self.names.get(name).map(|number| &mut self.files[*number])
    }

    /// Builds the folder as it may be found.
    pub(crate) fn build(&self, folder: &Path, lost: Lost) {
        let mut chance = Chance(match lost {
            Lost::Some(seed) => seed,
            _ => 0,
        });
        let mut names = match lost {
            Lost::Nothing => self.names.clone(),
            _ => self.durable.clone(),
        };
        if let Lost::Some(_) = lost {
            for name in self.names.keys().chain(self.durable.keys()) {
                match self.names.get(name).filter(|_| chance.once_in(2)) {
                    Some(number) => drop(names.insert(name.clone(), *number)),
                    None if chance.once_in(2) && !self.names.contains_key(name) => {
                        names.remove(name);
                    }
                    None => {}
                }
            }
        }
        for (name, number) in names.iter().filter(|(name, _)| is_kept(name)) {
            let bytes = self.files[*number].found(lost, &mut chance);
            fs::write(folder.join(name), bytes).expect("there is room");
        }
    }
}

/// Index and lock are made anew.
fn is_kept(name: &str) -> bool {
    !name.ends_with("-shm") && !name.ends_with(".lock") && !name.ends_with(".trace")
}

impl File {
    fn found(&self, lost: Lost, chance: &mut Chance) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for (_, change) in &self.pending {
            match (lost, change) {
                (Lost::All, _) => {}
                (Lost::Nothing, change) => apply(&mut bytes, change),
                (Lost::Some(_), Change::Cut(_)) if chance.once_in(2) => apply(&mut bytes, change),
                (Lost::Some(_), Change::Cut(_)) => {}
                (Lost::Some(_), Change::Write(at, written)) => {
                    some_sectors(&mut bytes, *at, written, chance);
                }
            }
        }
        bytes
    }
}

/// A write of which some sectors have reached the disk.
fn some_sectors(bytes: &mut Vec<u8>, at: usize, written: &[u8], chance: &mut Chance) {
    let mut from = 0;
    while from < written.len() {
        let to = (((at + from) / SECTOR + 1) * SECTOR - at).min(written.len());
        if chance.once_in(2) {
            apply(bytes, &Change::Write(at + from, written[from..to].to_vec()));
        }
        from = to;
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Cut(length) => bytes.resize(*length, 0),
        Change::Write(at, written) => {
            let end = at + written.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[*at..end].copy_from_slice(written);
        }
    }
}
