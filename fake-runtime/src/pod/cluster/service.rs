//! Services, and the variables by which containers know of them.

use serde::Deserialize;

/// A Service, as far as variables tell of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Service {
    /// Its address; `None` where it has none, nothing where the API server has not given it one yet.
    #[serde(rename = "clusterIP")]
    pub cluster_ip: Option<String>,
    /// `ExternalName` ones have no address.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its ports.
    pub ports: Option<Vec<Port>>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Port {
    /// Its name.
    pub name: Option<String>,
    /// `TCP` where nothing is said.
    pub protocol: Option<String>,
    /// Its number.
    pub port: u16,
}

impl Service {
    /// The Service `kubernetes`, by which every container finds the API server.
    pub(in crate::pod) fn of_api_server(address: &str) -> Self {
        Self {
            cluster_ip: Some(address.to_owned()),
            ports: Some(vec![Port {
                name: Some("https".to_owned()),
                port: 443,
                protocol: None,
            }]),
            kind: None,
        }
    }

    /// The variables that tell of it. An address that nobody knows yet stands there as `<clusterIP of web>`.
    pub(in crate::pod) fn variables(&self, name: &str) -> Vec<(String, String)> {
        if self.kind.as_deref() == Some("ExternalName") {
            return Vec::new();
        }
        let unknown = format!("<clusterIP of {name}>");
        let host = match self.cluster_ip.as_deref() {
            Some("None") => return Vec::new(),
            None | Some("") => unknown.as_str(),
            Some(address) => address,
        };
        let ports = self.ports.as_deref().unwrap_or_default();
        let Some(first) = ports.first() else {
            return Vec::new();
        };
        let prefix = shouted(name);
        let mut all = vec![
            (format!("{prefix}_SERVICE_HOST"), host.to_owned()),
            (format!("{prefix}_SERVICE_PORT"), first.port.to_string()),
        ];
        for Port { name, port, .. } in ports {
            if let Some(name) = name.as_deref().filter(|name| !name.is_empty()) {
                let key = format!("{prefix}_SERVICE_PORT_{}", shouted(name));
                all.push((key, port.to_string()));
            }
        }
        all.push((format!("{prefix}_PORT"), first.url(host)));
        for port in ports {
            let protocol = port.protocol();
            let key = format!("{prefix}_PORT_{}_{}", port.port, protocol.to_uppercase());
            all.extend([
                (key.clone(), port.url(host)),
                (format!("{key}_PROTO"), protocol),
                (format!("{key}_PORT"), port.port.to_string()),
                (format!("{key}_ADDR"), host.to_owned()),
            ]);
        }
        all
    }
}

impl Port {
    fn protocol(&self) -> String {
        self.protocol.as_deref().unwrap_or("TCP").to_lowercase()
    }

    fn url(&self, host: &str) -> String {
        let (protocol, port) = (self.protocol(), self.port);
        if host.contains(':') && !host.starts_with('<') {
            format!("{protocol}://[{host}]:{port}")
        } else {
            format!("{protocol}://{host}:{port}")
        }
    }
}

fn shouted(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_server_is_told_of_in_eight_variables() {
        let variables = Service::of_api_server("10.96.0.1").variables("kubernetes");
        let all: Vec<_> = variables.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            all,
            [
                "KUBERNETES_SERVICE_HOST=10.96.0.1",
                "KUBERNETES_SERVICE_PORT=443",
                "KUBERNETES_SERVICE_PORT_HTTPS=443",
                "KUBERNETES_PORT=tcp://10.96.0.1:443",
                "KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443",
                "KUBERNETES_PORT_443_TCP_PROTO=tcp",
                "KUBERNETES_PORT_443_TCP_PORT=443",
                "KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1",
            ]
        );
    }

    #[test]
    fn a_headless_service_and_an_external_name_are_not_told_of() {
        let headless = Service {
            cluster_ip: Some("None".to_owned()),
            ..Service::of_api_server("")
        };
        let external = Service {
            kind: Some("ExternalName".to_owned()),
            ..Service::of_api_server("")
        };
        assert_eq!(headless.variables("a"), []);
        assert_eq!(external.variables("a"), []);
    }
}
