//! The walk over a component: what each of its core indices is in the one module.

use std::collections::BTreeMap;

use wasmparser::{CanonicalFunction, CanonicalOption, ComponentAlias, ExternalKind, Instance, Parser, Payload};

use super::{
    merged::{Entity, InstanceExports, Merged},
    part, tables, text,
};

/// The core indices of a component so far.
#[derive(Default)]
struct Indices<'a> {
    modules: Vec<&'a [u8]>,
    instances: Vec<InstanceExports>,
    /// Each with its name if an instance exports it; otherwise the name is empty.
    functions: Vec<(Entity, &'a str)>,
    tables: Vec<Entity>,
    memories: Vec<Entity>,
    globals: Vec<Entity>,
}

/// Links the core modules of a component into one. Returns it with the exports that the component type needs.
pub(crate) fn link(component: &[u8]) -> Result<(Merged, BTreeMap<String, Entity>), String> {
    let mut merged = Merged::new(tables::plan(component)?);
    let (mut indices, mut exports, mut depth) = (Indices::default(), BTreeMap::new(), 0_usize);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(text)?;
        match payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                if depth == 0 {
                    indices.modules.push(part(component, &unchecked_range)?);
                }
                depth += 1;
            }
            Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            Payload::InstanceSection(section) => {
                for instance in section {
                    let exports = indices.instance(&mut merged, instance.map_err(text)?)?;
                    indices.instances.push(exports);
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    indices.alias(&alias.map_err(text)?)?;
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    indices.canonical(function.map_err(text)?, &mut exports)?;
                }
            }
            _ => {}
        }
    }
    Ok((merged, exports))
}

impl<'a> Indices<'a> {
    fn instance(&self, merged: &mut Merged, instance: Instance<'_>) -> Result<InstanceExports, String> {
        match instance {
            Instance::Instantiate { module_index, args } => {
                let found = |module: &str, name: &str| {
                    let given = args.iter().find(|arg| arg.name == module).ok_or("is of a module that is not given")?;
                    let entity = at(&self.instances, given.index)?.get(name);
                    entity.copied().ok_or_else(|| "is not there".to_owned())
                };
                merged.add(at(&self.modules, module_index)?, found)
            }
            Instance::FromExports(exports) => {
                let entity = |kind, index| {
                    Ok::<_, String>(match kind {
                        ExternalKind::Func => at(&self.functions, index)?.0,
                        ExternalKind::Table => *at(&self.tables, index)?,
                        ExternalKind::Memory => *at(&self.memories, index)?,
                        ExternalKind::Global => *at(&self.globals, index)?,
                        _ => return Err("an instance has an export of another sort".into()),
                    })
                };
                exports.iter().map(|one| Ok((one.name.to_owned(), entity(one.kind, one.index)?))).collect()
            }
        }
    }

    fn alias(&mut self, alias: &ComponentAlias<'a>) -> Result<(), String> {
        let ComponentAlias::CoreInstanceExport { kind, instance_index, name } = *alias else { return Ok(()) };
        let entity = at(&self.instances, instance_index)?.get(name);
        let entity = *entity.ok_or_else(|| format!("an instance has no export {name}"))?;
        match kind {
            ExternalKind::Func => self.functions.push((entity, name)),
            ExternalKind::Table => self.tables.push(entity),
            ExternalKind::Memory => self.memories.push(entity),
            ExternalKind::Global => self.globals.push(entity),
            _ => return Err(format!("the export {name} is of another sort")),
        }
        Ok(())
    }

    /// A function that the component lifts belongs to the exports; one that it lowers is of the host.
    fn canonical(&mut self, function: CanonicalFunction, exports: &mut BTreeMap<String, Entity>) -> Result<(), String> {
        match function {
            CanonicalFunction::Lift { core_func_index, options, .. } => {
                let (entity, name) = *at(&self.functions, core_func_index)?;
                // Toolchains add an export that only they call.
                if name.starts_with("assay:model/") || name == "printed" {
                    exports.insert(name.to_owned(), entity);
                    for option in options {
                        self.option(name, &option, exports)?;
                    }
                }
            }
            CanonicalFunction::ResourceDrop { .. } => self.functions.push((Entity::Release, "")),
            _ => self.functions.push((Entity::Host, "")),
        }
        Ok(())
    }

    fn option(
        &self,
        name: &str,
        option: &CanonicalOption,
        exports: &mut BTreeMap<String, Entity>,
    ) -> Result<(), String> {
        let (name, entity) = match *option {
            CanonicalOption::PostReturn(index) => (format!("cabi_post_{name}"), at(&self.functions, index)?.0),
            CanonicalOption::Realloc(index) => ("cabi_realloc".to_owned(), at(&self.functions, index)?.0),
            CanonicalOption::Memory(index) => ("memory".to_owned(), *at(&self.memories, index)?),
            _ => return Ok(()),
        };
        exports.insert(name, entity);
        Ok(())
    }
}

fn at<T>(list: &[T], index: u32) -> Result<&T, String> {
    let found = usize::try_from(index).ok().and_then(|index| list.get(index));
    found.ok_or_else(|| format!("the index {index} means nothing"))
}
