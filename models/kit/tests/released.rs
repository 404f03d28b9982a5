//! The released models pass the kit's tests.

use assay_model::{
    Assessment, BoostModel, ChainValue, CreditModel, Factor, Features, MockReport, ModelInfo, OffChain, Refusal,
    RiskAssessment, SandboxModel, SybilModel, testing,
};

struct Credit10;

impl CreditModel for Credit10 {
    fn describe() -> ModelInfo {
        credit_1_0::describe()
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        credit_1_0::score(&features)
    }

    fn decile(score: u32) -> u8 {
        credit_1_0::decile(score)
    }
}

struct Credit11;

impl CreditModel for Credit11 {
    fn describe() -> ModelInfo {
        credit_1_1::describe()
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        credit_1_1::score(&features)
    }

    fn decile(score: u32) -> u8 {
        credit_1_1::decile(score)
    }
}

struct Sybil10;

impl SybilModel for Sybil10 {
    fn describe() -> ModelInfo {
        sybil_1_0::describe()
    }

    fn risk(features: Features) -> RiskAssessment {
        sybil_1_0::risk(&features)
    }
}

struct Boost10;

impl BoostModel for Boost10 {
    fn describe() -> ModelInfo {
        enhanced_boost::describe()
    }

    fn boost(score: u32, off_chain: OffChain) -> u32 {
        enhanced_boost::boost(score, &off_chain)
    }
}

struct Boost11;

impl BoostModel for Boost11 {
    fn describe() -> ModelInfo {
        enhanced_boost_1_1::describe()
    }

    fn boost(score: u32, off_chain: OffChain) -> u32 {
        enhanced_boost_1_1::boost(score, &off_chain)
    }
}

struct Sandbox10;

impl SandboxModel for Sandbox10 {
    fn describe() -> ModelInfo {
        sandbox::describe()
    }

    fn score(address: Vec<u8>) -> u32 {
        sandbox::score(&address)
    }

    fn boosted_score(address: Vec<u8>, off_chain: OffChain) -> u32 {
        sandbox::boosted_score(&address, &off_chain)
    }

    fn factors(address: Vec<u8>) -> Vec<Factor> {
        sandbox::factors(&address)
    }

    fn report(address: Vec<u8>) -> MockReport {
        sandbox::report(&address)
    }

    fn portfolio(address: Vec<u8>) -> Vec<ChainValue> {
        sandbox::portfolio(&address)
    }
}

struct Sandbox11;

impl SandboxModel for Sandbox11 {
    fn describe() -> ModelInfo {
        sandbox_1_1::describe()
    }

    fn score(address: Vec<u8>) -> u32 {
        sandbox_1_1::score(&address)
    }

    fn boosted_score(address: Vec<u8>, off_chain: OffChain) -> u32 {
        sandbox_1_1::boosted_score(&address, &off_chain)
    }

    fn factors(address: Vec<u8>) -> Vec<Factor> {
        sandbox_1_1::factors(&address)
    }

    fn report(address: Vec<u8>) -> MockReport {
        sandbox_1_1::report(&address)
    }

    fn portfolio(address: Vec<u8>) -> Vec<ChainValue> {
        sandbox_1_1::portfolio(&address)
    }
}

#[test]
fn every_released_model_passes() {
    testing::credit::<Credit10>(&[]);
    testing::credit::<Credit11>(&[]);
    testing::sybil::<Sybil10>(&[]);
    testing::boost::<Boost10>();
    testing::boost::<Boost11>();
    testing::sandbox::<Sandbox10>();
    testing::sandbox::<Sandbox11>();
}
