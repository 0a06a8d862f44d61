//! What is printed, as a table in Markdown, and what is written: every figure of every
//! round.

use std::fs;

use super::table::Series;

/// In the order in which they are measured, and stand in the table.
pub const PEERS: [&str; 5] = ["librl", "governor", "floor", "Java", "Go"];

pub struct Row {
    pub name: &'static str,
    pub what: String,
    /// One for each of [`PEERS`]; empty where it is not measured.
    pub series: [Series; 5],
}

const WIDTH: usize = 22;

/// After some columns, how librl compares with them.
fn with_ratio(peer: usize) -> bool {
    matches!(PEERS[peer], "governor" | "floor")
}

pub fn print(rows: &[Row]) {
    print!("| {:28}", "");
    for (peer, name) in PEERS.iter().enumerate() {
        print!("| {name:WIDTH$}");
        if with_ratio(peer) {
            print!("| ratio ");
        }
    }
    println!("|\n|---{}|", "|---".repeat(7));
    rows.iter().for_each(Row::print);
}

impl Row {
    fn print(&self) {
        print!("| {:28}", format!("{} {}", self.name, self.what));
        for (peer, series) in self.series.iter().enumerate() {
            print!("| {:WIDTH$}", shown(series));
            if with_ratio(peer) {
                print!("| {:6}", self.ratio(series));
            }
        }
        println!("|");
    }

    /// librl's time as so many times that of a peer: the median over the rounds.
    fn ratio(&self, peer: &Series) -> String {
        let [librl, ..] = &self.series;
        if peer.rounds() == 0 {
            return String::new();
        }
        format!("{:.2}", librl.over(peer))
    }
}

/// The median, and from where to where.
fn shown(series: &Series) -> String {
    match series.rounds() {
        0 => String::new(),
        1 => format!("{:.1}", series.median()),
        _ => {
            let (least, most) = series.spread();
            format!("{:.1} ({least:.1}-{most:.1})", series.median())
        }
    }
}

pub fn write(rows: &[Row], path: &str) {
    let mut text = "figure,what,limiter,round,ns or bytes\n".to_owned();
    for Row { name, what, series } in rows {
        for (peer, series) in PEERS.iter().zip(series) {
            for (round, time) in series.times().iter().enumerate() {
                let round = round + 1;
                text += &format!("{name},\"{what}\",{peer},{round},{time:.2}\n");
            }
        }
    }
    fs::write(path, text).unwrap();
}
