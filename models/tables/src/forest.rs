//! Trees of the packed data, and the leaf that the figures of a wallet reach in each.

use crate::data::{
    CATEGORIES, DEFAULT_LEFT, Data, FEATURES, MEMBERS_RIGHT, MISSING_NAN, MISSING_ZERO, Node, Section, Shape, double,
    node, number, single,
};

/// A number for each feature.
pub type Values = [f64; FEATURES];

/// LightGBM counts a figure this close to zero as zero.
const ZERO: f64 = 1e-35_f32 as f64;
/// XGBoost counts a category from here on as none of a set.
const LARGEST_CATEGORY: f64 = 16_777_216.0;

/// The sections of the trees, found once.
pub struct Forest<'a> {
    pub nodes: &'a [u8],
    means: &'a [u8],
    pub shares: &'a [u8],
    pub leaves: &'a [u8],
    trees: &'a [u8],
    categories: &'a [u8],
    strict: bool,
}

impl<'a> Forest<'a> {
    pub fn new(data: Data<'a>) -> Self {
        Self {
            nodes: data.section(Section::Nodes),
            means: data.section(Section::Means),
            shares: data.section(Section::Shares),
            leaves: data.section(Section::Leaves),
            trees: data.section(Section::Trees),
            categories: data.section(Section::Categories),
            strict: data.shape(Shape::Strict) == 1,
        }
    }

    /// The leaf that the figures reach. Each step adds the change of the mean to its feature (Saabas).
    pub fn leaf(&self, tree: usize, values: &Values, parts: &mut Values) -> f64 {
        let (first, leaves, mut at) = self.root(tree);
        let mut before = single(self.means, first);
        while let Ok(place) = usize::try_from(at) {
            let Some(node) = node(self.nodes, first + place) else { return f64::NAN };
            at = if self.goes_left(node, values) { node.left } else { node.right };
            let now = match usize::try_from(at) {
                Ok(place) => single(self.means, first + place),
                Err(_) => double(self.leaves, leaves + leaf_place(at)),
            };
            if let Some(part) = parts.get_mut(usize::from(node.feature)) {
                *part += now - before;
            }
            before = now;
        }
        double(self.leaves, leaves + leaf_place(at))
    }

    /// The first node and the first leaf of a tree, and where it begins: a tree without a split is one leaf.
    pub fn root(&self, tree: usize) -> (usize, usize, i16) {
        let place = |at: usize| number(self.trees, 2 * tree + at) as usize;
        (place(0), place(1), if place(2) == place(0) { -1 } else { 0 })
    }

    #[inline]
    pub fn goes_left(&self, node: Node, values: &Values) -> bool {
        let value = values.get(usize::from(node.feature)).copied().unwrap_or(f64::NAN);
        let is = |flag| node.flags & flag != 0;
        if is(CATEGORIES) {
            return self.category_goes_left(node, value);
        }
        let absent = value.is_nan();
        if (absent && is(MISSING_NAN)) || (is(MISSING_ZERO) && (absent || value.abs() <= ZERO)) {
            return is(DEFAULT_LEFT);
        }
        let (value, threshold) = (if absent { 0.0 } else { value }, f64::from_le_bytes(node.threshold));
        if self.strict { value < threshold } else { value <= threshold }
    }

    fn category_goes_left(&self, node: Node, value: f64) -> bool {
        let members_right = node.flags & MEMBERS_RIGHT != 0;
        if value.is_nan() {
            return members_right && node.flags & DEFAULT_LEFT != 0;
        }
        let [a, b, c, d, e, f, g, h] = node.threshold;
        let (start, words) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let whole = value as u32;
        // LightGBM cuts off the fraction before it looks at the sign.
        let in_range = value < LARGEST_CATEGORY && (value >= 0.0 || (value > -1.0 && !members_right));
        let in_set = in_range
            && whole / 32 < words
            && number(self.categories, (start + whole / 32) as usize) >> (whole % 32) & 1 == 1;
        in_set != members_right
    }
}

pub fn leaf_place(at: i16) -> usize {
    usize::try_from(!at).unwrap_or(0)
}
