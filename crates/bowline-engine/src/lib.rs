//! Bowline's engine and worker: turns, activities, cancellation.
