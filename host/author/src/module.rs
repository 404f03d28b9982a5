//! Adds the data of a model to the released core module of `models/tables`, in new pages after its memory.

use std::convert::Infallible;

use assay_domain::ModelKind;
use wasm_encoder::{
    ConstExpr, DataSection, MemoryType, Module,
    reencode::{Error, Reencode, utils},
};
use wasmparser::{DataKind, DataSectionReader, Parser};

use crate::packed::number;

/// Built by `make models` from `models/tables`.
const CREDIT: &[u8] = include_bytes!("tables-2.2.wasm");
const SYBIL: &[u8] = include_bytes!("tables-sybil-2.2.wasm");
/// The address and the length of the data follow these bytes.
const MARK: &[u8; 16] = b"ASSAY-TABLE-DATA";
const PAGE: usize = 64 << 10;

/// The core module of a credit or sybil model with `data`.
///
/// # Errors
/// The released module cannot be read, or has no place for data.
pub(crate) fn with(kind: ModelKind, data: &[u8]) -> Result<Vec<u8>, String> {
    let released = if kind == ModelKind::Sybil { SYBIL } else { CREDIT };
    let (mut module, mut with) = (Module::new(), With { data, address: 0, marked: false });
    with.parse_core_module(&mut module, Parser::new(0), released).map_err(|error| error.to_string())?;
    if with.marked { Ok(module.finish()) } else { Err("the released module has no place for data".into()) }
}

struct With<'a> {
    data: &'a [u8],
    /// Where the module's own memory ends and the data begins.
    address: u32,
    marked: bool,
}

impl Reencode for With<'_> {
    type Error = Infallible;

    fn memory_type(&mut self, memory: wasmparser::MemoryType) -> Result<MemoryType, Error> {
        let pages = memory.initial + self.data.len().div_ceil(PAGE) as u64;
        self.address = number(usize::try_from(memory.initial).unwrap_or(0).saturating_mul(PAGE));
        Ok(MemoryType { minimum: pages, ..utils::memory_type(self, memory) })
    }

    fn data_count(&mut self, count: u32) -> Result<u32, Error> {
        Ok(count + 1)
    }

    fn parse_data_section(&mut self, out: &mut DataSection, section: DataSectionReader<'_>) -> Result<(), Error> {
        for segment in section {
            let segment = segment?;
            let mut bytes = segment.data.to_vec();
            let mark = bytes.windows(MARK.len()).position(|bytes| bytes == MARK);
            if let Some(place) = mark.and_then(|at| bytes.get_mut(at + MARK.len()..at + MARK.len() + 8)) {
                let place_of = self.address.to_le_bytes().into_iter().chain(number(self.data.len()).to_le_bytes());
                place.iter_mut().zip(place_of).for_each(|(byte, new)| *byte = new);
                self.marked = true;
            }
            match segment.kind {
                DataKind::Active { memory_index, offset_expr } => {
                    let offset = self.const_expr(offset_expr)?;
                    out.active(memory_index, &offset, bytes);
                }
                DataKind::Passive => {
                    out.passive(bytes);
                }
            }
        }
        out.active(0, &ConstExpr::i32_const(self.address.cast_signed()), self.data.iter().copied());
        Ok(())
    }
}
