//! Bowline's store in one SQLite file.
