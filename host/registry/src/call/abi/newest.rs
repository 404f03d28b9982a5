//! The generated bindings of `wit/v2`. All versions use its types for answers.

wasmtime::component::bindgen!({
    path: "../../wit/v2",
    inline: "
        package assay:host;
        world every-kind {
            export assay:model/credit@2.0.0;
            export assay:model/boost@2.0.0;
            export assay:model/sybil@2.0.0;
            export assay:model/sandbox@2.0.0;
        }",
    world: "assay:host/every-kind",
    // Features are lowered from borrowed slices: the only copy is the one into the guest.
    ownership: Borrowing { duplicate_if_necessary: false },
});
