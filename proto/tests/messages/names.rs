use nri_proto::api::{Event, plugin, runtime};

#[test]
fn services_and_methods_are_called_as_containerd_calls_them() {
    assert_eq!(plugin::SERVICE, "nri.pkg.api.v1alpha1.Plugin");
    assert_eq!(plugin::CREATE_CONTAINER, "CreateContainer");
    assert_eq!(
        plugin::VALIDATE_CONTAINER_ADJUSTMENT,
        "ValidateContainerAdjustment"
    );
    assert_eq!(runtime::SERVICE, "nri.pkg.api.v1alpha1.Runtime");
    assert_eq!(runtime::REGISTER_PLUGIN, "RegisterPlugin");
}

#[test]
fn an_event_mask_of_create_container_alone_is_8() {
    assert_eq!(1 << (Event::CreateContainer as i32 - 1), 8);
}
