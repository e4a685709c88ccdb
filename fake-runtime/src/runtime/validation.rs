//! Plugins that judge what the others made of a container.

use nri_proto::api::{
    CreateContainerRequest, FieldOwners, OwningPlugins, PluginInstance,
    ValidateContainerAdjustmentRequest, ValidateContainerAdjustmentResponse,
};

use super::asked::Asked;
use super::hub::Hub;
use super::plugin::Plugin;
use crate::collect::Combined;
use crate::create_error::Reason;

/// Asks every validator. `request` is what the first plugin was asked.
pub(super) async fn validate(
    hub: &Hub,
    plugins: &[Plugin],
    request: CreateContainerRequest,
    asked: &[Asked],
    adjustment: &Combined,
    owners: FieldOwners,
) -> Result<(), Reason> {
    if let Some(validator) = hub
        .default_validator
        .as_ref()
        .filter(|_| hub.profile.validators)
    {
        validator.judge(hub.profile, plugins, &request, asked)?;
    }
    let validators: Vec<_> = plugins
        .iter()
        .filter(|it| it.is_validator(hub.profile))
        .collect();
    if validators.is_empty() {
        return Ok(());
    }
    let id = request
        .container
        .as_ref()
        .map(|container| container.id.clone())
        .unwrap_or_default();
    let instance = |plugin: &Plugin| PluginInstance {
        name: plugin.info.name.clone(),
        index: plugin.info.index.clone(),
    };
    let request = ValidateContainerAdjustmentRequest {
        pod: request.pod,
        container: request.container,
        adjust: Some(adjustment.into()),
        update: Vec::new(),
        owners: Some(OwningPlugins {
            owners: [(id, owners)].into(),
        }),
        plugins: plugins.iter().map(instance).collect(),
    };
    for validator in validators {
        let plugin = validator.info.to_string();
        let verdict: Result<ValidateContainerAdjustmentResponse, _> = validator
            .call(hub, "ValidateContainerAdjustment", &request)
            .await;
        match verdict {
            Ok(verdict) if verdict.reject => {
                return Err(Reason::Rejected {
                    plugin,
                    reason: verdict.reason,
                });
            }
            Ok(_) => {}
            Err(failure) => {
                // The container is refused for it now; the next one is not.
                hub.take_lost_validators();
                return Err(Reason::ValidatorFailed {
                    plugin,
                    why: failure.to_string(),
                });
            }
        }
    }
    Ok(())
}
