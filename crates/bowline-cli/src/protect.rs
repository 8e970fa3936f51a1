//! What a server is told about who is let in, and what is made of it.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::{Result, bail};
use bowline_access::{Access, Audit, Exposed, Radius, Tls, TlsFiles, may_listen};
use bowline_temporal::Protection;

/// As somebody has said it.
#[derive(Debug, Default)]
pub(crate) struct Protect {
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) tls_client_ca: Option<PathBuf>,
    pub(crate) keys: Option<PathBuf>,
    pub(crate) jwt_keys: Option<String>,
    pub(crate) jwt_issuer: Option<String>,
    pub(crate) jwt_audience: Option<String>,
    pub(crate) audit: Option<PathBuf>,
    pub(crate) bulk_max: Option<u64>,
    pub(crate) is_insecure: bool,
}

impl Protect {
    /// Reads every file, and refuses addresses that would be open to strangers.
    pub(crate) async fn settle(&self, addresses: &[SocketAddr]) -> Result<Protection> {
        let exposed = Exposed {
            tls: self.tls_cert.is_some(),
            credentials: self.has_credentials(),
            insecure: self.is_insecure,
        };
        for address in addresses {
            may_listen(address, exposed)?;
        }
        let access = match self.has_credentials() {
            true => Some(self.access().await?),
            false => None,
        };
        Ok(Protection { access, tls: self.tls()?.map(Arc::new) })
    }

    fn has_credentials(&self) -> bool {
        self.keys.is_some() || self.jwt_keys.is_some() || self.tls_client_ca.is_some()
    }

    /// There are other means than certificates.
    fn has_bearers(&self) -> bool {
        self.keys.is_some() || self.jwt_keys.is_some()
    }

    async fn access(&self) -> Result<Arc<Access>> {
        let mut builder = Access::builder();
        if let Some(keys) = &self.keys {
            builder = builder.keys(keys)?;
        }
        if let Some(place) = &self.jwt_keys {
            builder = builder.token_keys(place).await?;
        }
        builder = builder.claims(self.jwt_issuer.clone(), self.jwt_audience.clone())?;
        if self.tls_client_ca.is_some() && !self.has_bearers() {
            builder = builder.trust_certificates();
        }
        builder = match &self.audit {
            Some(path) if path.as_os_str() != "-" => builder.audit(Audit::to_file(path)?),
            _ => builder.audit(Audit::to_errors()),
        };
        let radius = self.bulk_max.map_or_else(Radius::default, Radius);
        Ok(builder.radius(radius).build())
    }

    fn tls(&self) -> Result<Option<Tls>> {
        let files = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_ca: self.tls_client_ca.clone(),
                is_client_optional: self.has_bearers(),
            },
            (None, None) if self.tls_client_ca.is_some() => {
                bail!("clients' certificates need --tls-cert and --tls-key")
            }
            (None, None) => return Ok(None),
            _ => bail!("a certificate needs its key, and a key its certificate"),
        };
        Ok(Some(Tls::open(files)?))
    }
}
