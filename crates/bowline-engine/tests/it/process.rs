//! Processes that come, go, hang or lose contact, and what it costs to wait.

mod contact;
mod counting;
mod crowd;
mod drain;
mod file;
mod idle;
mod in_step;
mod letting_go;
mod lossy;
mod lost;
mod rejoin;
mod scale;
mod standby;
