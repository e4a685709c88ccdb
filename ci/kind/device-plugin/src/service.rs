//! What the kubelet asks.

use std::pin::Pin;

use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use crate::gpus::Gpus;
use crate::v1beta1::device_plugin_server::DevicePlugin;
use crate::v1beta1::{
    AllocateRequest, AllocateResponse, ContainerAllocateRequest, ContainerAllocateResponse, Device,
    DevicePluginOptions, Empty, ListAndWatchResponse,
};

#[tonic::async_trait]
impl DevicePlugin for Gpus {
    type ListAndWatchStream =
        Pin<Box<dyn Stream<Item = Result<ListAndWatchResponse, Status>> + Send>>;

    async fn get_device_plugin_options(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(DevicePluginOptions {}))
    }

    /// One answer, and no end: the kubelet takes a stream that ends for a plugin that is gone.
    async fn list_and_watch(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let devices = self.names().iter().map(|name| Device {
            id: name.clone(),
            health: "Healthy".to_owned(),
        });
        let answer = ListAndWatchResponse {
            devices: devices.collect(),
        };
        let answers = tokio_stream::once(Ok(answer)).chain(tokio_stream::pending());
        Ok(Response::new(Box::pin(answers)))
    }

    async fn allocate(
        &self,
        request: Request<AllocateRequest>,
    ) -> Result<Response<AllocateResponse>, Status> {
        let containers = request.into_inner().container_requests.into_iter();
        let containers = containers.map(|container| self.container(container));
        Ok(Response::new(AllocateResponse {
            container_responses: containers.collect::<Result<_, _>>()?,
        }))
    }
}

impl Gpus {
    fn container(
        &self,
        request: ContainerAllocateRequest,
    ) -> Result<ContainerAllocateResponse, Status> {
        let devices = request.device_ids.into_iter().map(|id| {
            let device = self.device(&id);
            device.ok_or_else(|| Status::not_found(format!("no GPU is called {id}")))
        });
        Ok(ContainerAllocateResponse {
            devices: devices.collect::<Result<_, _>>()?,
        })
    }
}
