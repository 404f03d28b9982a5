//! The problems of `[access.x402]` that an operator sees before the first payment.

use alloy::primitives::Address;
use assay_tests::payment::{Till, USDC};

use crate::{check_config::check, run};

#[test]
fn an_asset_that_is_not_what_the_configuration_says_is_found_beforehand() {
    run(async {
        let till = Till::start().await;
        // The account of the test chain owns an agent. The check reports this too, but it does not concern payments.
        let check = |x402: &str| check(&till.config(till.world.chain.url(), x402));
        let (_, out, err) = check("");
        assert!(!err.contains("access.x402"), "{err}");
        let terms = format!(
            "0.1 USD Coin for a submission, to {} in {USDC} on base, settled by the account of [reputation]",
            till.pay_to
        );
        assert!(out.contains(&terms) && !out.contains("no effect"), "{out}");
        for (x402, said) in [
            ("domain_name = \"USDC\"", "another EIP-712 domain than \"USDC\""),
            ("domain_version = \"1\"", "another EIP-712 domain"),
            ("decimals = 18", "has 6 decimals, not 18"),
            (&format!("asset = \"{}\"", till.world.identity), "ERC-3009"),
        ] {
            let (code, _, err) = check(x402);
            assert_eq!(code, Some(1));
            assert!(err.contains("asset of access.x402") && err.contains(said), "{said} not in {err}");
        }
    });
}

#[test]
fn terms_that_nobody_can_pay_by_are_refused() {
    run(async {
        let till = Till::start().await;
        let good = till.config(till.world.chain.url(), "");
        let to = format!("pay_to = \"{}\"", till.pay_to);
        for (config, said) in [
            (good.replace(&to, ""), "access.x402.pay_to: missing"),
            (good.replace(&to, &format!("pay_to = \"{}\"", Address::ZERO)), "access.x402.pay_to"),
            (good.replace("network = \"base\"", "network = \"gold\""), "access.x402.network: not a network"),
            (
                good.replace("network = \"base\"", "network = \"eip155:84532\""),
                "access.x402.facilitator: local, but on another chain",
            ),
            (good.replace("network = \"base\"", "network = \"polygon\""), "access.x402.asset: missing"),
            (good.clone() + "price = 0", "access.x402.price"),
            (good.clone() + "facilitator = \"somewhere\"", "access.x402.facilitator"),
            (good.clone() + "base_url = \"ftp://assay.example\"", "access.x402.base_url"),
            (good.clone() + "settle_ms = 30_000", "access.x402.settle_ms"),
            (good.clone() + "valid_seconds = 5", "access.x402.valid_seconds"),
            (good.clone() + &format!("asset = \"{}\"", till.pay_to), "access.x402.asset"),
        ] {
            let (code, _, err) = check(&config);
            assert_eq!(code, Some(1));
            assert!(err.contains(said), "{said} not in {err}");
        }
    });
}
