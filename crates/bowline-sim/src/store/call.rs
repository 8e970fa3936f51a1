//! One call: when it takes effect, and what is answered when.

use std::{
    future::pending,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use bowline_store::{Answer, Error};
use tokio::{sync::oneshot, time::sleep};

use super::{Line, Wire};
use crate::chance::{Draw, mix};

/// How a call fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fares {
    Well,
    /// Nothing is done.
    Fails,
    /// It is done, and nobody hears of it.
    Unknown,
}

/// What chance says about a call.
struct Course {
    before: u64,
    fares: Fares,
    after: u64,
    /// It is done even if its process dies before.
    is_sent: bool,
}

impl Line {
    fn course(&self, draw: Draw) -> Course {
        let weather = self.sky.weather();
        let slow = |n: u64| match draw.next(n).per_mille(weather.slow) {
            false => 0,
            true => match draw.next(n + 1).below(10) {
                0..6 => draw.next(n + 2).between(1, 8),
                6..9 => draw.next(n + 2).between(8, 60),
                _ => draw.next(n + 2).between(60, 2_500),
            },
        };
        let fares = match draw.next(10).below(1000) {
            roll if roll < weather.fails => Fares::Fails,
            roll if roll < weather.fails + weather.unknown => Fares::Unknown,
            _ => Fares::Well,
        };
        let is_sent = self.outlives && draw.next(11).per_mille(500);
        Course { before: slow(20), fares, after: slow(30), is_sent }
    }

    /// A call whose effect the observer looks at when it has happened.
    pub(super) fn then<T: Send + 'static>(self: &Arc<Self>, answer: Answer<T>) -> Answer<T> {
        let line = self.clone();
        Box::pin(async move {
            let answer = answer.await;
            line.observer.look();
            answer
        })
    }
}

impl Wire {
    pub(super) fn call<T: Send + 'static>(
        &self,
        method: &'static str,
        effect: impl FnOnce(&Arc<Line>) -> Answer<T> + Send + 'static,
        fail: impl Fn(Error) -> T + Send + 'static,
    ) -> Answer<T> {
        let line = self.0.clone();
        let process = line.process.clone();
        if process.is_dead() {
            return Box::pin(pending());
        }
        let n = line.calls.fetch_add(1, SeqCst);
        line.observer.polled(process.life, mix(n ^ method.len() as u64));
        let draw = line.chance.draw(method, mix(process.life.bits()), n);
        let course = line.course(draw);
        let plain = course.before == 0 && course.after == 0 && course.fares == Fares::Well;
        if plain && !process.is_frozen() && !process.is_cut() {
            return effect(&line);
        }
        let (answer, answered) = oneshot::channel();
        line.runtime.clone().spawn(async move {
            if course.before > 0 {
                sleep(Duration::from_millis(course.before)).await;
            }
            process.thawed().await;
            if process.is_cut() {
                sleep(Duration::from_millis(draw.next(40).between(1, 400))).await;
                process.thawed().await;
                let _ = answer.send(fail(Error::Busy("the store is out of reach".into())));
                return;
            }
            if process.is_dead() && !course.is_sent {
                return;
            }
            let result = match course.fares {
                Fares::Well => effect(&line).await,
                Fares::Fails => {
                    line.observer
                        .goes_wrong("a call fails", || format!("{}: {method} fails", process.life));
                    fail(Error::Busy("simulated".into()))
                }
                Fares::Unknown => {
                    let told = || format!("{}: {method} is done and not answered", process.life);
                    line.observer.goes_wrong("a call is done and not answered", told);
                    drop(effect(&line).await);
                    fail(Error::Unknown("simulated".into()))
                }
            };
            if course.after > 0 {
                sleep(Duration::from_millis(course.after)).await;
            }
            process.thawed().await;
            // Nobody may be waiting.
            let _ = answer.send(result);
        });
        Box::pin(async move {
            match answered.await {
                Ok(answer) => answer,
                // Its process is dead.
                Err(_) => pending().await,
            }
        })
    }
}
