//! Exports a model that leaves the text of a panic behind, for `assay model try`, the log of a server and its audit log.
//! `export!` of this module does not: released models are built with it, and their bytes stay.

/// Exports a model like [`export!`](super::export), as `export_with_panics!(credit MyModel);`. Tools and servers then
/// show the text of a panic, with its file and line.
#[doc(hidden)]
#[macro_export]
macro_rules! export_v2_with_panics {
    (credit $model:ident) => {
        $crate::export_v2_with_panics!(credit $model CreditModel
            describe() -> $crate::v2::ModelInfo;
            score(features: $crate::v2::Features) -> Result<$crate::v2::Verdict, $crate::v2::Refusal>;
            explain(features: $crate::v2::Features) -> Result<Vec<$crate::v2::Factor>, $crate::v2::Refusal>;
            decile(score: u32) -> u8;
        );
    };
    (boost $model:ident) => {
        $crate::export_v2_with_panics!(boost $model BoostModel
            describe() -> $crate::v2::ModelInfo;
            boost(score: u32, off_chain: $crate::v2::OffChain) -> u32;
        );
    };
    (sybil $model:ident) => {
        $crate::export_v2_with_panics!(sybil $model SybilModel
            describe() -> $crate::v2::ModelInfo;
            risk(features: $crate::v2::Features) -> $crate::v2::RiskVerdict;
            explain(features: $crate::v2::Features) -> Vec<$crate::v2::Factor>;
        );
    };
    (sandbox $model:ident) => {
        $crate::export_v2_with_panics!(sandbox $model SandboxModel
            describe() -> $crate::v2::ModelInfo;
            score(address: Vec<u8>) -> u32;
            boosted_score(address: Vec<u8>, off_chain: $crate::v2::OffChain) -> u32;
            factors(address: Vec<u8>) -> Vec<$crate::v2::Factor>;
            report(address: Vec<u8>) -> $crate::v2::MockReport;
            portfolio(address: Vec<u8>) -> Vec<$crate::v2::ChainValue>;
            scenarios() -> Vec<$crate::v2::Scenario>;
            behaviour_of(subject: $crate::v2::Subject) -> Option<$crate::v2::Behaviour>;
        );
    };
    ($kind:ident $model:ident $contract:ident
        $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        const _: fn() -> $crate::v2::ModelInfo = <$model as $crate::v2::$contract>::describe;
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Told;
            impl $crate::v2::$contract for Told {
                $(fn $name($($argument: $type),*) -> $answer {
                    $crate::panics::tell();
                    <$model as $crate::v2::$contract>::$name($($argument),*)
                })*
            }
            $crate::v2::bindings::$kind::export!(Told with_types_in $crate::v2::bindings::$kind);
        };
    };
}
