//! The times of all rounds, and what is printed of them.

/// The times of one thing in each round, in ns.
#[derive(Default)]
pub struct Series(Vec<f64>);

impl Series {
    pub fn push(&mut self, time: f64) {
        self.0.push(time);
    }

    pub fn rounds(&self) -> usize {
        self.0.len()
    }

    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        sorted[sorted.len() / 2]
    }

    /// The median of how many times as long this takes as the other, round by round.
    pub fn over(&self, other: &Series) -> f64 {
        let ratios = self.0.iter().zip(&other.0).map(|(own, other)| own / other);
        Series(ratios.collect()).median()
    }

    fn sorted(&self) -> Vec<f64> {
        let mut times = self.0.clone();
        times.sort_by(f64::total_cmp);
        times
    }

    /// The least and the most.
    pub fn spread(&self) -> (f64, f64) {
        let sorted = self.sorted();
        (sorted[0], sorted[sorted.len() - 1])
    }

    pub fn times(&self) -> &[f64] {
        &self.0
    }

    fn shown(&self) -> String {
        let (least, most) = self.spread();
        let spread = format!("({least:.1} to {most:.1})");
        format!("{:7.1} {spread:18}", self.median())
    }
}

/// A line of the table: the same, measured in several ways.
pub struct Row {
    pub what: &'static str,
    pub ways: Vec<Series>,
}

impl Row {
    /// Each way, and how it compares with the one before.
    pub fn print(&self) {
        print!("{:28}", self.what);
        let mut before = None;
        for series in &self.ways {
            print!(" {}", series.shown());
            if let Some(before) = before.replace(series) {
                print!(" {:5.3}  ", series.over(before));
            }
        }
        println!();
    }

    /// By how many percent a way takes longer than the one before.
    pub fn more(&self, way: usize) -> String {
        let ratio = self.ways[way].over(&self.ways[way - 1]);
        format!("{:+.1} %", (ratio - 1.0) * 100.0)
    }
}
