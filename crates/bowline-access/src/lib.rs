//! Who may ask what of a server: credentials, rights, encryption, and a record of it.
//!
//! In:    a connection, the headers of a request, and what the request is about.
//! Out:   the caller, or a refusal; a line in the audit log.
//! Never: a protocol. Doors say which right each of their calls needs, and put refusals into words
//!        of their own.

mod access;
mod audit;
mod caller;
mod certificate;
mod der;
mod file;
mod grant;
mod jwt;
mod key;
mod layer;
mod need;
mod open;
mod peer;
mod radius;
mod refusal;
mod right;
mod ticket;
mod tls;

pub mod browser;
pub mod limits;

pub use access::{Access, AccessBuilder, Asked};
pub use audit::Audit;
pub use caller::{Caller, How};
pub use grant::Grants;
pub use key::{KeyFile, Made, Shown};
pub use layer::{AccessLayer, AccessService, Keeper, Subject};
pub use need::{Need, Reach, Row};
pub use open::{Exposed, is_loopback, may_listen};
pub use peer::{Peer, Proof};
pub use radius::Radius;
pub use refusal::{Refused, Unusable};
pub use right::{Right, Rights};
pub use ticket::Ticket;
pub use tls::{Secured, Tls, TlsFiles};
