//! The table of ratios that a run ends with.

use super::{
    competitor::Who,
    results::{Cell, Results},
};

/// Whose CPU time Sheaf's is compared with.
const OTHERS: [Who; 7] = [
    Who::Floor,
    Who::RawStore,
    Who::Vercel,
    Who::Cosmium,
    Who::Postgres,
    Who::PostgresOrdered,
    Who::Ferret,
];

/// CPU time of Sheaf on disk as a multiple of another's.
pub(crate) fn ratio(results: &Results, cell: &Cell, other: Who) -> Option<f64> {
    let disk = results.figures(cell, Who::SheafDisk)?.cpu_us;
    let other = results.figures(cell, other)?.cpu_us;
    (other > 0.0).then_some(disk / other)
}

/// Prints it.
pub(crate) fn print(results: &Results) {
    println!("\nCPU of an operation, and Sheaf's on disk as a multiple of the others'");
    print!("{:28} {:>9} {:>9} {:>9}", "", "documents", "memory µs", "disk µs");
    for other in OTHERS {
        print!(" {:>9}", other.name().replace("postgres-", "pg-"));
    }
    println!();
    for cell in results.cells() {
        let own = |who| {
            let figures = results.figures(&cell, who);
            figures.map_or_else(|| "-".to_owned(), |it| format!("{:.1}", it.cpu_us))
        };
        let (memory, disk) = (own(Who::SheafMemory), own(Who::SheafDisk));
        print!("{:28} {:>9} {memory:>9} {disk:>9}", cell.title(), cell.documents);
        for other in OTHERS {
            let text = ratio(results, &cell, other);
            let text = text.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x"));
            print!(" {text:>9}");
        }
        println!();
    }
}
