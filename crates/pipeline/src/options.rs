//! What a pipeline needs besides its stages.

use mql::filter::FilterOptions;

/// Options of a whole pipeline.
#[derive(Clone, Debug)]
pub struct PipelineOptions {
    /// For `$match`. Its `names` are the variables of all stages, whose values are given by
    /// [`Environment::frame`](crate::Environment::frame); its `variables` are seen by `$match` alone.
    pub filter: FilterOptions,
    /// The most bytes that the stages of one execution may hold.
    pub memory_max: usize,
}

impl Default for PipelineOptions {
    fn default() -> Self {
        let filter = FilterOptions { seed: Some(0), ..FilterOptions::default() };
        Self { filter, memory_max: 100 * 1024 * 1024 }
    }
}
