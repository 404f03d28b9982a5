//! Count, mean and variance of a figure, updated one value at a time.

/// Running moments (Welford, Technometrics 4, 1962), merged after Chan, Golub and LeVeque, "Updating Formulae and a
/// Pairwise Algorithm for Computing Sample Variances" (1979).
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// The sum of squared differences from the mean.
    squares: f64,
}

impl Moments {
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    pub fn merge(&mut self, other: &Self) {
        let count = self.count.saturating_add(other.count);
        if count == 0 {
            return;
        }
        let apart = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        self.squares += other.squares + apart * apart * self.count as f64 * share;
        self.mean += apart * share;
        self.count = count;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Divided by n - 1; `None` if there are fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }
}
