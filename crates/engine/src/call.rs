//! A request being carried out, and the view that it uses.
//!
//! The view is taken once: access, routing and the first attempt use it, so that exactly what was
//! authorized is carried out. A retry takes the newest view. A catalog change releases its view,
//! since it is decided on the catalog at its turn.

use std::sync::Arc;

use protocol::{Code, Error, Options, Request, request::CollectionPath};
use query::{
    elsewhere::{Elsewhere, Target, is_own_group},
    route::{Route, route},
    served::{Served, View},
};

use crate::Inner;

#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) engine: Arc<Inner>,
    pub(crate) view: Arc<View>,
}

impl Call {
    /// A call on the current view.
    pub(crate) fn begin(engine: &Arc<Inner>) -> Self {
        Self { engine: Arc::clone(engine), view: engine.view() }
    }

    /// Takes the newest view, for a retry.
    pub(crate) fn again(&mut self) {
        self.view = self.engine.view();
    }

    /// Releases the view: a catalog change must not keep the partitions that it replaces.
    pub(crate) fn leave(self) -> Arc<Inner> {
        self.engine
    }

    /// The collection that `path` names, as the request intends it.
    pub(crate) fn collection(
        &self,
        path: &CollectionPath,
        options: &Options,
    ) -> Result<Arc<Served>, Error> {
        self.view.intended(path, options)
    }

    /// The partition that a request concerns, if another process owns it.
    pub(crate) fn owned_by_other(
        &self,
        elsewhere: &dyn Elsewhere,
        request: &Request,
    ) -> Option<Target> {
        let catalog = &self.view.catalog;
        match route(catalog, request) {
            Route::Partition(target)
                if !is_own_group(Some(elsewhere), &catalog.groups, &target.group) =>
            {
                Some(target)
            }
            Route::Partition(_) | Route::Here | Route::Catalog | Route::Several(_) => None,
        }
    }

    /// Refuses a request that was decided on a newer catalog. An embedded database publishes each
    /// change before any client learns of it, so waiting would not help.
    pub(crate) fn check_version(&self, decided_by: Option<u64>) -> Result<(), Error> {
        let known = self.view.catalog.version;
        match decided_by {
            Some(version) if version > known => Err(Error::new(
                Code::Unavailable,
                format!(
                    "The request was routed by version {version} of the catalog, and this node has \
                     version {known}."
                ),
            )),
            _ => Ok(()),
        }
    }
}
