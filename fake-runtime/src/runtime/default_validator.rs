//! The validator that containerd brings along, from 2.2 on: off unless the node's administrator turns it on.

use nri_proto::api::{ContainerAdjustment, CreateContainerRequest, LinuxNamespace};

use super::asked::Asked;
use super::plugin::Plugin;
use crate::create::{Answer, Reason};
use crate::profile::{Fate, Profile};

/// How containerd calls it.
const NAME: &str = "00-default-validator";
/// By this annotation a pod, or one container of it, names the plugins that it needs.
const REQUIRED: &str = "required-plugins.noderesource.dev";

/// What the validator insists on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultValidator {
    /// The plugins without which no container is made, as `NAME` or `IDX-NAME`.
    pub required_plugins: Vec<String>,
    /// The annotation by which a pod does without them.
    pub tolerate_missing_annotation: String,
    /// Whether no plugin may add an OCI hook.
    pub reject_oci_hooks: bool,
    /// Whether no plugin may change a namespace.
    pub reject_namespaces: bool,
    /// Whether no plugin may set a kernel parameter. From 2.3 on.
    pub reject_sysctl: bool,
}

impl DefaultValidator {
    /// Judges what plugins made of a container.
    pub(super) fn judge(
        &self,
        profile: &Profile,
        plugins: &[Plugin],
        request: &CreateContainerRequest,
        asked: &[Asked],
    ) -> Result<(), Reason> {
        let reject = |reason: String| {
            Err(Reason::Rejected {
                plugin: NAME.to_owned(),
                reason,
            })
        };
        let missing = match self.missing(plugins, request) {
            Ok(missing) => missing,
            Err(reason) => return reject(reason),
        };
        match &missing[..] {
            [] => {}
            [one] => {
                return reject(format!(
                    "validation error: required plugin {one:?} not present"
                ));
            }
            several => {
                let names = several.join(",");
                return reject(format!(
                    "validation error: required plugins {names:?} not present"
                ));
            }
        }
        for asked in asked {
            let plugin = &asked.plugin;
            let Answer::Adjust(adjustment) = &asked.answer else {
                continue;
            };
            if self.reject_oci_hooks
                && adjustment
                    .hooks
                    .as_ref()
                    .is_some_and(|it| *it != Default::default())
            {
                return reject(format!(
                    "validation error: plugin {plugin:?} attempted restricted OCI hook injection"
                ));
            }
            if self.reject_namespaces
                && let Some(LinuxNamespace { r#type, .. }) = namespace(adjustment)
            {
                return reject(format!(
                    "validation error: attempted restricted namespace adjustment by plugin(s) {plugin:?} \
                     (namespace {type:?})"
                ));
            }
            let linux = adjustment.linux.as_ref();
            let sets_sysctl = linux.is_some_and(|linux| !linux.sysctl.is_empty());
            if self.reject_sysctl && profile.adjust.sysctl == Fate::Applied && sets_sysctl {
                return reject(format!(
                    "validation error: attempted restricted sysctl adjustment by plugin(s) {plugin}"
                ));
            }
        }
        Ok(())
    }

    /// The required plugins that are not there.
    fn missing(
        &self,
        plugins: &[Plugin],
        request: &CreateContainerRequest,
    ) -> Result<Vec<String>, String> {
        let pod = request.pod.clone().unwrap_or_default();
        let container = request.container.as_ref().map_or("", |it| &it.name);
        let annotation = |key: &str| {
            [
                format!("{key}/container.{container}"),
                format!("{key}/pod"),
                key.to_owned(),
            ]
            .iter()
            .find_map(|key| pod.annotations.get(key))
        };
        let mut required = Vec::new();
        let tolerates = !self.tolerate_missing_annotation.is_empty()
            && annotation(&self.tolerate_missing_annotation).is_some_and(|it| it == "true");
        if !tolerates {
            required.extend(self.required_plugins.iter().cloned());
        }
        if let Some(text) = annotation(REQUIRED) {
            let named: Vec<String> = serde_saphyr::from_str(text).map_err(|_| {
                format!(
                    "invalid {REQUIRED} annotation {text:?}: yaml: line 1: did not find expected node content"
                )
            })?;
            required.extend(named);
        }
        let is_there = |name: &String| {
            let mut plugins = plugins.iter();
            plugins.any(|it| it.info.name == *name || it.info.to_string() == *name)
        };
        required.retain(|name| !is_there(name));
        Ok(required)
    }
}

fn namespace(adjustment: &ContainerAdjustment) -> Option<&LinuxNamespace> {
    adjustment.linux.as_ref()?.namespaces.first()
}
