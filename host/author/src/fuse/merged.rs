//! The sections of the one module. Each instance of a module is added to them whole.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, CustomSection, DataCountSection, DataSection, ElementSection, ExportKind,
    ExportSection, Function, FunctionSection, GlobalSection, MemArg, MemArgTarget, MemorySection, Module, NameMap,
    NameSection, StartSection, TableSection, TypeSection, ValType, reencode::Reencode as _,
};
use wasmparser::{Element, ElementKind, Export, ExternalKind, Global, Import, Parser, Payload, TableType, TypeRef};

use super::{
    pages::{self, PAGE},
    renumber::Renumber,
    tables::Tables,
    text,
};

/// Bytes of a page as a module declares it.
const WASM_PAGE: u64 = 65_536;

/// The part of the linked module that an index of the component stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entity {
    Function(u32),
    /// Where it begins in the one table.
    Table(u32),
    Memory(u32),
    Global(u32),
    /// A function of the host, which no model has: it stops the model.
    Host,
    /// Gives up a handle of the host: nothing happens.
    Release,
}

/// What an instance exports.
pub(crate) type InstanceExports = HashMap<String, Entity>;

#[derive(Default)]
pub(crate) struct Merged {
    places: std::vec::IntoIter<u32>,
    table_size: u64,
    types: TypeSection,
    functions: FunctionSection,
    tables: TableSection,
    memories: MemorySection,
    /// Bytes of the first memory when it is made.
    memory_size: u64,
    globals: GlobalSection,
    elements: ElementSection,
    code: CodeSection,
    data: DataSection,
    starts: Vec<u32>,
    constants: HashMap<u32, i32>,
    /// The functions of the host, for errors.
    names: BTreeMap<u32, String>,
}

impl Merged {
    pub(crate) fn new(tables: Tables) -> Self {
        Self { places: tables.places.into_iter(), table_size: tables.size, ..Self::default() }
    }

    /// Adds an instance of `module`. `found` says what each of its imports is.
    pub(crate) fn add(
        &mut self,
        module: &[u8],
        found: impl Fn(&str, &str) -> Result<Entity, String>,
    ) -> Result<InstanceExports, String> {
        let mut own = Renumber {
            types: self.types.len(),
            data: self.data.len(),
            elements: self.elements.len(),
            constants: self.constants.clone(),
            ..Renumber::default()
        };
        let mut exports = InstanceExports::new();
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(text)? {
                Payload::ImportSection(section) => {
                    let mut imports = section.into_imports();
                    imports.try_for_each(|import| self.import(&mut own, &import.map_err(text)?, &found))?;
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let Export { name, kind, index } = export.map_err(text)?;
                        exports.extend(exported(&own, kind, index)?.map(|entity| (name.to_owned(), entity)));
                    }
                }
                Payload::StartSection { func, .. } => self.starts.push(place(&own.functions, func)?),
                Payload::ElementSection(section) => {
                    let mut elements = section.into_iter();
                    elements.try_for_each(|element| self.element(&mut own, element.map_err(text)?))?;
                }
                Payload::CodeSectionEntry(body) => own.body(body, &mut self.code)?,
                Payload::DataSection(section) => {
                    let mut parts = section.into_iter();
                    parts.try_for_each(|part| own.parse_data(&mut self.data, part.map_err(text)?).map_err(text))?;
                }
                declares => self.declare(&mut own, declares)?,
            }
        }
        Ok(exports)
    }

    /// What a module declares of its own: types, functions, tables, memories and globals.
    fn declare(&mut self, own: &mut Renumber, section: Payload<'_>) -> Result<(), String> {
        match section {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    let ty = own.func_type(ty.map_err(text)?).map_err(text)?;
                    self.types.ty().func_type(&ty);
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    own.functions.push(self.functions.len());
                    self.functions.function(own.types.saturating_add(ty.map_err(text)?));
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let place = self.table(own, table.map_err(text)?.ty)?;
                    own.tables.push(place);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = own.memory_type(memory.map_err(text)?).map_err(text)?;
                    if self.memories.is_empty() {
                        self.memory_size = memory.minimum.saturating_mul(WASM_PAGE);
                    }
                    own.memories.push(self.memories.len());
                    self.memories.memory(memory);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.global(own, global.map_err(text)?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds an import: nothing, but for a function of the host, which becomes one that stops.
    fn import(
        &mut self,
        own: &mut Renumber,
        import: &Import<'_>,
        found: impl Fn(&str, &str) -> Result<Entity, String>,
    ) -> Result<(), String> {
        let Import { module, name, ty } = *import;
        let missing = |why: &str| format!("the import {module} {name} {why}");
        match (ty, found(module, name).map_err(|why| missing(&why))?) {
            (TypeRef::Func(ty), entity) => {
                let index = match entity {
                    Entity::Function(index) => index,
                    Entity::Host => self.host(own, ty, true),
                    Entity::Release => self.host(own, ty, false),
                    _ => return Err(missing("is no function")),
                };
                if module.starts_with("wasi") {
                    self.names.entry(index).or_insert_with(|| format!("{module} {name}"));
                }
                own.functions.push(index);
            }
            (TypeRef::Table(_), Entity::Table(place)) => own.tables.push(place),
            (TypeRef::Memory(_), Entity::Memory(index)) => own.memories.push(index),
            (TypeRef::Global(_), Entity::Global(index)) => own.globals.push(index),
            _ => return Err(missing("is of another sort")),
        }
        Ok(())
    }

    /// A function in place of one of the host.
    fn host(&mut self, own: &Renumber, ty: u32, stops: bool) -> u32 {
        let index = self.functions.len();
        self.functions.function(own.types.saturating_add(ty));
        let mut body = Function::new([]);
        if stops {
            body.instructions().unreachable();
        }
        body.instructions().end();
        self.code.function(&body);
        index
    }

    /// Where a table begins. The first one is the one table.
    fn table(&mut self, own: &mut Renumber, ty: TableType) -> Result<u32, String> {
        let place = self.places.next().ok_or("there are more tables than instances have")?;
        if place == 0 {
            let mut ty = own.table_type(ty).map_err(text)?;
            ty.minimum = self.table_size;
            ty.maximum = ty.maximum.map(|most| most.max(self.table_size));
            self.tables.table(ty);
        }
        Ok(place)
    }

    fn global(&mut self, own: &mut Renumber, global: Global<'_>) -> Result<(), String> {
        let index = self.globals.len();
        if let (false, Some(value)) = (global.ty.mutable, own.value(&global.init_expr)) {
            own.constants.insert(index, value);
            self.constants.insert(index, value);
        }
        let ty = own.global_type(global.ty).map_err(text)?;
        self.globals.global(ty, &own.const_expr(global.init_expr).map_err(text)?);
        own.globals.push(index);
        Ok(())
    }

    fn element(&mut self, own: &mut Renumber, element: Element<'_>) -> Result<(), String> {
        let ElementKind::Active { table_index, offset_expr } = &element.kind else {
            return own.parse_element(&mut self.elements, element).map_err(text);
        };
        let begins = place(&own.tables, table_index.unwrap_or(0))?.cast_signed();
        let offset = own.value(offset_expr).ok_or("a part of a table has no constant place")?;
        let items = own.element_items(element.items).map_err(text)?;
        self.elements.active(None, &ConstExpr::i32_const(begins.saturating_add(offset)), items);
        Ok(())
    }

    /// Writes a byte of each page of few runs as it is, before each call. The runs cover those of `written` that the
    /// first memory has at the start: it may grow in a call.
    pub(crate) fn touch(&mut self, written: &BTreeSet<u32>) {
        let pages = u32::try_from(self.memory_size / u64::from(PAGE)).unwrap_or(u32::MAX);
        let runs = pages::together(written.range(..pages));
        if runs.is_empty() {
            return;
        }
        let address = |page: u32| page.saturating_mul(PAGE).cast_signed();
        let byte = MemArg { offset: 0, align: 0, target: MemArgTarget::Memory(0), ordering: None };
        let mut body = Function::new([(1, ValType::I32)]);
        for Range { start, end } in runs {
            let mut code = body.instructions();
            code.i32_const(address(start)).local_set(0).loop_(BlockType::Empty);
            code.local_get(0).local_get(0).i32_load8_u(byte).i32_store8(byte);
            code.local_get(0).i32_const(PAGE.cast_signed()).i32_add().local_tee(0);
            code.i32_const(address(end)).i32_lt_u().br_if(0).end();
        }
        let start = self.procedure(body);
        self.starts.push(start);
    }

    /// Ends a function without parameters and results, and adds it.
    fn procedure(&mut self, mut body: Function) -> u32 {
        body.instructions().end();
        let (ty, index) = (self.types.len(), self.functions.len());
        self.types.ty().function([], []);
        self.functions.function(ty);
        self.code.function(&body);
        index
    }

    /// The one module, with `exports` and a component type.
    pub(crate) fn module(mut self, exports: &BTreeMap<String, Entity>, component_type: &[u8]) -> Vec<u8> {
        let start = self.start();
        let mut export = ExportSection::new();
        for (name, entity) in exports {
            match *entity {
                Entity::Function(index) => export.export(name, ExportKind::Func, index),
                Entity::Memory(index) => export.export(name, ExportKind::Memory, index),
                _ => &mut export,
            };
        }
        let mut module = Module::new();
        module.section(&self.types).section(&self.functions).section(&self.tables).section(&self.memories);
        module.section(&self.globals).section(&export);
        if let Some(function_index) = start {
            module.section(&StartSection { function_index });
        }
        module.section(&self.elements).section(&DataCountSection { count: self.data.len() });
        module.section(&self.code).section(&self.data);
        let (mut names, mut functions) = (NameSection::new(), NameMap::new());
        self.names.iter().for_each(|(index, name)| functions.append(*index, name));
        names.functions(&functions);
        module.section(&names);
        module.section(&CustomSection { name: "component-type".into(), data: component_type.into() });
        module.finish()
    }

    /// The start function: that of the one module that has one, or a call of each.
    fn start(&mut self) -> Option<u32> {
        if self.starts.len() < 2 {
            return self.starts.first().copied();
        }
        let mut body = Function::new([]);
        for start in &self.starts {
            body.instructions().call(*start);
        }
        Some(self.procedure(body))
    }
}

/// The export at `index` of a module; `None` for a kind of export that no other module imports.
fn exported(own: &Renumber, kind: ExternalKind, index: u32) -> Result<Option<Entity>, String> {
    Ok(Some(match kind {
        ExternalKind::Func => Entity::Function(place(&own.functions, index)?),
        ExternalKind::Table => Entity::Table(place(&own.tables, index)?),
        ExternalKind::Memory => Entity::Memory(place(&own.memories, index)?),
        ExternalKind::Global => Entity::Global(place(&own.globals, index)?),
        _ => return Ok(None),
    }))
}

fn place(indices: &[u32], index: u32) -> Result<u32, String> {
    let found = usize::try_from(index).ok().and_then(|index| indices.get(index));
    found.copied().ok_or_else(|| format!("the index {index} means nothing"))
}
