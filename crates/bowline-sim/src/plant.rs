//! Mended defects, put back to see that they are found.

/// Puts a defect back, or none, for the whole process.
///
/// # Errors
/// If there is no such defect, or this build has none.
#[cfg(feature = "planted")]
pub fn plant(name: Option<&str>) -> Result<(), String> {
    use bowline_core::planted::Defect;
    let Some(name) = name else { return Ok(()) };
    let Some(defect) = Defect::ALL.iter().find(|defect| defect.name() == name) else {
        let known: Vec<_> = Defect::ALL.iter().map(|defect| defect.name()).collect();
        return Err(format!("there is no defect {name:?}; those there are: {}", known.join(", ")));
    };
    bowline_core::planted::plant(Some(*defect));
    Ok(())
}

/// Puts no defect back.
///
/// # Errors
/// If one is wanted: this build has none.
#[cfg(not(feature = "planted"))]
pub fn plant(name: Option<&str>) -> Result<(), String> {
    match name {
        None => Ok(()),
        Some(_) => Err("build with the feature `planted` to put a defect back".to_owned()),
    }
}
