//! The packed data, read in place: a header of places, then sections of little-endian numbers. The packer writes it.

/// The first bytes; the digit changes with the format.
pub const MAGIC: &[u8; 8] = b"ASSAYTB4";
/// The most features, and the most factors.
pub const FEATURES: usize = 128;
pub const FACTORS: usize = 32;

/// The sections, each with its offset and length in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Section {
    /// [`Shape`], u32 each.
    Shape,
    /// Numbers of f64: points for one of the margin, the score at a margin of 0, where the margin starts.
    Scale,
    /// The expressions of the features, one after the other.
    Code,
    /// Nodes of all trees, 16 bytes each: see [`Node`].
    Nodes,
    /// f32 for each node: the mean of its leaves. Empty with [`Shape::Shapley`].
    Means,
    /// f64 for each leaf.
    Leaves,
    /// Pairs of u32 for each tree: its first node, its first leaf.
    Trees,
    /// u32 words: sets of categories as bits.
    Categories,
    /// u32 for each feature and one more: where its edges begin.
    EdgeStarts,
    /// f64: the edges of the bins of a scorecard.
    Edges,
    /// f64: what each bin adds; of a feature one more than it has edges, and one where it is absent.
    Cells,
    /// u8 for each feature: its factor.
    FactorOf,
    /// u32 for each factor: the most points that it can add.
    Possible,
    /// u32: the lowest scores of the deciles 2 to 10.
    Deciles,
    /// Pairs of u32: offset and length in `Texts`.
    TextPlaces,
    Texts,
    /// f64: the days of the claim, then [`RATE`] numbers for each of its rates: range, low, estimate, high. Empty where the
    /// model claims nothing.
    Claims,
    /// f64 for each node, with [`Shape::Shapley`]: the share of the training data below it that goes left.
    Shares,
    /// [`EDGES`] of i32 for each factor: the lowest points of the ratings above the lowest. Empty if ratings are shares of
    /// the possible points.
    Ratings,
    /// The columns of a linear model or a network, [`COLUMN`] bytes each: see [`Column`].
    Columns,
    /// Pairs of u32 for each layer: its units, what follows their sums.
    Layers,
    /// f64, or f32 with [`Shape::Single`]: for each layer the weights of each unit, then a bias for each unit.
    Weights,
    /// f64: how the margin is calibrated, what is, the factor of its log-odds, what the score is linear in; then a and b, or
    /// steps and their probabilities. Empty if the score is linear in the margin.
    Link,
}

/// The edges between the ratings of a factor.
pub const EDGES: usize = 4;

/// The numbers of one rate of a claim.
pub const RATE: usize = 4;

/// The number of sections.
pub const SECTIONS: usize = 23;
/// The bytes of the header.
pub const HEADER: usize = 8 + 8 * SECTIONS;

/// The numbers of the section `Shape`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    Features,
    Factors,
    Trees,
    /// 1 where figures and sums have single precision, as in XGBoost.
    Single,
    /// 1 where a figure goes left below a threshold, 0 where it also does at the threshold.
    Strict,
    /// 1 where the parts of features are Shapley values, 0 where they are the changes of the mean on the way down (Saabas).
    Shapley,
}

/// The most splits on a way down a tree whose parts are Shapley values.
pub const SHAPLEY_DEPTH: usize = 32;

/// The texts before those of the factors: version and title, authors and inputs with a line each, outcome and population of
/// the claim.
pub const VERSION: usize = 0;
pub const TITLE: usize = 1;
pub const AUTHORS: usize = 2;
pub const READS: usize = 3;
pub const OUTCOME: usize = 4;
pub const POPULATION: usize = 5;
/// The label of the first factor; its text follows.
pub const FACTOR: usize = 6;

/// Bits of [`Node::flags`].
pub const DEFAULT_LEFT: u8 = 1;
/// An absent figure, or one of zero, takes the default way; as does an absent one alone with `MISSING_NAN`. Without either,
/// an absent figure counts as zero.
pub const MISSING_ZERO: u8 = 2;
pub const MISSING_NAN: u8 = 4;
/// The threshold is a set of categories, by its start and length; its members go left.
pub const CATEGORIES: u8 = 8;
/// With `CATEGORIES`: members go right, as in XGBoost.
pub const MEMBERS_RIGHT: u8 = 16;

/// One node of a tree. A negative child is a leaf, as its complement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    pub threshold: [u8; 8],
    pub feature: u8,
    pub flags: u8,
    pub left: i16,
    pub right: i16,
}

impl Node {
    pub fn bytes(self) -> [u8; 16] {
        let ([a, b, c, d, e, f, g, h], [l, m], [r, s]) =
            (self.threshold, self.left.to_le_bytes(), self.right.to_le_bytes());
        [a, b, c, d, e, f, g, h, self.feature, self.flags, l, m, r, s, 0, 0]
    }

    #[inline]
    fn read([a, b, c, d, e, f, g, h, feature, flags, l, m, r, s, _, _]: [u8; 16]) -> Self {
        let child = i16::from_le_bytes;
        Self { threshold: [a, b, c, d, e, f, g, h], feature, flags, left: child([l, m]), right: child([r, s]) }
    }
}

/// The bytes of a column, and of a layer.
pub const COLUMN: usize = 64;
pub const LAYER: usize = 8;

/// One input of a network: a figure on another scale, or whether it is in a category.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    pub feature: usize,
    pub kind: Kind,
    /// The figure in place of an absent one; NaN if there is none.
    pub fill: f64,
    /// The column is `factor * figure + offset`, at least `low` and at most `high`. With [`Kind::Equal`], `offset` is the
    /// category.
    pub factor: f64,
    pub offset: f64,
    pub low: f64,
    pub high: f64,
    /// Its mean in the training.
    pub mean: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Number,
    /// 1 if the whole part of the figure is `offset`, else 0; also 0 if it is absent.
    Equal,
    /// 1 if the figure is absent, else 0.
    Absent,
}

impl Column {
    pub fn bytes(self) -> [u8; COLUMN] {
        let head = (self.feature as u32, self.kind as u32);
        let numbers = [self.fill, self.factor, self.offset, self.low, self.high, self.mean];
        let mut bytes = [0; COLUMN];
        let all = head.0.to_le_bytes().into_iter().chain(head.1.to_le_bytes());
        let all = all.chain(numbers.into_iter().flat_map(f64::to_le_bytes));
        bytes.iter_mut().zip(all).for_each(|(byte, new)| *byte = new);
        bytes
    }

    pub fn read(bytes: &[u8; COLUMN]) -> Self {
        let kind = match number(bytes, 1) {
            0 => Kind::Number,
            1 => Kind::Equal,
            _ => Kind::Absent,
        };
        let [fill, factor, offset, low, high, mean] = [1, 2, 3, 4, 5, 6].map(|at| double(bytes, at));
        Self { feature: number(bytes, 0) as usize, kind, fill, factor, offset, low, high, mean }
    }

    /// The column of a wallet. NaN if its figure is absent and nothing stands for it.
    pub fn value(&self, figures: &[f64], is_single: bool) -> f64 {
        let figure = figures.get(self.feature).copied().unwrap_or(f64::NAN);
        let figure = if is_single { f64::from(figure as f32) } else { figure };
        let filled = if figure.is_nan() { self.fill } else { figure };
        match self.kind {
            Kind::Number => bounded(self.factor * filled + self.offset, self.low, self.high),
            Kind::Equal => f64::from(u8::from(libm::trunc(filled) == self.offset)),
            Kind::Absent => f64::from(u8::from(figure.is_nan())),
        }
    }
}

/// NaN stays as it is.
fn bounded(value: f64, low: f64, high: f64) -> f64 {
    let value = if value < low { low } else { value };
    if value > high { high } else { value }
}

/// The data of one model.
#[derive(Clone, Copy)]
pub struct Data<'a>(&'a [u8]);

impl<'a> Data<'a> {
    /// `None` for bytes of another format.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() >= HEADER && bytes.starts_with(MAGIC)).then_some(Self(bytes))
    }

    /// The bytes of a section; empty where they are not there.
    #[inline]
    pub fn section(self, section: Section) -> &'a [u8] {
        let header = self.0.get(8..HEADER).unwrap_or_default();
        let (start, length) = (number(header, 2 * section as usize), number(header, 2 * section as usize + 1));
        let from = self.0.get(start as usize..).unwrap_or_default();
        from.get(..length as usize).unwrap_or_default()
    }

    #[inline]
    pub fn shape(self, shape: Shape) -> usize {
        number(self.section(Section::Shape), shape as usize) as usize
    }

    pub fn factor_of(self, feature: usize) -> usize {
        self.section(Section::FactorOf).get(feature).copied().map_or(0, usize::from)
    }

    pub fn possible(self, factor: usize) -> u32 {
        number(self.section(Section::Possible), factor)
    }

    /// A text by its place.
    pub fn text(self, at: usize) -> &'a [u8] {
        let places = self.section(Section::TextPlaces);
        let (start, length) = (number(places, 2 * at) as usize, number(places, 2 * at + 1) as usize);
        self.section(Section::Texts).get(start..).and_then(|from| from.get(..length)).unwrap_or_default()
    }

    /// The same where it is a plain text.
    pub fn plain(self, at: usize) -> &'a str {
        str::from_utf8(self.text(at)).unwrap_or_default()
    }
}

/// The number of four bytes at a place; 0 beyond the end.
#[inline]
pub fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.as_chunks().0.get(at).map_or(0, |number| u32::from_le_bytes(*number))
}

#[inline]
pub fn single(bytes: &[u8], at: usize) -> f64 {
    bytes.as_chunks().0.get(at).map_or(0.0, |number| f64::from(f32::from_le_bytes(*number)))
}

#[inline]
pub fn double(bytes: &[u8], at: usize) -> f64 {
    bytes.as_chunks().0.get(at).map_or(0.0, |number| f64::from_le_bytes(*number))
}

/// The node at a place of the section `Nodes`.
#[inline]
pub fn node(bytes: &[u8], at: usize) -> Option<Node> {
    bytes.as_chunks().0.get(at).map(|node| Node::read(*node))
}
