//! What `/metrics` tells, all under the prefix `nri_plugin_`.

use std::borrow::Cow;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::version;

/// Seconds. From a container left alone without a look at the disk to the request timeout that
/// containerd ships with.
const DURATION_BUCKETS: [f64; 17] = [
    0.000_010, 0.000_025, 0.000_050, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01,
    0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0,
];

/// The `Content-Type` of [`Metrics::text`].
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ContainerLabels {
    decision: &'static str,
    reason: Cow<'static, str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SurfaceLabels {
    surface: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SkippedLabels {
    reason: &'static str,
}

/// The program's metrics. Every clone counts into the same ones.
#[derive(Debug, Clone)]
pub struct Metrics {
    containers: Family<ContainerLabels, Counter>,
    surfaces: Family<SurfaceLabels, Counter>,
    devices_skipped: Family<SkippedLabels, Counter>,
    duration: Histogram,
    /// CreateContainer requests being worked on.
    pub requests_in_flight: Gauge,
    /// 1 while the runtime has this plugin registered, else 0.
    pub registered: Gauge,
    /// Registrations that the runtime completed by configuring the plugin.
    pub registrations: Counter,
    /// Connections lost after such a registration.
    pub connection_losses: Counter,
    /// Running containers that should mount the overlay and do not, as of the last Synchronize.
    pub bypassed_containers: Gauge,
    /// Log lines that stdout did not take.
    pub log_lines_dropped: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            containers: Family::default(),
            surfaces: Family::default(),
            devices_skipped: Family::default(),
            duration: Histogram::new(DURATION_BUCKETS),
            requests_in_flight: Gauge::default(),
            registered: Gauge::default(),
            registrations: Counter::default(),
            connection_losses: Counter::default(),
            bypassed_containers: Gauge::default(),
            log_lines_dropped: Counter::default(),
        }
    }
}

impl Metrics {
    /// Counts a container that was answered after `took`. `decision` is `adjusted`, `unmodified`, `gated`,
    /// `refused` or `failed`; `reason` one of a few texts, since each is a time series of its own.
    pub fn container(&self, decision: &'static str, reason: Cow<'static, str>, took: Duration) {
        self.containers
            .get_or_create(&ContainerLabels { decision, reason })
            .inc();
        self.duration.observe(took.as_secs_f64());
    }

    /// Counts a surface (`gpu`, `infiniband`, `imex`) that a container was given.
    pub fn surface(&self, surface: &'static str) {
        self.surfaces
            .get_or_create(&SurfaceLabels { surface })
            .inc();
    }

    /// Counts devices that a container should have had and did not get.
    pub fn devices_skipped(&self, reason: &'static str, count: usize) {
        self.devices_skipped
            .get_or_create(&SkippedLabels { reason })
            .inc_by(count as u64);
    }

    /// All metrics in Prometheus's text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_text::encode(&mut text, &self.registry());
        text
    }

    /// A registry is only a list of names for shared values, so one made for each scrape does, and the
    /// ones who count need not know it.
    fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("nri_plugin");
        registry.register(
            "containers",
            "Containers that the runtime asked about",
            self.containers.clone(),
        );
        registry.register(
            "surfaces",
            "Mock surfaces that containers were given",
            self.surfaces.clone(),
        );
        registry.register(
            "devices_skipped",
            "Device nodes that a container should have had and did not get",
            self.devices_skipped.clone(),
        );
        registry.register(
            "create_container_duration_seconds",
            "Time from a CreateContainer request to its answer",
            self.duration.clone(),
        );
        registry.register(
            "requests_in_flight",
            "CreateContainer requests being worked on",
            self.requests_in_flight.clone(),
        );
        registry.register(
            "registered",
            "Whether the runtime has this plugin registered",
            self.registered.clone(),
        );
        registry.register(
            "registrations",
            "Registrations that the runtime completed",
            self.registrations.clone(),
        );
        registry.register(
            "connection_losses",
            "Connections lost after a registration",
            self.connection_losses.clone(),
        );
        registry.register(
            "bypassed_containers",
            "Running containers that should mount the overlay and do not, at the last registration",
            self.bypassed_containers.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Log lines that stdout did not take",
            self.log_lines_dropped.clone(),
        );
        let build = [("version", version::VERSION), ("commit", version::COMMIT)];
        registry.register("build", "The running program", Info::new(build.to_vec()));
        registry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_told_under_its_documented_name() {
        let metrics = Metrics::default();
        metrics.container(
            "gated",
            "node agent is staging".into(),
            Duration::from_micros(20),
        );
        metrics.surface("gpu");
        metrics.devices_skipped("not a character device", 1);
        metrics.registered.set(1);
        metrics.registrations.inc();
        metrics.connection_losses.inc();
        metrics.bypassed_containers.set(3);
        metrics.log_lines_dropped.inc();

        let text = metrics.text();
        for line in [
            "nri_plugin_containers_total{decision=\"gated\",reason=\"node agent is staging\"} 1",
            "nri_plugin_surfaces_total{surface=\"gpu\"} 1",
            "nri_plugin_devices_skipped_total{reason=\"not a character device\"} 1",
            "nri_plugin_create_container_duration_seconds_bucket{le=\"1e-05\"} 0",
            "nri_plugin_create_container_duration_seconds_bucket{le=\"2.5e-05\"} 1",
            "nri_plugin_create_container_duration_seconds_bucket{le=\"2\"} 1",
            "nri_plugin_create_container_duration_seconds_count 1",
            "nri_plugin_requests_in_flight 0",
            "nri_plugin_registered 1",
            "nri_plugin_registrations_total 1",
            "nri_plugin_connection_losses_total 1",
            "nri_plugin_bypassed_containers 3",
            "nri_plugin_log_lines_dropped_total 1",
        ] {
            assert!(
                text.lines().any(|told| told == line),
                "no {line} in\n{text}"
            );
        }
    }

    #[test]
    fn the_build_is_told_with_version_and_commit() {
        let text = Metrics::default().text();
        let expected = format!(
            "nri_plugin_build_info{{version=\"{}\",commit=\"{}\"}} 1",
            version::VERSION,
            version::COMMIT
        );
        assert!(
            text.lines().any(|told| told == expected),
            "no {expected} in\n{text}"
        );
    }
}
