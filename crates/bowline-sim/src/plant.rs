//! Mended defects, put back to see that they are found.

/// Every defect that can be put back, with the number of seeds within which it is found.
pub const PLANTS: &[(&str, u64)] = &[];

/// Puts a defect back, or none, for the whole process.
///
/// # Errors
/// If there is no such defect, or this build has none.
pub fn plant(name: Option<&str>) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    let known: Vec<_> = PLANTS.iter().map(|(known, _)| *known).collect();
    Err(format!("there is no defect {name:?}; those that can be planted: {}", known.join(", ")))
}
