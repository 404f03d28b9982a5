//! The arithmetic of a vault's storage. A position has a tick, which is its debt for each unit of collateral, in steps
//! of 0.15 %. `None` if the contract would revert.

use alloy::primitives::U256;

const MOST_TICK: u32 = 32_767;
/// 2^128 divided by 1.0015 to the power of 1, 2, 4, and so on.
const FACTORS: [u128; 15] = [
    0xff9d_d7de_4234_66c2_0352_b124_6ce4_856f,
    0xff3b_d55f_4488_ad27_7531_fa1c_725a_66d0,
    0xfe78_410f_d649_8b73_cb96_a691_7f85_3259,
    0xfcf2_d998_7c9b_e178_ad5b_feff_aa12_3273,
    0xf9ef_02c4_5292_58b0_5776_9680_fc66_01b3,
    0xf402_d288_133a_85a1_7784_a411_f7ab_a082,
    0xe895_615b_5beb_6386_5537_57b0_352b_da90,
    0xd34f_17a0_0ffa_00a8_3099_40a1_5930_391a,
    0xae6b_7961_714e_2054_8d88_ea51_23f9_a0ff,
    0x76d6_461f_2708_2d74_e0fe_ed3b_388c_0ca1,
    0x372a_3bfe_0745_d8b6_b19d_985d_9a8b_85bb,
    0x0be3_2cbe_e489_7976_3cf7_247d_d7bb_539d,
    0x008d_4f70_c9ff_4924_dac3_7612_d1e2_921e,
    0x0000_4e00_9ae5_5193_8080_9a02_ca7a_ec77,
    0x0000_0000_17c4_5e64_1b6e_95de_e056_ff10,
];

/// The debt for each unit of collateral at `tick`, times 2^96.
pub(super) fn ratio(tick: i32) -> Option<U256> {
    let steps = tick.unsigned_abs();
    if steps > MOST_TICK {
        return None;
    }
    let mut factor = U256::ONE << 128_usize;
    for (bit, of) in FACTORS.iter().enumerate().filter(|(bit, _)| (steps >> bit) & 1 == 1) {
        // The first factor is not rounded.
        factor = if bit == 0 { U256::from(*of) } else { factor.checked_mul(U256::from(*of))? >> 128_usize };
    }
    if tick < 0 {
        return Some(factor >> 32_usize);
    }
    let inverse = U256::MAX.checked_div(factor)?;
    let whole: U256 = inverse >> 32_usize;
    let is_rounded = inverse.as_limbs().first().is_some_and(|low| low & 0xffff_ffff != 0);
    whole.checked_add(U256::from(is_rounded))
}

/// The bits of `word` from `start` on.
pub(super) fn bits(word: U256, start: usize, width: usize) -> U256 {
    (word >> start) & ((U256::ONE << width).wrapping_sub(U256::ONE))
}

/// The same as a number of at most 32 bits.
pub(super) fn small(word: U256, start: usize, width: usize) -> u32 {
    u32::try_from(bits(word, start, width.min(32))).unwrap_or_default()
}

/// A number of 56 bits with an exponent of 8, which begins at `start`. `None` above 256 bits.
pub(super) fn big(word: U256, start: usize) -> Option<U256> {
    let (digits, exponent) = (bits(word, start.saturating_add(8), 56), bits(word, start, 8).to::<usize>());
    if digits.is_zero() {
        return Some(U256::ZERO);
    }
    (digits.bit_len().saturating_add(exponent) <= 256).then(|| digits << exponent)
}

/// The tick of 20 bits that begins at `start`, its sign first.
pub(super) fn tick(word: U256, start: usize) -> i32 {
    let steps = i32::try_from(small(word, start.saturating_add(1), 19)).unwrap_or_default();
    if bits(word, start, 1).is_zero() { -steps } else { steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_ends_that_the_contract_states() {
        // The library states one more, which its own function does not return.
        assert_eq!(ratio(-32_767), Some(U256::from(37_075_071)));
        let most = "169307877264527972847801929085841449095838922544595".parse::<U256>().unwrap();
        assert_eq!(ratio(32_767), Some(most));
        assert_eq!(ratio(0), Some(U256::ONE << 96_usize));
        assert_eq!((ratio(32_768), ratio(-32_768)), (None, None));
    }

    #[test]
    fn each_tick_is_a_step_of_15_hundredths_of_a_percent() {
        for tick in [-30_000, -4_097, -1, 0, 1, 777, 16_384, 32_000] {
            let step = f64::from(ratio(tick + 1).unwrap()) / f64::from(ratio(tick).unwrap());
            assert!((step - 1.0015).abs() < 1e-6, "{tick}: {step}");
        }
    }

    #[test]
    fn numbers_are_read_from_their_bits() {
        let word = (U256::from((5 << 8) | 3) << 45_usize) | (U256::from((9 << 1) | 1) << 1_usize);
        assert_eq!(big(word, 45), Some(U256::from(40)));
        assert_eq!((tick(word, 1), tick(U256::from(18 << 1), 1)), (9, -9));
        assert_eq!(big(U256::ZERO, 45), Some(U256::ZERO));
        assert_eq!(big(U256::MAX, 0), None, "56 bits times 2^255");
        assert_eq!(small(U256::MAX, 21, 24), (1 << 24) - 1);
    }
}
