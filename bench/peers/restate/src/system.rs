//! What the harness asks, as calls of the server's HTTP interface.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use harness::{System, Trouble, Work};
use http::Method;

use crate::{http::Http, server::Server};

/// Restate's server, with the handlers in this process.
pub(crate) struct Restate(Server);

impl Restate {
    pub(crate) fn new(server: Server) -> Self {
        Self(server)
    }
}

/// An invocation, and how many signals it was sent: a signal has a name and comes once.
#[derive(Clone)]
pub(crate) struct Invocation {
    id: Arc<str>,
    signals: Arc<AtomicU32>,
}

impl System for Restate {
    type Run = Invocation;
    type Ticket = Invocation;

    async fn start(&self, id: String, work: Work) -> Result<Invocation, Trouble> {
        // An idempotency key is what makes an invocation one that can be attached to.
        let body = serde_json::to_vec(&work)?;
        let sent =
            self.0.ingress.send(Method::POST, "/Bench/perform/send", Some(&id), body).await?;
        let id = Http::field(&sent, "invocationId")?.into();
        Ok(Invocation { id, signals: Arc::default() })
    }

    async fn find(&self, id: String) -> Result<Invocation, Trouble> {
        // The same key finds the same invocation, whatever it is given to do.
        self.start(id, Work::Nothing).await
    }

    async fn ended(&self, run: &Invocation) -> Result<(), Trouble> {
        let path = format!("/restate/invocation/{}/attach", run.id);
        // A cancelled invocation is answered with its error: it has ended all the same.
        self.0.ingress.any(Method::GET, &path, None, Vec::new()).await?;
        Ok(())
    }

    async fn whole(&self, _id: String, work: Work) -> Result<(), Trouble> {
        let body = serde_json::to_vec(&work)?;
        self.0.ingress.send(Method::POST, "/Bench/perform", None, body).await?;
        Ok(())
    }

    async fn signal(&self, run: &Invocation) -> Result<(), Trouble> {
        let number = run.signals.fetch_add(1, Ordering::Relaxed);
        let body = serde_json::to_vec(&(&*run.id, number))?;
        self.0.ingress.send(Method::POST, "/Bench/poke", None, body).await?;
        Ok(())
    }

    async fn cancel(&self, run: &Invocation) -> Result<Invocation, Trouble> {
        self.0.cancel(&run.id).await?;
        Ok(run.clone())
    }

    async fn decided(&self, ticket: &Invocation) -> Result<(), Trouble> {
        self.ended(ticket).await
    }

    async fn clean(&self, _ticket: &Invocation) -> Result<(), Trouble> {
        Err(Trouble::cannot("does not say when nothing is left running"))
    }
}
