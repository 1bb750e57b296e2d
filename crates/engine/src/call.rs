//! A request at work, and the view that it goes by.
//!
//! The view is taken once: access, routing and the first attempt go by it, so what was let in is what
//! is carried out. Whoever begins anew takes the newest, and whoever changes the catalog lets go of
//! the view, since the change is decided on the catalog that it finds in its turn.

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
    /// A call that goes by the view as it is now.
    pub(crate) fn begin(engine: &Arc<Inner>) -> Self {
        Self { engine: Arc::clone(engine), view: engine.view() }
    }

    /// Goes by the newest view from now on: for what is tried again.
    pub(crate) fn again(&mut self) {
        self.view = self.engine.view();
    }

    /// Lets go of the view: a change of the catalog must not keep the partitions that it replaces.
    pub(crate) fn leave(self) -> Arc<Inner> {
        self.engine
    }

    /// The collection that a request inside it is about.
    pub(crate) fn collection(
        &self,
        path: &CollectionPath,
        options: &Options,
    ) -> Result<Arc<Served>, Error> {
        self.view.intended(path, options)
    }

    /// The partition that a request is about, if another process owns it.
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

    /// Refuses a request that was decided by a newer catalog. An embedded database publishes each
    /// change before anybody hears of it, so waiting would not help.
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
