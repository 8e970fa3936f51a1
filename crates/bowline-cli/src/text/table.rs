//! Tables: headings, and columns that are aligned whatever is in them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Look, Paint};

/// Rows below headings. The last column is as wide as it is.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<(String, Option<Look>)>>,
}

impl Table {
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// A row, a text for each heading.
    pub(crate) fn row(&mut self, cells: Vec<(String, Option<Look>)>) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.rows.push(cells);
    }

    /// The lines of it. A column in which nothing stands is left out.
    pub(crate) fn lines(&self, paint: Paint) -> Vec<String> {
        let widest = |at: usize| self.rows.iter().map(|row| row[at].0.width()).max().unwrap_or(0);
        let columns: Vec<(usize, usize)> = (0..self.heads.len())
            .map(|at| (at, widest(at)))
            .filter(|(_, width)| *width > 0)
            .map(|(at, width)| (at, width.max(self.heads[at].width())))
            .collect();
        let line = |cells: &[(String, Option<Look>)]| {
            let mut line = String::new();
            let mut gap = 0;
            for (at, width) in &columns {
                let (text, look) = &cells[*at];
                if !text.is_empty() {
                    line.push_str(&" ".repeat(gap));
                    line.push_str(
                        &look.map_or_else(|| text.clone(), |look| paint.text(look, text)),
                    );
                    gap = 0;
                }
                gap += width - text.width() + 2;
            }
            line
        };
        let heads: Vec<_> =
            self.heads.iter().map(|head| ((*head).to_owned(), Some(Look::Faint))).collect();
        std::iter::once(line(&heads)).chain(self.rows.iter().map(|row| line(row))).collect()
    }
}

/// The beginning of a line that fits into so many columns. Colours take none.
pub(crate) fn fit(line: &str, most: usize) -> String {
    let (mut taken, mut is_code) = (0, false);
    let mut kept = String::new();
    for c in line.chars() {
        is_code = is_code || c == '\x1b';
        if is_code {
            is_code = c != 'm';
            kept.push(c);
            continue;
        }
        taken += c.width().unwrap_or(0);
        if taken > most {
            // What was begun ends here.
            if kept.contains('\x1b') {
                kept.push_str("\x1b[0m");
            }
            return kept;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let plain = |texts: [&str; 4]| texts.map(|text| (text.to_owned(), None)).to_vec();
        let mut table = Table::new(&["ID", "STATE", "PARENT", "WHY"]);
        table.row(plain(["a", "running", "", ""]));
        table.row(plain(["箱", "", "", "late"]));
        assert_eq!(
            table.lines(Paint(false)),
            ["ID  STATE    WHY", "a   running", "箱           late"],
            "a wide letter takes two columns, and nothing trails"
        );
        let coloured = table.lines(Paint(true));
        assert_eq!(coloured[1], "a   running");
        assert_eq!(coloured[0], "\x1b[2mID\x1b[0m  \x1b[2mSTATE\x1b[0m    \x1b[2mWHY\x1b[0m");
    }

    #[test]
    fn a_line_is_cut_where_it_does_not_fit() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abc", 2), "ab");
        assert_eq!(fit("箱箱", 3), "箱");
        assert_eq!(fit("\x1b[31mabc\x1b[0m", 2), "\x1b[31mab\x1b[0m");
        assert_eq!(fit("\x1b[31mab\x1b[0m", 2), "\x1b[31mab\x1b[0m");
    }
}
