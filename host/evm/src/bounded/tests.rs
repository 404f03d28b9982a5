use super::*;

fn call(gas: u32, most: u16) -> Bounded {
    Bounded { to: Address::repeat_byte(7), data: Bytes::from_static(&[1; 36]), gas, most }
}

/// An answer as the code gives it.
fn answer(outcomes: &[(bool, u64, &[u8])]) -> Vec<u8> {
    let mut answer = MAGIC.to_vec();
    for (success, size, data) in outcomes {
        answer.extend([&[0; 23], [u8::from(*success)].as_slice(), &size.to_be_bytes(), data].concat());
    }
    answer
}

#[test]
fn outcomes_are_those_of_the_calls_that_were_made() {
    let calls = [call(1, 4), call(1, 4), call(1, 4), call(1, 4)];
    let whole = answer(&[(true, 4, b"here"), (false, 3, b"why"), (true, 5, b"")]);
    let expected = [
        CallOutcome::Returned(Bytes::from_static(b"here")),
        CallOutcome::Reverted(Bytes::from_static(b"why")),
        CallOutcome::TooLong,
    ];
    assert_eq!(outcomes(&whole, &calls).unwrap(), expected, "the fourth was not made");
    assert_eq!(outcomes(&whole, &calls[..2]), None, "more answers than calls");
    for broken in [b"".as_slice(), &[0; 64], &whole[..whole.len() - 33]] {
        assert_eq!(outcomes(broken, &calls), None, "{broken:?}");
    }
}

#[test]
fn what_surely_fits_has_gas_for_each_call_at_its_limit() {
    let calls = vec![call(500_000, 1_024); 200];
    assert_eq!(fitting(&calls, 120, false), 120);
    let sure = fitting(&calls, 120, true);
    assert!((15..30).contains(&sure), "{sure}");
    assert!(sure as u64 * 500_000 < REQUEST_GAS);
    assert_eq!(fitting(&[call(u32::MAX, 0)], 1, true), 0);
}

#[test]
fn calls_that_are_too_large_have_no_code() {
    let large = Bounded { data: vec![0; MAX_CALLS].into(), ..call(1, 1) };
    assert_eq!((code(std::slice::from_ref(&large)), fitting(&[large], 1, false)), (None, 0));
    let code = code(&[call(1, 1)]).unwrap();
    assert!(code.ends_with(&[1; 36]) && !code.contains(&0x5f), "no PUSH0");
}
