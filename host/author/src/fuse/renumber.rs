//! The indices of a module in the one module.

use std::collections::HashMap;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasmparser::{ConstExpr, FunctionBody, Operator};

/// An index that means nothing in its module.
#[derive(Debug)]
pub(crate) struct Unknown(u32);

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the index {} means nothing", self.0)
    }
}

impl std::error::Error for Unknown {}

/// The new index, in the linked module, of each index of one module.
#[derive(Default)]
pub(crate) struct Renumber {
    pub types: u32,
    pub functions: Vec<u32>,
    /// Where each table begins in the one table.
    pub tables: Vec<u32>,
    pub memories: Vec<u32>,
    pub globals: Vec<u32>,
    pub data: u32,
    pub elements: u32,
    /// The values of globals that never change, by their index in the one module.
    pub constants: HashMap<u32, i32>,
}

impl Renumber {
    /// Adds a function to `code`. A call through a table that begins further up finds its functions there.
    pub(crate) fn body(&mut self, body: FunctionBody<'_>, code: &mut wasm_encoder::CodeSection) -> Result<(), String> {
        let text = |error: Error<Unknown>| error.to_string();
        if self.tables.iter().all(|place| *place == 0) {
            return self.parse_function_body(code, body).map_err(text);
        }
        let mut function = self.new_function_with_parsed_locals(&body).map_err(text)?;
        for operator in body.get_operators_reader().map_err(|error| error.to_string())? {
            let operator = operator.map_err(|error| error.to_string())?;
            match operator {
                Operator::CallIndirect { table_index, .. } => {
                    let place = own(&self.tables, table_index).map_err(text)?;
                    function.instructions().i32_const(place.cast_signed()).i32_add();
                }
                Operator::ReturnCallIndirect { .. }
                | Operator::TableGrow { .. }
                | Operator::TableGet { .. }
                | Operator::TableSet { .. }
                | Operator::TableCopy { .. }
                | Operator::TableFill { .. }
                | Operator::TableInit { .. }
                | Operator::TableSize { .. } => return Err("a module works on a table that it shares".into()),
                _ => {}
            }
            function.instruction(&self.instruction(operator).map_err(text)?);
        }
        code.function(&function);
        Ok(())
    }

    /// The number that a constant expression comes to, if that is known before the start.
    pub(crate) fn value(&self, expression: &ConstExpr<'_>) -> Option<i32> {
        let (mut operators, mut stack) = (expression.get_operators_reader(), Vec::new());
        loop {
            match operators.read().ok()? {
                Operator::GlobalGet { global_index } => {
                    stack.push(*self.constants.get(&own(&self.globals, global_index).ok()?)?);
                }
                Operator::I32Const { value } => stack.push(value),
                Operator::I32Add => {
                    let (right, left): (i32, i32) = (stack.pop()?, stack.pop()?);
                    stack.push(left.wrapping_add(right));
                }
                Operator::I32Sub => {
                    let (right, left) = (stack.pop()?, stack.pop()?);
                    stack.push(left.wrapping_sub(right));
                }
                Operator::End => return stack.pop(),
                _ => return None,
            }
        }
    }
}

fn own(indices: &[u32], index: u32) -> Result<u32, Error<Unknown>> {
    let found = usize::try_from(index).ok().and_then(|index| indices.get(index));
    found.copied().ok_or(Error::UserError(Unknown(index)))
}

impl Reencode for Renumber {
    type Error = Unknown;

    fn type_index(&mut self, index: u32) -> Result<u32, Error<Unknown>> {
        Ok(index.saturating_add(self.types))
    }

    fn function_index(&mut self, index: u32) -> Result<u32, Error<Unknown>> {
        own(&self.functions, index)
    }

    fn table_index(&mut self, _: u32) -> Result<u32, Error<Unknown>> {
        Ok(0)
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, Error<Unknown>> {
        own(&self.memories, index)
    }

    fn global_index(&mut self, index: u32) -> Result<u32, Error<Unknown>> {
        own(&self.globals, index)
    }

    fn data_index(&mut self, index: u32) -> Result<u32, Error<Unknown>> {
        Ok(index.saturating_add(self.data))
    }

    fn element_index(&mut self, index: u32) -> Result<u32, Error<Unknown>> {
        Ok(index.saturating_add(self.elements))
    }

    fn const_expr(&mut self, expression: ConstExpr<'_>) -> Result<wasm_encoder::ConstExpr, Error<Unknown>> {
        match self.value(&expression) {
            Some(value) => Ok(wasm_encoder::ConstExpr::i32_const(value)),
            None => utils::const_expr(self, expression),
        }
    }
}
