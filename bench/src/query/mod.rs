//! `load query`: what a query reads and costs, in a large collection and in a small one, next to
//! Postgres with the same documents; and what the index costs those who write.
//!
//! Reading order: [`data`] (the documents), [`text`] (the queries), [`sheaf`] and [`postgres`] (who
//! is asked; [`wire`] is how), [`cost`] and [`report`] (the figures), [`policies`] (what writing
//! costs).

mod cost;
pub(crate) mod data;
mod policies;
pub(crate) mod postgres;
mod report;
mod sheaf;
pub(crate) mod text;
pub(crate) mod wire;

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Result;

use self::{
    cost::Cost,
    data::Data,
    postgres::Postgres,
    report::{Line, print_compaction, print_header, print_load, print_query},
    sheaf::Sheaf,
    text::Query,
};
use crate::{
    arguments::Arguments,
    scratch::Scratch,
    startup::{megabytes, size_of},
};

/// Documents of the large collection unless told otherwise.
const DOCUMENTS: usize = 1_000_000;
/// Not counted, so that caches are as warm as they get.
const WARM_UP: Duration = Duration::from_millis(700);

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let large = Data::new(arguments.documents.unwrap_or(DOCUMENTS))?;
    let small = Data::new(arguments.small)?;
    println!(
        "1 KB documents in 4 partitions, {} and {} of them, {:?} a cell, {} cores",
        large.documents,
        small.documents,
        arguments.duration,
        std::thread::available_parallelism()?
    );
    let programs = Postgres::find(arguments.postgres.as_deref());
    if programs.is_none() {
        println!("PostgreSQL is not installed: nothing to compare with (see --postgres)");
    }
    let small_costs = measure(arguments, small, programs.as_deref()).await?;
    let large_costs = measure(arguments, large, programs.as_deref()).await?;
    print_header();
    for (of_small, of_large) in small_costs.iter().zip(&large_costs) {
        print_query([small, large], of_small, of_large);
    }
    policies::run(arguments, small).await
}

/// A place for data, and whether it is filled already. Removed at the end unless it is to be kept.
struct Place {
    path: PathBuf,
    /// A file that says that it is filled.
    marker: PathBuf,
    scratch: Option<Scratch>,
}

impl Place {
    fn new(arguments: &Arguments, name: &str, data: Data) -> Result<Self> {
        let name = format!("{name}-{}", data.documents);
        let (path, scratch) = if let Some(keep) = &arguments.keep {
            (std::path::absolute(keep)?.join(&name), None)
        } else {
            let scratch = Scratch::named(&name)?;
            (scratch.0.clone(), Some(scratch))
        };
        let marker = path.with_extension("filled");
        if !marker.is_file() && path.try_exists()? {
            // Left by a run that was interrupted.
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path)?;
        Ok(Self { path, marker, scratch })
    }

    fn is_filled(&self) -> bool {
        self.marker.is_file()
    }

    /// It need not be filled again.
    fn set_filled(&self) -> Result<()> {
        if self.scratch.is_none() {
            File::create(&self.marker)?;
        }
        Ok(())
    }
}

async fn measure(arguments: &Arguments, data: Data, programs: Option<&Path>) -> Result<Vec<Line>> {
    let queries: Vec<Query> =
        Query::ALL.into_iter().filter(|query| arguments.wants(query.name())).collect();
    let sheaf = sheaf_costs(arguments, data, &queries).await?;
    let postgres = match programs {
        Some(programs) => {
            postgres_costs(arguments, data, programs, &queries)?.into_iter().map(Some).collect()
        }
        None => vec![None; queries.len()],
    };
    let both = sheaf.into_iter().zip(postgres);
    Ok(queries.iter().zip(both).map(|(query, (sheaf, other))| (*query, sheaf, other)).collect())
}

async fn sheaf_costs(arguments: &Arguments, data: Data, queries: &[Query]) -> Result<Vec<Cost>> {
    let place = Place::new(arguments, "sheaf", data)?;
    if !place.is_filled() {
        let sheaf = Sheaf::start(&arguments.sheaf, &place.path)?;
        sheaf.create("").await?;
        let begin = Instant::now();
        sheaf.fill(data, arguments.connections).await?;
        let elapsed = begin.elapsed();
        sheaf.settle().await?;
        let cpu = sheaf.server.cpu()?;
        // A clean stop writes out what is buffered, so that all is read from tables.
        sheaf.server.stop()?;
        place.set_filled()?;
        let size = megabytes(size_of(&place.path)?);
        print_load("sheaf", data, elapsed, Some(cpu), size);
    }
    // Data that was kept, too: it may be of a build that did not, and then it does no harm.
    let begin = Instant::now();
    let sizes = sheaf::compact(&arguments.sheaf, &place.path)?;
    print_compaction(data, begin.elapsed(), sizes);
    let sheaf = Sheaf::start(&arguments.sheaf, &place.path)?;
    sheaf.settle().await?;
    let mut costs = Vec::new();
    for query in queries {
        costs.push(sheaf.measure(*query, data, WARM_UP, arguments.duration).await?);
    }
    sheaf.server.stop()?;
    Ok(costs)
}

fn postgres_costs(
    arguments: &Arguments,
    data: Data,
    programs: &Path,
    queries: &[Query],
) -> Result<Vec<Cost>> {
    let place = Place::new(arguments, "postgres", data)?;
    let postgres = Postgres::start(programs, &place.path)?;
    if !place.is_filled() {
        let begin = Instant::now();
        postgres.fill(data)?;
        place.set_filled()?;
        let elapsed = begin.elapsed();
        let (total, index) = postgres.sizes()?;
        let name = format!("PostgreSQL {}, {:.0} MB of it GIN", postgres.version()?, index / 1e6);
        print_load(&name, data, elapsed, None, total / 1e6);
    }
    queries
        .iter()
        .map(|query| postgres.measure(*query, data, WARM_UP, arguments.duration))
        .collect()
}
