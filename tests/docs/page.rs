//! Pages of Markdown, taken apart as far as the tests look: fenced blocks, titles, links.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::made::root;

pub struct Page {
    pub path: PathBuf,
    pub blocks: Vec<Block>,
    /// What stands in no block, line by line.
    prose: Vec<String>,
}

/// A fenced block: what stands behind the fence, and the text.
pub struct Block {
    pub language: String,
    pub line: usize,
    pub text: String,
}

/// The README and the pages in docs/, whose examples are run.
pub fn documentation() -> Vec<Page> {
    let mut pages = in_directory("docs");
    assert!(pages.len() > 8, "only {} pages in docs/", pages.len());
    pages.push(Page::read(&root().join("README.md")));
    pages
}

/// These, and the READMEs of what stands beside the library.
pub fn everything() -> Vec<Page> {
    let mut pages = documentation();
    pages.push(Page::read(&root().join("CHANGELOG.md")));
    pages.extend(in_directory("c_tests"));
    for beside in ["bindings", "integrations"] {
        for part in children(&root().join(beside)) {
            pages.extend(in_directory(part.strip_prefix(root()).unwrap()));
        }
    }
    pages
}

fn in_directory(directory: impl AsRef<Path>) -> Vec<Page> {
    let files = children(&root().join(directory));
    let markdown = files
        .iter()
        .filter(|file| file.extension() == Some("md".as_ref()));
    markdown.map(|file| Page::read(file)).collect()
}

/// What is in a directory, in order; nothing where there is none.
fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

impl Page {
    pub fn read(path: &Path) -> Page {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (mut blocks, mut prose) = (Vec::<Block>::new(), Vec::new());
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                inside = !inside;
                if inside {
                    let (language, text) = (language.to_owned(), String::new());
                    blocks.push(Block {
                        language,
                        line: number + 1,
                        text,
                    });
                }
            } else if inside {
                blocks.last_mut().unwrap().text += &format!("{line}\n");
            } else {
                prose.push(line.to_owned());
            }
        }
        assert!(!inside, "{}: a block is not closed", path.display());
        let path = path.to_owned();
        Page {
            path,
            blocks,
            prose,
        }
    }

    /// As it is told of in a message.
    pub fn name(&self) -> String {
        self.path
            .strip_prefix(root())
            .unwrap()
            .display()
            .to_string()
    }

    pub fn place(&self, block: &Block) -> String {
        format!("{}:{}", self.name(), block.line)
    }

    pub fn in_language<'a>(&'a self, language: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks
            .iter()
            .filter(move |block| block.language == language)
    }

    /// Where links may lead in this page, as forges name it.
    pub fn anchors(&self) -> Vec<String> {
        let mut seen = BTreeMap::<String, usize>::new();
        let titles = self.prose.iter().filter(|line| line.starts_with('#'));
        let anchor = |title: &String| {
            let slug = slug(title.trim_start_matches('#').trim());
            let times = seen.entry(slug.clone()).or_default();
            *times += 1;
            if *times == 1 {
                slug
            } else {
                format!("{slug}-{}", *times - 1)
            }
        };
        titles.map(anchor).collect()
    }

    /// What links and pictures lead to.
    pub fn links(&self) -> Vec<String> {
        let prose = self.prose.join("\n");
        let targets = prose.split("](").skip(1);
        targets
            .filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()))
            .collect()
    }

    /// The cells of all tables, row by row.
    pub fn rows(&self) -> impl Iterator<Item = Vec<&str>> {
        let rows = self.prose.iter().filter_map(|line| line.strip_prefix("| "));
        rows.map(|row| row.trim_end_matches(" |").split(" | ").collect())
    }
}

/// Letters, digits, - and _ of a title, small, with - for a blank.
fn slug(title: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let small = title.to_lowercase();
    small
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}
