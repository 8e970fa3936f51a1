//! Where the file is, and whether what lies there may be opened. Looks, and changes nothing.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use bowline_store::{Error, Result};

use crate::settings::APPLICATION;

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the number of the program that a file belongs to stands.
const APPLICATION_AT: usize = 68;
/// How long the header of an SQLite file is.
const HEADER: usize = 100;

/// The one name of a file, however it was written: locks and logs stand beside that.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let Some(name) = path.file_name().filter(|_| path != Path::new(":memory:")) else {
        return Err(Error::Open(format!("{shown} is not the name of a file")));
    };
    if path.is_dir() {
        return Err(Error::Open(format!("{shown} is a folder: name a file in it")));
    }
    match path.canonicalize() {
        Ok(path) => return Ok(path),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Error::Open(format!("cannot open {shown}: {error}"))),
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| {
        Error::Open(format!("cannot open {shown}: its folder {}: {error}", folder.display()))
    })?;
    Ok(folder.join(name))
}

/// Refuses a file that is not ours, by its header alone.
pub(crate) fn inspect(path: &Path) -> Result<()> {
    let shown = path.display();
    let mut header = [0; HEADER];
    let read = File::open(path).and_then(|mut file| fill(&mut file, &mut header));
    let read = match read {
        Ok(0) => return Ok(()),
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::Open(format!("cannot read {shown}: {error}"))),
    };
    // Whoever died while making the file left a page of zeros and the journal that takes it back.
    if header == [0; HEADER] && journal(path).exists() {
        return Ok(());
    }
    if read < HEADER || !header.starts_with(MAGIC) {
        return Err(Error::Open(format!(
            "{shown} is not a database: it is left as it is; choose another file"
        )));
    }
    let number = header[APPLICATION_AT..].first_chunk().expect("the header is longer");
    match i32::from_be_bytes(*number) {
        APPLICATION => Ok(()),
        other => Err(Error::Open(format!(
            "{shown} is an SQLite database, but not one of Bowline's (its application id is \
             {other:#010x}): it is left as it is; choose another file"
        ))),
    }
}

fn journal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    PathBuf::from(name)
}

fn fill(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
